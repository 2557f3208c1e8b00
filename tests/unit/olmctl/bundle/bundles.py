"""Small registry+v1 bundles for the tests of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from olmctl.bundle.facts import BundleFacts, facts_of

WIDGETS = ("example.com", "v1", "Widget")


def widget_files(
    *,
    scope: str = "Namespaced",
    modes: Sequence[str] = ("AllNamespaces",),
    examples: object = None,
    dependencies: Sequence[dict[str, Any]] = (),
    annotations: dict[str, str] | None = None,
    schema: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, bytes]:
    """The files of a bundle of package `widgets` in version 1.0.0, which defines the kind Widget."""
    group, version, kind = WIDGETS
    names = {"kind": kind, "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
    given = {"openAPIV3Schema": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": names,
            "versions": [{"name": version, "served": True, "storage": True, "schema": given}],
        },
    }
    shown = {} if examples is None else {"alm-examples": examples if isinstance(examples, str) else _json(examples)}
    csv = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "widgets.v1.0.0", "annotations": {**shown, **(annotations or {})}},
        "spec": {
            "version": "1.0.0",
            "installModes": [{"type": each, "supported": True} for each in modes],
            "install": {"strategy": "deployment", "spec": {"deployments": []}},
            "customresourcedefinitions": {"owned": [{"name": f"widgets.{group}", "version": version, "kind": kind}]},
            **spec,
        },
    }
    package = {"operators.operatorframework.io.bundle.package.v1": "widgets"}
    files = {
        "manifests/crd.yaml": crd,
        "manifests/csv.yaml": csv,
        "metadata/annotations.yaml": {"annotations": package},
    }
    if dependencies:
        files["metadata/dependencies.yaml"] = {"dependencies": list(dependencies)}
    return {path: orjson.dumps(body) for path, body in files.items()}


def widgets(**given: Any) -> BundleFacts:
    """The facts of such a bundle."""
    return facts_of(widget_files(**given))


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
