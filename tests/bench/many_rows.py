"""Rows of a thousand Catalogs of ten packages each: time and memory until all are served, and a round of looks at tags."""

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
from tests.bench.machine import MIB, Watch

COUNT = 1000
PACKAGES = 10
SMALL = 100_000
"""Bytes of a package that are not too many for a thousand times ten of them."""
POLL_SECONDS = 120
RESOURCE = "catalogs.catalogd.operatorframework.io"
LIMIT_SECONDS = 900.0


def rows(cluster: Cluster, folder: Path) -> Iterator[Figure]:
    """Needs the CRDs and RBAC on the cluster, and no Catalog on it."""
    refs = _push(cluster, folder)
    with Suite(cluster, cluster.folder / "catalogd-many") as suite:
        suite.start("catalogd")
        idle = suite.memory("catalogd")
        with Watch([suite.pid("catalogd")]) as watch:
            seconds = _until_all(cluster, [_catalog(number, ref) for number, ref in enumerate(refs)])
            cpu = process_tree_cpu(suite.pid("catalogd"))
        what = f"{COUNT} Catalogs of {PACKAGES} packages each"
        yield Figure(f"{what}: all served and listed", f"{seconds:.0f} s, {cpu:.0f} s of CPU")
        yield Figure(
            f"{what}: memory, children included",
            f"peak {watch.peak / MIB:.0f} MiB, then {suite.memory('catalogd') / MIB:.0f} MiB (idle {idle / MIB:.0f} MiB)",
        )
        time.sleep(POLL_SECONDS)  # the first round; its looks are spread as the Catalogs were served
        before = process_tree_cpu(suite.pid("catalogd"))
        time.sleep(POLL_SECONDS)
        busy = process_tree_cpu(suite.pid("catalogd")) - before
        yield Figure(
            f"{what}: one round of looks at {COUNT} tags that have not moved",
            f"{busy:.1f} s of CPU, {busy / COUNT * 1000:.1f} ms each",
        )
        cluster.kubectl("delete", RESOURCE, "--all", "--wait=false")


def _push(cluster: Cluster, folder: Path) -> list[str]:
    """Images of ten small packages each, no two alike."""
    small = [
        (name, data) for name, blobs in catalogs.packages_of(folder) if len(data := catalogs.as_json(blobs)) < SMALL
    ]
    assert len(small) >= PACKAGES

    def push(number: int) -> str:
        chosen = {small[(number * 7 + step * (1 + number % 3)) % len(small)][0] for step in range(PACKAGES)}
        files = [(f"configs/{name}/catalog.json", data) for name, data in small if name in chosen]
        files.append(("configs/number.json", json.dumps({"schema": "example.number", "name": str(number)}).encode()))
        with tempfile.TemporaryDirectory(dir=cluster.folder) as scratch:
            return catalogs.push(cluster.registry, f"bench/many-{number}", iter(files), Path(scratch)).ref

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(push, range(COUNT)))


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
    cluster.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    while (now := time.perf_counter()) - started < LIMIT_SECONDS:
        ready = cluster.kubectl(
            "get", RESOURCE, "-o", 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'
        ).split()
        if ready.count("True") == len(objects):
            return now - started
        time.sleep(1)
    raise AssertionError(f"{ready.count('True')} of {len(objects)} Catalogs are Ready after {LIMIT_SECONDS:.0f} s")
