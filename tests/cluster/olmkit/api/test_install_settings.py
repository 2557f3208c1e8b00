"""The rules of an installation on the real API server: over an object and its absent fields, and over the keys of a map."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pytest

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError

RESERVED = "belong to Kubernetes: name another one, or set namespacePolicy to MustExist"
UNNAMED = "namespacePolicy MustExist requires the namespace to install into"
LABELS = "labels of Kubernetes and of olm-suite cannot be set"
KEYS = "a key is the key of a label"
ACCEPTED: tuple[Mapping[str, object], ...] = (
    {},
    {"namespace": "port"},
    {"namespacePolicy": "Create"},
    {"namespace": "port", "namespacePolicy": "Create"},
    {"namespace": "port", "namespacePolicy": "MustExist"},
    {"namespace": "default", "namespacePolicy": "MustExist"},
    {"namespace": "kube-system", "namespacePolicy": "MustExist"},
    {"objectLabels": {}},
    {"objectLabels": {"olm.operatorframework.io/owner-kind": "ClusterExtension", "team": "", "A_b.c": "D-1"}},
    {"objectLabels": {f"{'a' * 60}.example.com/{'k' * 63}": "v" * 63, "notk8s.io/a": "b"}},
)
REFUSED: tuple[tuple[Mapping[str, object], str, str], ...] = (
    ({"namespace": "default"}, "namespace", RESERVED),
    ({"namespace": "kube-system", "namespacePolicy": "Create"}, "namespace", RESERVED),
    ({"namespacePolicy": "MustExist"}, "namespacePolicy", UNNAMED),
    ({"objectLabels": {"core.rukpak.io/owner-uid": "x"}}, "objectLabels", LABELS),
    ({"objectLabels": {"app.kubernetes.io/name": "x"}}, "objectLabels", LABELS),
    ({"objectLabels": {"k8s.io/a": "x"}}, "objectLabels", LABELS),
    ({"objectLabels": {"a/b/c": "x"}}, "objectLabels", KEYS),
    ({"objectLabels": {"k" * 64: "x"}}, "objectLabels", KEYS),
    ({"objectLabels": {"": "x"}}, "objectLabels", KEYS),
    ({"objectLabels": {"a": "x y"}}, "objectLabels.a", "should match"),
)


def manifests(given: Iterable[Mapping[str, object]]) -> str:
    """A List with an Operator and a BundleDeployment for each of the settings."""
    items = [item for number, each in enumerate(given) for item in (operator(number, each), deployment(number, each))]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def operator(number: int, given: Mapping[str, object]) -> dict[str, object]:
    spec = {"packageName": "p", "install": given}
    kind = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator"}
    return {**kind, "metadata": {"name": f"operator-{number}"}, "spec": spec}


def deployment(number: int, given: Mapping[str, object]) -> dict[str, object]:
    source = {"type": "image", "image": {"ref": "registry.example.com/p:v1"}}
    template = {"spec": {"provisionerClassName": "core-rukpak-io-registry", "source": source}}
    settings = {{"namespace": "installNamespace"}.get(name, name): value for name, value in given.items()}
    spec = {"provisionerClassName": "core-rukpak-io-plain", "template": template, **settings}
    kind = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment"}
    return {**kind, "metadata": {"name": f"deployment-{number}"}, "spec": spec}


def test_settings_that_are_accepted(definitions: Cluster) -> None:
    definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=manifests(ACCEPTED))


def test_settings_that_are_refused(definitions: Cluster) -> None:
    with pytest.raises(DevclusterError) as raised:
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=manifests(given for given, _, _ in REFUSED))
    lines = [line for line in str(raised.value).splitlines() if "is invalid" in line]
    assert len(lines) == 2 * len(REFUSED)
    for number, (_, field, text) in enumerate(REFUSED):
        own = {"namespace": "installNamespace"}.get(field, field)
        for name, path in ((f"operator-{number}", f"spec.install.{field}:"), (f"deployment-{number}", f"spec.{own}:")):
            assert any(f'"{name}" is invalid: {path}' in line and text in line for line in lines), (name, lines)
