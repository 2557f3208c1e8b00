"""Rows of a thousand Catalogs with ten packages each: time and memory until all are served, and one poll of all tags."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster
from devcluster.processes import process_tree_cpu
from devcluster.suite import Suite
from tests.bench import catalogs
from tests.bench.figures import Figure
from tests.bench.machine import MIB, PeakMemory

CATALOG_COUNT = 1000
PACKAGES_PER_CATALOG = 10
MAX_PACKAGE_BYTES = 100_000
"""Only packages with fewer bytes are used."""
POLL_SECONDS = 120
RESOURCE = "catalogs.catalogd.operatorframework.io"
TIMEOUT_SECONDS = 900.0


def rows(cluster: Cluster, directory: Path) -> Iterator[Figure]:
    """Requires the CRDs and RBAC on the cluster, and no Catalogs."""
    refs = _push(cluster, directory)
    with Suite(cluster, cluster.directory / "catalogd-many") as suite:
        suite.start("catalogd")
        idle = suite.memory("catalogd")
        with PeakMemory([suite.pid("catalogd")]) as memory:
            seconds = _until_all(cluster, [_catalog(number, ref) for number, ref in enumerate(refs)])
            cpu = process_tree_cpu(suite.pid("catalogd"))
        what = f"{CATALOG_COUNT} Catalogs of {PACKAGES_PER_CATALOG} packages each"
        yield Figure(f"{what}: all served, with their Packages", f"{seconds:.0f} s, {cpu:.0f} s of CPU")
        yield Figure(
            f"{what}: memory, including children",
            f"peak {memory.peak / MIB:.0f} MiB, then {suite.memory('catalogd') / MIB:.0f} MiB (idle {idle / MIB:.0f} MiB)",
        )
        time.sleep(POLL_SECONDS)  # the first poll, which is spread over time as the Catalogs were
        before = process_tree_cpu(suite.pid("catalogd"))
        time.sleep(POLL_SECONDS)
        busy = process_tree_cpu(suite.pid("catalogd")) - before
        yield Figure(
            f"{what}: one poll of {CATALOG_COUNT} unchanged tags",
            f"{busy:.1f} s of CPU, {busy / CATALOG_COUNT * 1000:.1f} ms each",
        )
        cluster.run_kubectl("delete", RESOURCE, "--all", "--wait=false")


def _push(cluster: Cluster, directory: Path) -> list[str]:
    """Push images with ten small packages each, all different."""
    small = [
        (name, data)
        for name, blobs in catalogs.packages_of(directory)
        if len(data := catalogs.as_json(blobs)) < MAX_PACKAGE_BYTES
    ]
    assert len(small) >= PACKAGES_PER_CATALOG

    def push(number: int) -> str:
        chosen = {small[(number * 7 + step * (1 + number % 3)) % len(small)][0] for step in range(PACKAGES_PER_CATALOG)}
        files = [(f"configs/{name}/catalog.json", data) for name, data in small if name in chosen]
        files.append(("configs/number.json", json.dumps({"schema": "example.number", "name": str(number)}).encode()))
        with tempfile.TemporaryDirectory(dir=cluster.directory) as scratch:
            return catalogs.push(cluster.registry, f"bench/many-{number}", iter(files), Path(scratch)).ref

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(push, range(CATALOG_COUNT)))


def _catalog(number: int, ref: str) -> dict[str, Any]:
    return {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": f"many-{number}"},
        "spec": {"source": {"type": "image", "image": {"ref": ref, "pollInterval": f"{POLL_SECONDS}s"}}},
    }


def _until_all(cluster: Cluster, objects: list[dict[str, Any]]) -> float:
    """Seconds until all are Ready."""
    started = time.perf_counter()
    cluster.run_kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    while (now := time.perf_counter()) - started < TIMEOUT_SECONDS:
        ready = cluster.run_kubectl(
            "get", RESOURCE, "-o", 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'
        ).split()
        if ready.count("True") == len(objects):
            return now - started
        time.sleep(1)
    raise AssertionError(f"{ready.count('True')} of {len(objects)} Catalogs are Ready after {TIMEOUT_SECONDS:.0f} s")
