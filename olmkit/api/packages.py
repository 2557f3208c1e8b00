"""Package: what one package of one Catalog offers. Written by catalogd, read by people; data without a reconciler. Pure."""

from __future__ import annotations

from pydantic import Field

from olmkit.api.meta import Kind, Model, Resource

KIND = Kind("catalogd.operatorframework.io", "v1alpha1", "Package", "packages")
CATALOG_LABEL = "catalog"
"""Label that names the Catalog a Package comes from, as the 4.14 guide shows it."""
PACKAGE_LABEL = "package"
"""Label that names the package, where a label may have its name as value. BundleMetadata has both labels too."""


class CatalogReference(Model):
    """The Catalog by name."""

    name: str = Field(description="Name of the Catalog.")


class ChannelEntry(Model):
    """One bundle of a channel and the upgrade edges that lead to it."""

    name: str = Field(description="Name of the bundle.")
    replaces: str | None = Field(default=None, description="The bundle this one replaces.")
    skips: list[str] | None = Field(default=None, description="Bundles that may be left out on the way to this one.")
    skip_range: str | None = Field(default=None, description="Versions from which this bundle can be reached directly.")


class Channel(Model):
    """A line of upgrades."""

    name: str = Field(description="Name of the channel.")
    entries: list[ChannelEntry] = Field(description="Its bundles.")


class Icon(Model):
    """A picture for lists."""

    data: str = Field(default="", description="The picture in base64.")
    mediatype: str = Field(default="", description="Its media type, such as image/svg+xml.")


class PackageSpec(Model):
    """What the catalog says of the package."""

    catalog: CatalogReference = Field(description="Where the package comes from.")
    package_name: str = Field(description="The package's true name.")
    default_channel: str = Field(default="", description="The channel that counts when none is asked for.")
    description: str = Field(default="", description="What the package is for, by its author.")
    channels: list[Channel] = Field(description="Its channels.")
    icon: Icon | None = Field(default=None, description="Its icon.")


class PackageStatus(Model):
    """Always empty: a Package is data."""


class Package(Resource):
    """A package that a Catalog offers."""

    spec: PackageSpec
    status: PackageStatus = Field(default_factory=PackageStatus)
