"""Chromium at a console in front of a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.watch import CATALOGS, OPERATORS, PACKAGES
from olmkit.api.packages import CATALOG_LABEL, PACKAGE_LABEL
from tests.chromium import Chromium, Opened
from tests.cluster.conftest import serve_definitions
from tests.conftest import running_cluster

CATALOG = {
    "apiVersion": "catalogd.operatorframework.io/v1alpha1",
    "kind": "Catalog",
    "metadata": {"name": "shop"},
    "spec": {"priority": 7, "source": {"type": "image", "image": {"ref": "registry.example/shop:v1"}}},
}
TIME = "2026-01-01T00:00:00Z"
INSTALLED = {"name": "waiting.v1.0.0", "version": "1.0.0", "catalog": "shop", "channel": "stable"}


@pytest.fixture(scope="package")
def cluster(pytestconfig: pytest.Config, chromium_program: Path) -> Iterator[Cluster]:
    """A cluster with a Catalog that serves older content, packages, an Operator that waits, and one that is broken."""
    with running_cluster(pytestconfig) as running:
        serve_definitions(running)
        _fill(running)
        yield running


def _fill(cluster: Cluster) -> None:
    status = {
        "type": "Ready",
        "status": "True",
        "reason": "ServingOldContent",
        "message": "The tag has moved",
        "lastTransitionTime": TIME,
    }
    _apply(cluster, CATALOGS, CATALOG, {"observedGeneration": 1, "conditions": [status], "packageCount": 30})
    for number in range(30):
        _apply(cluster, PACKAGES, _package(f"package-{number:02}"))
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "UpgradeAvailable",
        "message": "2.0.0 waits",
        "lastTransitionTime": TIME,
    }
    available = {"version": "2.0.0", "bundle": "b", "image": "i", "catalog": "shop", "channel": "stable"}
    waits = {"reason": "ApprovalRequired", "message": "It is the best of 2 versions."}
    _operator(cluster, "waiting", {"installed": INSTALLED, "available": {**available, **waits}, "conditions": [ready]})
    operator_with_status(cluster, "broken")


def _package(name: str) -> dict[str, Any]:
    labels = {CATALOG_LABEL: "shop", PACKAGE_LABEL: name}
    entries = [{"name": f"{name}.v1.0.0"}, {"name": f"{name}.v1.1.0", "replaces": f"{name}.v1.0.0"}]
    spec = {
        "catalog": {"name": "shop"},
        "packageName": name,
        "description": f"# {name}\n\nIt keeps things, and [documents](https://docs.example/x) how.",
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
    }
    body = {"apiVersion": "catalogd.operatorframework.io/v1alpha1", "kind": "Package"}
    return {**body, "metadata": {"name": f"shop-{name}", "labels": labels}, "spec": spec}


def operator_with_status(cluster: Cluster, name: str, message: str = "0 of 1 replicas are available") -> None:
    """Apply an Operator, and say that it is not healthy."""
    condition = {"type": "Ready", "status": "False", "reason": "Unhealthy", "message": message}
    _operator(cluster, name, {"installed": INSTALLED, "conditions": [{**condition, "lastTransitionTime": TIME}]})


def _operator(cluster: Cluster, name: str, status: dict[str, Any]) -> None:
    body = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": {"name": name}}
    found = {"observedGeneration": 1, "resolution": "2.0.0 is the best of 2 versions.", **status}
    _apply(cluster, OPERATORS, {**body, "spec": {"packageName": "package-00", "approval": "Manual"}}, found)


def _apply(cluster: Cluster, path: str, body: dict[str, Any], status: dict[str, Any] | None = None) -> None:
    cluster.api.apply(path, body)
    if status is not None:
        cluster.api.call("PATCH", f"{path}/{body['metadata']['name']}/status", {"status": status}, MERGE)


@pytest.fixture
def opened(chromium: Chromium) -> Opened:
    """Opens a page in Chromium, as somebody who is logged in; what the browser complains about fails the test."""
    return chromium.open
