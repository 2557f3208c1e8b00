"""Objects of OLM v0 for the tables of the tests, as small as the rules permit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from olmctl.migration.v0 import OlmV0

Object = dict[str, Any]


def source(**spec: Any) -> Object:
    """The CatalogSource olm/community, of an image by a tag."""
    given = {"sourceType": "grpc", "image": "quay.io/community/catalog:latest", **spec}
    return {
        "metadata": {"name": "community", "namespace": "olm"},
        "spec": {k: v for k, v in given.items() if v is not None},
    }


def subscription(
    name: str = "lamp", namespace: str = "lamps", status: Mapping[str, Any] | None = None, **spec: Any
) -> Object:
    """A Subscription of the package of this name; version 1.0.0 is installed."""
    given = {"name": name, "channel": "stable", "source": "community", "sourceNamespace": "olm", **spec}
    version = f"{name}.v1.0.0"
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": given,
        "status": {"installedCSV": version, "currentCSV": version} if status is None else dict(status),
    }


def version(name: str = "lamp", namespace: str = "lamps", *properties: Object, **changes: Any) -> Object:
    """Its ClusterServiceVersion, which watches all namespaces and owns `<name>s.example.com`."""
    annotations = {"olm.targetNamespaces": changes.pop("targets", "")}
    if properties:
        annotations["operatorframework.io/properties"] = json.dumps({"properties": properties})
    owned = {
        "customresourcedefinitions": {"owned": [{"name": f"{name}s.example.com"}], **changes.pop("definitions", {})}
    }
    phase = changes.pop("phase", "Succeeded")
    metadata = {"name": f"{name}.v1.0.0", "namespace": namespace, "uid": f"uid-{name}", "annotations": annotations}
    labels = changes.pop("labels", None)
    return {
        "metadata": metadata | ({"labels": labels} if labels else {}),
        "spec": {"version": "1.0.0", **owned, **changes},
        "status": {"phase": phase},
    }


def group(namespace: str = "lamps", name: str = "group", **spec: Any) -> Object:
    """An OperatorGroup."""
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": {"namespaces": [""]}}


def olm(**given: Any) -> OlmV0:
    """OLM v0 with the package lamp installed, and what is given instead."""
    usual: dict[str, Any] = {
        "subscriptions": [subscription()],
        "versions": [version()],
        "catalog_sources": [source()],
        "operator_groups": [group()],
    }
    return OlmV0(**{**usual, **given})
