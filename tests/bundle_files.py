"""A small bundle in which no validator finds anything, as values and as files, for tests of every tier."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

Object = dict[str, Any]
LABEL = "operators.operatorframework.io.bundle.{}.v1"
NAME = "lamp-operator.v1.2.3"

_LABELS = {"app": "lamp"}
CSV: Mapping[str, Any] = {
    "apiVersion": "operators.coreos.com/v1alpha1",
    "kind": "ClusterServiceVersion",
    "metadata": {
        "name": NAME,
        "annotations": {
            "alm-examples": '[{"apiVersion":"light.example.com/v1","kind":"Lamp","metadata":{"name":"a"},"spec":{}}]'
        },
    },
    "spec": {
        "displayName": "Lamp",
        "version": "1.2.3",
        "minKubeVersion": "1.28.0",
        "installModes": [{"type": "AllNamespaces", "supported": True}],
        "customresourcedefinitions": {
            "owned": [{"name": "lamps.light.example.com", "version": "v1", "kind": "Lamp", "description": "A lamp."}]
        },
        "install": {
            "strategy": "deployment",
            "spec": {
                "deployments": [
                    {
                        "name": "lamp",
                        "spec": {
                            "replicas": 1,
                            "selector": {"matchLabels": _LABELS},
                            "template": {
                                "metadata": {"labels": _LABELS},
                                "spec": {
                                    "serviceAccountName": "lamp",
                                    "containers": [{"name": "manager", "image": "quay.io/light/lamp:v1.2.3"}],
                                },
                            },
                        },
                    }
                ]
            },
        },
    },
}
_SCHEMA = {"type": "object", "properties": {"spec": {"type": "object"}}}
CRD: Mapping[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "lamps.light.example.com"},
    "spec": {
        "group": "light.example.com",
        "names": {"plural": "lamps", "kind": "Lamp"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}],
    },
}
ANNOTATIONS: Mapping[str, str] = {
    LABEL.format("mediatype"): "registry+v1",
    LABEL.format("manifests"): "manifests/",
    LABEL.format("metadata"): "metadata/",
    LABEL.format("package"): "lamp-operator",
    LABEL.format("channels"): "stable",
    LABEL.format("channel.default"): "stable",
}
ABSENT = object()
"""The value of a field that `changed` removes."""


def changed(value: Mapping[str, Any], **changes: Any) -> Object:
    """A copy with other values of fields; the name of a field is a path with two underscores between its steps."""
    made = copy.deepcopy(dict(value))
    for path, new in changes.items():
        *steps, last = path.split("__")
        holder = made
        for step in steps:
            holder = holder[step]
        if new is ABSENT:
            del holder[last]
        else:
            holder[last] = new
    return made


def files(csv: Any = CSV, crd: Any = CRD, annotations: Any = ANNOTATIONS, **others: Any) -> dict[str, bytes]:
    """The files of the bundle by path. `others`: objects in manifests/ by the names of their files without the suffix."""
    made = {"metadata/annotations.yaml": orjson.dumps({"annotations": annotations})}
    for name, value in {"csv": csv, "crd": crd, **others}.items():
        if value is not None:
            made[f"manifests/{name}.yaml"] = value if isinstance(value, bytes) else orjson.dumps(value)
    return made


def write(directory: Path, contents: Mapping[str, bytes]) -> Path:
    """Write files below a directory; returns it."""
    for name, data in contents.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(data)
    return directory
