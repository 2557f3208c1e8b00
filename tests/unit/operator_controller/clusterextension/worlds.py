"""ClusterExtensions, Operators and Worlds for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from olmkit.api import catalogs, clustercatalogs, clusterextensions, operators
from olmkit.api.clusterextensions import FINALIZER, ClusterExtension
from olmkit.api.meta import Object, controller_reference
from operator_controller.clusterextension.configuration import read_configuration
from operator_controller.clusterextension.operator_object import operator_for
from operator_controller.clusterextension.world import ObservedOperator, World

NOW = datetime(2026, 1, 2, tzinfo=UTC)
UID = "uid-of-extension"


def extension_object(
    name: str = "argo",
    *,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A ClusterExtension for the package argo as the API server returns it. `catalog` in spec are further fields of the catalog
    filter."""
    catalog = {"packageName": "argo", "upgradeConstraintPolicy": "CatalogProvided", **spec.pop("catalog", {})}
    return {
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterExtension",
        "metadata": {
            **{"name": name, "uid": UID, "resourceVersion": "7", "generation": 3, "finalizers": [FINALIZER]},
            **(metadata or {}),
        },
        "spec": {"namespace": "argo-ns", "source": {"sourceType": "Catalog", "catalog": catalog}, **spec},
        "status": dict(status or {}),
    }


def desired_operator(raw: Mapping[str, Any]) -> Object:
    """The Operator that is written for a ClusterExtension."""
    extension = ClusterExtension.load(raw)
    inline = extension.spec.config.inline if extension.spec.config else None
    return operator_for(extension, read_configuration(inline))


def operator_object(
    raw: Mapping[str, Any],
    *,
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    **status: Any,
) -> Object:
    """The Operator of a ClusterExtension as the API server returns it, with this status, which is that of its spec. Fields of
    `metadata` and `spec` replace those that are written."""
    desired = desired_operator(raw)
    own = {"uid": "uid-of-operator", "resourceVersion": "9", "generation": 2}
    return {
        **desired,
        "metadata": {**desired["metadata"], **own, **(metadata or {})},
        "spec": {**desired["spec"], **(spec or {})},
        "status": {"observedGeneration": 2, **status},
    }


def world(raw: Object | None = None, operator: Object | None = None, **facts: Any) -> World:
    """The World of a ClusterExtension and the Operator of its name."""
    raw = raw if raw is not None else extension_object()
    observed = ObservedOperator.load(operator) if operator is not None else None
    return World(now=NOW, raw=raw, extension=ClusterExtension.load(raw), operator=observed, **facts)


def catalog_object(
    name: str,
    *,
    owned: bool = True,
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    **status: Any,
) -> Object:
    """A Catalog with this status, which belongs to a ClusterCatalog if it is `owned`."""
    label = {"olm.operatorframework.io/owner-kind": "ClusterCatalog"} if owned else {}
    owners = [controller_reference(clustercatalogs.KIND, name, "u")] if owned else []
    return {
        "apiVersion": catalogs.KIND.api_version,
        "kind": catalogs.KIND.kind,
        "metadata": {"name": name, "labels": {**label, **(labels or {})}, "ownerReferences": owners},
        "spec": {"source": {"type": "image", "image": {"ref": "registry.example/catalog:v1"}}, **(spec or {})},
        "status": status,
    }


def cluster_catalog_object(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    mode: str = "Available",
    conditions: Sequence[Object] = (),
    **metadata: Any,
) -> Object:
    """A ClusterCatalog with these conditions."""
    return {
        "apiVersion": clustercatalogs.KIND.api_version,
        "kind": clustercatalogs.KIND.kind,
        "metadata": {"name": name, "labels": dict(labels or {}), **metadata},
        "spec": {
            "source": {"type": "Image", "image": {"ref": "registry.example/catalog:v1"}},
            "availabilityMode": mode,
        },
        "status": {"conditions": list(conditions)},
    }


def owner(name: str, uid: str) -> Object:
    """The owner reference of a ClusterExtension."""
    return controller_reference(clusterextensions.KIND, name, uid)


def other_operator(package: str = "argo", **metadata: Any) -> Object:
    """An Operator of the name argo that a person has made."""
    own = {"name": "argo", "uid": "uid-of-operator", "resourceVersion": "9", "generation": 1}
    return {
        "apiVersion": operators.KIND.api_version,
        "kind": operators.KIND.kind,
        "metadata": {**own, **metadata},
        "spec": {"packageName": package},
    }
