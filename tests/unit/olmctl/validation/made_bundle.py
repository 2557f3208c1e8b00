"""A small bundle without findings, and copies of it with faults, for the tests of the rules."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import yaml

from olmctl.validation.loaded_bundle import Document, LoadedBundle
from olmkit.gocompat import documents
from olmkit.gocompat.fields import canonical_object

CSV_FILE, CRD_FILE, ANNOTATIONS_FILE = "manifests/csv.yaml", "manifests/crd.yaml", "metadata/annotations.yaml"
PREFIX = "operators.operatorframework.io.bundle."
Change = Callable[[dict[str, Any]], None]

ANNOTATIONS: Mapping[str, Any] = {
    f"{PREFIX}mediatype.v1": "registry+v1",
    f"{PREFIX}manifests.v1": "manifests/",
    f"{PREFIX}metadata.v1": "metadata/",
    f"{PREFIX}package.v1": "kettle-operator",
    f"{PREFIX}channels.v1": "stable,fast",
    f"{PREFIX}channel.default.v1": "stable",
}
CONTAINER: Mapping[str, Any] = {
    "name": "manager",
    "image": "quay.io/kettles/operator:v1.2.3",
    "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
}
POD: Mapping[str, Any] = {"serviceAccountName": "kettle", "containers": [CONTAINER]}
RULE: Mapping[str, Any] = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["litres"],
            "properties": {
                "litres": {"type": "integer", "minimum": 1},
                "lid": {"type": "object", "properties": {"colour": {"type": "string"}}},
                "cups": {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "other": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"hot": {"type": "boolean"}}},
    },
}
CRD: Mapping[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "kettles.kitchen.example.com"},
    "spec": {
        "group": "kitchen.example.com",
        "scope": "Namespaced",
        "names": {"plural": "kettles", "singular": "kettle", "kind": "Kettle", "listKind": "KettleList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}
EXAMPLE: Mapping[str, Any] = {
    "apiVersion": "kitchen.example.com/v1",
    "kind": "Kettle",
    "metadata": {"name": "red"},
    "spec": {"litres": 2},
}
CSV: Mapping[str, Any] = {
    "apiVersion": "operators.coreos.com/v1alpha1",
    "kind": "ClusterServiceVersion",
    "metadata": {
        "name": "kettle-operator.v1.2.3",
        "annotations": {
            "alm-examples": json.dumps([EXAMPLE]),
            "capabilities": "Basic Install",
            "categories": "Database, Storage",
        },
    },
    "spec": {
        "displayName": "Kettle",
        "description": "Boils water.",
        "version": "1.2.3",
        "minKubeVersion": "1.28.0",
        "provider": {"name": "Kettles"},
        "maintainers": [{"name": "Grace", "email": "grace@example.com"}],
        "links": [{"name": "Home", "url": "https://example.com"}],
        "icon": [{"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}],
        "installModes": [{"type": "AllNamespaces", "supported": True}],
        "customresourcedefinitions": {
            "owned": [
                {"name": "kettles.kitchen.example.com", "version": "v1", "kind": "Kettle", "description": "A kettle."}
            ]
        },
        "install": {
            "strategy": "deployment",
            "spec": {
                "clusterPermissions": [{"serviceAccountName": "kettle", "rules": [RULE]}],
                "deployments": [
                    {
                        "name": "kettle",
                        "spec": {
                            "selector": {"matchLabels": {"app": "kettle"}},
                            "template": {"metadata": {"labels": {"app": "kettle"}}, "spec": POD},
                        },
                    }
                ],
            },
        },
    },
}


def put(path: str, value: Any) -> Change:
    """The change that sets the value at a path such as `spec.icon.0.mediatype`; slashes in keys are written as they are."""

    def change(body: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        holder: Any = body
        for step in parents:
            holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
        if isinstance(holder, list):
            holder[int(last)] = value
        elif value is None:
            holder.pop(last, None)
        else:
            holder[last] = value

    return change


def annotate(key: str, value: Any) -> Change:
    """The change that sets an annotation of an object; None removes it."""

    def change(body: dict[str, Any]) -> None:
        annotations = body["metadata"]["annotations"]
        annotations.pop(key, None)
        if value is not None:
            annotations[key] = value

    return change


def made(
    *csv: Change,
    crd: Change | None = None,
    annotations: Mapping[str, Any] | None = None,
    files: Mapping[str, str | bytes] | None = None,
    objects: tuple[Mapping[str, Any], ...] = (),
) -> LoadedBundle:
    """The bundle with these changes of the ClusterServiceVersion and of the definition, other annotations, further files and
    objects."""
    bodies = [copy.deepcopy(dict(CSV)), copy.deepcopy(dict(CRD))]
    for change in csv:
        change(bodies[0])
    if crd is not None:
        crd(bodies[1])
    written = {
        CSV_FILE: _yaml(bodies[0]),
        CRD_FILE: _yaml(bodies[1]),
        ANNOTATIONS_FILE: _yaml({"annotations": {**ANNOTATIONS, **(annotations or {})}}),
        **{f"manifests/object{number}.yaml": _yaml(dict(body)) for number, body in enumerate(objects)},
    }
    for name, text in (files or {}).items():
        written[name] = text.encode() if isinstance(text, str) else text
    return loaded(written)


def loaded(files: Mapping[str, bytes]) -> LoadedBundle:
    """The bundle in these files."""
    found = tuple(
        Document(name, data, canonical_object(body))
        for name, data in sorted(files.items())
        if name.startswith("manifests/") and isinstance(body := documents.read(data)[0], dict)
    )
    read = documents.read(files[ANNOTATIONS_FILE])[0]["annotations"] if ANNOTATIONS_FILE in files else {}
    texts = {key: str(value) for key, value in read.items()}
    csv = next((each for each in found if each.kind == "ClusterServiceVersion"), None)
    name = ANNOTATIONS_FILE if ANNOTATIONS_FILE in files else ""
    return LoadedBundle("kettle", files, texts, name, "registry+v1", "manifests", csv, found)


def _yaml(body: Mapping[str, Any]) -> bytes:
    return _dumped(json.dumps(body))


@cache
def _dumped(body: str) -> bytes:
    """The YAML of a JSON text: most bundles have the same files but for one."""
    return yaml.dump(json.loads(body), Dumper=yaml.CSafeDumper, sort_keys=False).encode()
