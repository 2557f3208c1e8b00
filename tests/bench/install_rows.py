"""Rows of the whole suite: every package of the corpus as an Operator at once, then the steady state."""

from __future__ import annotations

import json
import re
import statistics
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from devcluster import images
from devcluster.cluster import Cluster
from devcluster.processes import process_tree_cpu
from devcluster.suite import COMPONENTS, Suite
from tests.bench.figures import Figure
from tests.bench.machine import MIB, PeakMemory

OPERATORS = "operators.operators.operatorframework.io"
SETTLED_SECONDS = 20.0
"""The measurement ends when no Operator has become Installed for this time: the others cannot be installed."""
TIMEOUT_SECONDS = 900.0
STEADY_SECONDS = 60.0


def rows(cluster: Cluster, folder: Path) -> Iterator[Figure]:
    """Requires the CRDs and RBAC on the cluster. The Operators stay installed."""
    content = images.Content(folder / "catalog", folder / "bundles")
    packages = content.packages()
    pushed = images.Catalog(images.Registry(cluster.registry), "bench/corpus:latest", cluster.registry).push(content)
    with Suite(cluster, cluster.folder / "suite") as suite:
        suite.start()
        pids = [suite.pid(name) for name in COMPONENTS]
        with PeakMemory(pids) as memory:
            times, elapsed = _install(cluster, pushed.reference, packages)
            cpu = sum(process_tree_cpu(pid) for pid in pids)
        share = len(packages) / 276
        yield Figure(
            f"{len(packages)} Operators at once: installed, median and last time to Installed",
            f"{len(times)} installed, median {statistics.median(times):.1f} s, last {max(times):.1f} s",
            f"median {28 * share:.0f} s (28 s for 276)",
        )
        yield Figure(
            f"CPU of the three controllers until settled ({elapsed:.0f} s)",
            f"{cpu:.0f} s",
            f"{80 * share:.0f} s (80 s for 276)",
        )
        yield Figure("peak memory of the three, including children", f"{memory.peak / MIB:.0f} MiB", "400 MB")
        yield from _steady(suite, pids)


def _install(cluster: Cluster, image: str, packages: list[str]) -> tuple[list[float], float]:
    """Seconds from the apply to Installed for each installed Operator, and to the last change."""
    catalog = {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": "corpus"},
        "spec": {"source": {"type": "image", "image": {"ref": image}}},
    }
    cluster.kubectl("create", "-f", "-", input=json.dumps(catalog))
    cluster.kubectl("wait", "--for=condition=Ready", "--timeout=300s", "catalog.catalogd.operatorframework.io/corpus")
    operators = [
        {
            "apiVersion": "operators.operatorframework.io/v1alpha1",
            "kind": "Operator",
            "metadata": {"name": package[:45].rstrip("-")},
            "spec": {"packageName": package},
        }
        for package in packages
    ]
    started = time.perf_counter()
    # An Operator may be there already, as the dependency of one before it.
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": operators})
    cluster.kubectl("apply", "--server-side", "-f", "-", input=items)
    last = time.perf_counter()
    seen: dict[str, float] = {}
    while (now := time.perf_counter()) - last < SETTLED_SECONDS and now - started < TIMEOUT_SECONDS:
        for item in json.loads(cluster.kubectl("get", OPERATORS, "-o", "json"))["items"]:
            if item["metadata"]["name"] not in seen and _is_installed(item):
                seen[item["metadata"]["name"]] = last = time.perf_counter()
        time.sleep(0.5)
    return [moment - started for moment in seen.values()], last - started


def _is_installed(item: dict[str, Any]) -> bool:
    conditions = {condition["type"]: condition["status"] for condition in item["status"].get("conditions", [])}
    return conditions.get("Installed") == "True"


def _steady(suite: Suite, pids: list[int]) -> Iterator[Figure]:
    """CPU and writes of the three while nothing changes."""
    writes, cpu, started = _writes(suite), sum(process_tree_cpu(pid) for pid in pids), time.perf_counter()
    time.sleep(STEADY_SECONDS)
    elapsed = time.perf_counter() - started
    busy = sum(process_tree_cpu(pid) for pid in pids) - cpu
    yield Figure(
        "steady state, all installed, nothing changing",
        f"{busy / elapsed * 100:.1f} % of one core, {_writes(suite) - writes:.0f} writes in {elapsed:.0f} s (leases not counted)",
        "under 1 % of one core, no writes",
    )


def _writes(suite: Suite) -> float:
    """Writes of the three so far, without renewals of leases, which are PUTs."""
    total = 0.0
    for name in COMPONENTS:
        with urllib.request.urlopen(f"http://{suite.addresses[name].metrics}/metrics") as response:
            text = response.read().decode()
        for labels, value in re.findall(r"^rest_client_requests_total\{(.*?)\} (\S+)$", text, re.MULTILINE):
            if re.search(r'method="(POST|PATCH|DELETE)"', labels):
                total += float(value)
    return total
