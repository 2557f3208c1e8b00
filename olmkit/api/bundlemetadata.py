"""BundleMetadata: what a Catalog says of one bundle. Written by catalogd when it is asked to; data without a reconciler. Pure."""

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
        description="What it says; its shape depends on the type.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
    )


class RelatedImage(Model):
    """An image that the bundle's operator uses."""

    name: str = Field(default="", description="What it is for.")
    image: str = Field(description="Image reference.")


class BundleMetadataSpec(Model):
    """What the catalog says of the bundle."""

    catalog: CatalogReference = Field(description="Where the bundle comes from.")
    package: str = Field(description="The package it belongs to.")
    bundle_name: str = Field(description="The bundle's true name.")
    image: str = Field(default="", description="The bundle image.")
    properties: list[Property] = Field(
        default_factory=list, description="Its properties, without the manifests (olm.bundle.object)."
    )
    related_images: list[RelatedImage] = Field(default_factory=list, description="Images its operator uses.")


class BundleMetadataStatus(Model):
    """Always empty: BundleMetadata is data."""


class BundleMetadata(Resource):
    """A bundle that a Catalog offers."""

    spec: BundleMetadataSpec
    status: BundleMetadataStatus = Field(default_factory=BundleMetadataStatus)
