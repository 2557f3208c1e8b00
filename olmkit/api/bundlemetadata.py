"""BundleMetadata: one bundle of a Catalog. Not reconciled. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from olmkit.api.meta import Kind, Model, Resource
from olmkit.api.packages import CatalogReference

KIND = Kind("catalogd.operatorframework.io", "v1alpha1", "BundleMetadata", "bundlemetadata")


class Property(Model):
    """One property of a bundle."""

    type: str = Field(description="Kind of property, such as olm.gvk.")
    value: Any = Field(
        description="The value; its structure depends on the type.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
    )


class RelatedImage(Model):
    """An image that the bundle's operator uses."""

    name: str = Field(default="", description="The name of the image.")
    image: str = Field(description="Image reference.")


class BundleMetadataSpec(Model):
    """The bundle, as in the catalog."""

    catalog: CatalogReference = Field(description="The Catalog of the bundle.")
    package: str = Field(description="The package of the bundle.")
    bundle_name: str = Field(description="The real name of the bundle.")
    image: str = Field(default="", description="The bundle image.")
    properties: list[Property] = Field(
        default_factory=list, description="Its properties, without the manifests (olm.bundle.object)."
    )
    related_images: list[RelatedImage] = Field(default_factory=list, description="Images that its operator uses.")


class BundleMetadataStatus(Model):
    """Always empty: BundleMetadata is data."""


class BundleMetadata(Resource):
    """A bundle of a Catalog."""

    spec: BundleMetadataSpec
    status: BundleMetadataStatus = Field(default_factory=BundleMetadataStatus)
