"""Custom resources of the suite with its finalizers, as a controller would have left them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from devcluster.cluster import Cluster
from olmkit.api import bundledeployments, operators

OPERATORS = "operators.operators.operatorframework.io"
BUNDLE_DEPLOYMENTS = "bundledeployments.core.rukpak.io"


def finalizers(cluster: Cluster, resource: str, name: str) -> list[str]:
    """The finalizers of an object, and "deleted" for one that is being deleted; nothing if it does not exist."""
    text = cluster.kubectl("get", resource, name, "--ignore-not-found", "-o", "json")
    metadata = json.loads(text)["metadata"] if text else {}
    return [*metadata.get("finalizers", ()), *(["deleted"] if "deletionTimestamp" in metadata else ())]


@contextmanager
def operator(cluster: Cluster, name: str = "held") -> Iterator[str]:
    """An Operator that operator-controller has seen."""
    body = {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": name, "finalizers": [operators.FINALIZER]},
        "spec": {"packageName": name},
    }
    with _applied(cluster, OPERATORS, body):
        yield name


@contextmanager
def bundle_deployment(cluster: Cluster, name: str = "held", owner: str = "") -> Iterator[str]:
    """A BundleDeployment that rukpak has seen, of the Operator `owner` if one is named."""
    source = {"type": "image", "image": {"ref": "example.com/a@sha256:" + "0" * 64}}
    template = {"spec": {"provisionerClassName": "core-rukpak-io-registry", "source": source}}
    body = {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {
            "name": name,
            "finalizers": [bundledeployments.FINALIZER],
            "ownerReferences": _owners(cluster, owner),
        },
        "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": template},
    }
    with _applied(cluster, BUNDLE_DEPLOYMENTS, body):
        yield name


def _owners(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    if not name:
        return []
    found = json.loads(cluster.kubectl("get", OPERATORS, name, "-o", "json"))
    return [{"name": name, "uid": found["metadata"]["uid"], "kind": found["kind"], "apiVersion": found["apiVersion"]}]


@contextmanager
def _applied(cluster: Cluster, resource: str, body: Mapping[str, Any]) -> Iterator[None]:
    """The object; afterwards it is gone, with its finalizers."""
    cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    name = body["metadata"]["name"]
    try:
        yield
    finally:
        if resource in cluster.kubectl("get", "crds", "-o", "name"):
            if finalizers(cluster, resource, name):
                cluster.kubectl("patch", resource, name, "--type=merge", "-p", '{"metadata":{"finalizers":[]}}')
            cluster.kubectl("delete", resource, name, "--ignore-not-found")
