"""Package: one package of a Catalog, for users. Not reconciled. Pure."""

from __future__ import annotations

from pydantic import Field

from olmkit.api.meta import Kind, Model, Resource

KIND = Kind("catalogd.operatorframework.io", "v1alpha1", "Package", "packages")
CATALOG_LABEL = "catalog"
"""Label with the name of the Catalog of a Package, as in the OpenShift 4.14 guide."""
PACKAGE_LABEL = "package"
"""Label with the name of the package, if it is a valid value of a label."""


class CatalogReference(Model):
    """A Catalog, by name."""

    name: str = Field(description="Name of the Catalog.")


class ChannelEntry(Model):
    """A bundle of a channel and the upgrade edges to it."""

    name: str = Field(description="Name of the bundle.")
    replaces: str | None = Field(default=None, description="The bundle that this one replaces.")
    skips: list[str] | None = Field(default=None, description="Bundles that can be skipped by an upgrade to this one.")
    skip_range: str | None = Field(default=None, description="Versions that can be upgraded directly to this bundle.")


class Channel(Model):
    """A channel: a sequence of upgrades."""

    name: str = Field(description="Name of the channel.")
    entries: list[ChannelEntry] = Field(description="Its bundles.")


class Icon(Model):
    """An icon for lists."""

    data: str = Field(default="", description="The image in base64.")
    mediatype: str = Field(default="", description="Its media type, such as image/svg+xml.")


class PackageSpec(Model):
    """The package, as in the catalog."""

    catalog: CatalogReference = Field(description="The Catalog of the package.")
    package_name: str = Field(description="The real name of the package.")
    default_channel: str = Field(default="", description="The channel that is used when an Operator does not set one.")
    description: str = Field(default="", description="Description by the author.")
    channels: list[Channel] = Field(description="Its channels.")
    icon: Icon | None = Field(default=None, description="Its icon.")


class PackageStatus(Model):
    """Always empty: a Package is data."""


class Package(Resource):
    """A package of a Catalog."""

    spec: PackageSpec
    status: PackageStatus = Field(default_factory=PackageStatus)
