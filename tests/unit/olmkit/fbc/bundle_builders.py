"""A small registry+v1 bundle, for tests that change a thing in it."""

from __future__ import annotations

from typing import Any

import yaml

Files = dict[str, bytes]


def dump(value: Any) -> bytes:
    return yaml.safe_dump(value).encode()


def service_version(**spec: Any) -> dict[str, Any]:
    """Its CSV; `spec` replaces fields."""
    pod = {
        "containers": [{"name": "m", "image": "quay.io/o/manager:1"}],
        "initContainers": [{"image": "quay.io/o/init:1"}],
    }
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "p.v1.2.3", "annotations": {"a": "b"}},
        "spec": {
            "version": "1.2.3",
            "displayName": "P",
            "install": {"spec": {"deployments": [{"name": "p", "spec": {"template": {"spec": pod}}}]}},
            "customresourcedefinitions": {"owned": [{"name": "things.g", "version": "v1", "kind": "Thing"}]},
            **spec,
        },
    }


def definition() -> dict[str, Any]:
    """Its CRD, of two versions."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.g"},
        "spec": {
            "group": "g",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": True}, {"name": "v1alpha1", "served": False}],
        },
    }


def annotations_file(package: str = "p") -> bytes:
    return dump({"annotations": {"operators.operatorframework.io.bundle.package.v1": package}})


def bundle(csv: dict[str, Any] | None = None, **more: bytes) -> Files:
    """The bundle; `more` are files of metadata/ by name without .yaml."""
    files = {
        "manifests/csv.yaml": dump(csv or service_version()),
        "manifests/crd.yaml": dump(definition()),
        "metadata/annotations.yaml": annotations_file(),
    }
    return files | {f"metadata/{name}.yaml": text for name, text in more.items()}
