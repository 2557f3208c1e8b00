"""The Catalog of a ClusterCatalog: makes the desired one, and compares it with the existing one.

A ClusterCatalog owns the type and the reference of the source, the interval, the priority, the availability and all labels but
the one that catalogd sets to the name. Other fields, such as a pull secret, are left to people. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalogd.clustercatalog.world import ObservedCatalog
from olmkit.api import catalogs, clustercatalogs
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.clustercatalogs import ClusterCatalog, labels_for_catalog
from olmkit.api.content import SourceType
from olmkit.api.merge_patch import merge_patch
from olmkit.api.meta import controller_reference

NEVER = "0s"
"""The interval of a ClusterCatalog without one: an absent interval of a Catalog has a default."""
_OWNED_OF_IMAGE = ("ref", "pollInterval")


def catalog_for(cluster_catalog: ClusterCatalog) -> dict[str, Any]:
    """The Catalog with the owned fields only."""
    metadata, spec = cluster_catalog.metadata, cluster_catalog.spec
    assert spec.source.image is not None  # the API server refuses a source without one
    image: dict[str, Any] = {"ref": spec.source.image.ref}
    if "@" not in spec.source.image.ref:  # a digest is never polled, and the API server refuses an interval beside it
        minutes = spec.source.image.poll_interval_minutes
        image["pollInterval"] = f"{minutes}m" if minutes else NEVER
    return {
        "apiVersion": catalogs.KIND.api_version,
        "kind": catalogs.KIND.kind,
        "metadata": {
            "name": metadata.name,
            "labels": labels_for_catalog(metadata),
            "ownerReferences": [controller_reference(clustercatalogs.KIND, metadata.name, metadata.uid)],
        },
        "spec": {
            "source": {"type": SourceType.IMAGE.value, "image": image},
            "priority": spec.priority,
            "availability": spec.availability_mode.value,
        },
    }


def difference(existing: ObservedCatalog, desired: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that gives the Catalog the owned fields of the desired one; empty if it has them."""
    raw, spec = existing.raw, existing.raw["spec"]
    foreign_image = {key: value for key, value in existing.image.items() if key not in _OWNED_OF_IMAGE}
    wanted = desired["spec"]
    wanted = {**wanted, "source": {**wanted["source"], "image": {**foreign_image, **wanted["source"]["image"]}}}
    known = {"priority": catalogs.CatalogSpec.model_fields["priority"].default, **spec}
    known.setdefault("availability", catalogs.Availability.AVAILABLE.value)
    labels = {key: text for key, text in (raw["metadata"].get("labels") or {}).items() if key != NAME_LABEL}
    before = {"metadata": {"labels": labels}, "spec": {key: known.get(key) for key in wanted}}
    return merge_patch(before, {"metadata": {"labels": desired["metadata"]["labels"]}, "spec": wanted})


def with_source_of(existing: ObservedCatalog, desired: Mapping[str, Any]) -> dict[str, Any]:
    """The desired Catalog with the image that the existing one has."""
    kept = {key: value for key, value in existing.image.items() if key in _OWNED_OF_IMAGE}
    spec = desired["spec"]
    return {**desired, "spec": {**spec, "source": {**spec["source"], "image": kept}}}


def has_removals(patch: Mapping[str, Any]) -> bool:
    """Report whether the patch removes a field, which an apply does only for fields of its own field manager."""
    return any(value is None or (isinstance(value, Mapping) and has_removals(value)) for value in patch.values())
