"""Rows of the whole suite: every package of the corpus as an Operator at once, with what that costs the API server and its bound;
then the steady state, the repair of drift, and a restart."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from devcluster import images
from devcluster.cluster import Cluster
from devcluster.processes import process_tree_cpu
from devcluster.suite import COMPONENTS, Suite
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from tests.bench import apply_rows
from tests.bench.api_requests import work
from tests.bench.figures import Figure
from tests.bench.machine import MIB, PeakMemory, resident_memory

OPERATORS = "operators.operators.operatorframework.io"
SETTLED_SECONDS = 20.0
"""The measurement ends when no Operator has become Installed for this time: the others cannot be installed."""
TIMEOUT_SECONDS = 900.0
STEADY_SECONDS = 120.0
QUIET_SECONDS = 10.0
DRIFTED_OBJECTS = 20


def rows(cluster: Cluster, directory: Path, reference: float) -> Iterator[Figure]:
    """Requires the CRDs and RBAC on the cluster. The Operators stay installed. `reference` is C in seconds."""
    content = images.Content(directory / "catalog", directory / "bundles")
    packages = content.packages()
    pushed = images.Catalog(images.Registry(cluster.registry), "bench/corpus:latest", cluster.registry).push(content)
    with Suite(cluster, cluster.directory / "suite") as suite:
        suite.start()
        pids = [suite.pid(name) for name in COMPONENTS]
        idle, api_server = suite.memory("rukpak"), cluster.state.components["kube-apiserver"]
        before = work(cluster, suite)
        with (
            PeakMemory(pids) as memory,
            PeakMemory([suite.pid("rukpak")]) as rukpak_memory,
            PeakMemory([api_server], resident_memory) as server_memory,
        ):
            seen, elapsed = _install(cluster, pushed.reference, packages)
            cpu, rukpak_cpu = (sum(map(process_tree_cpu, each)) for each in (pids, [suite.pid("rukpak")]))
            done = work(cluster, suite) - before
        share = len(packages) / 276
        times, ready = seen["Installed"], seen["Ready"]
        yield Figure(
            f"{len(packages)} Operators at once: installed, median and last time to Installed; Ready, median and last time",
            f"{_summary(times, reference)}; {_summary(ready, reference)}",
            f"median {45 * share:.0f} C (45 C for 276)",
        )
        yield Figure(
            f"CPU of the three controllers until settled ({elapsed:.0f} s)",
            f"{cpu:.0f} s, of them rukpak {rukpak_cpu:.0f} s",
            f"{80 * share:.0f} s (80 s for 276)",
        )
        yield Figure("peak memory of the three, including children", f"{memory.peak / MIB:.0f} MiB", "400 MB")
        yield Figure(
            "peak memory of rukpak, including children, and of the API server",
            f"{rukpak_memory.peak / MIB:.0f} MiB (idle {idle / MIB:.0f} MiB), {server_memory.peak / MIB:.0f} MiB",
        )
        yield Figure(
            "requests of the three controllers per installed Operator, without watches and leases",
            f"{done.requests / len(times):.1f}, of them {done.writes / len(times):.1f} writes "
            f"({done.statuses / len(times):.1f} statuses, {done.dry_runs / len(times):.1f} dry runs); "
            f"{done.events / len(times):.1f} Events of all controllers",
            "half of 83 (8.3 Events, 10.4 statuses, 9.2 dry runs)",
        )
        yield Figure(f"CPU of the API server until settled ({elapsed:.0f} s)", f"{done.cpu:.0f} s")
        _remove_unready(cluster)
        installed = _installed_bundles(cluster, content)
        yield from apply_rows.rows(installed, SETTLED_SECONDS)
        yield _steady(cluster, suite, pids)
        yield _drift(cluster, suite)
        yield _restart(cluster, suite)


def _summary(times: dict[str, float], reference: float) -> str:
    median, last = statistics.median(times.values()), max(times.values())
    return f"{len(times)}, median {median:.1f} s = {median / reference:.0f} C, last {last:.1f} s"


def _install(cluster: Cluster, image: str, packages: list[str]) -> tuple[dict[str, dict[str, float]], float]:
    """Seconds from the apply to Installed and to Ready, by Operator, and to the last change."""
    catalog = {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": "corpus"},
        "spec": {"source": {"type": "image", "image": {"ref": image}}},
    }
    cluster.run_kubectl("create", "-f", "-", input=json.dumps(catalog))
    cluster.run_kubectl(
        "wait", "--for=condition=Ready", "--timeout=300s", "catalog.catalogd.operatorframework.io/corpus"
    )
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
    cluster.run_kubectl("apply", "--server-side", "-f", "-", input=items)
    last = time.perf_counter()
    seen: dict[str, dict[str, float]] = {"Installed": {}, "Ready": {}}
    while (now := time.perf_counter()) - started < TIMEOUT_SECONDS and not (
        seen["Ready"] and now - last >= SETTLED_SECONDS
    ):
        for item in json.loads(cluster.run_kubectl("get", OPERATORS, "-o", "json"))["items"]:
            for kind, times in seen.items():
                if item["metadata"]["name"] not in times and _is_true(item, kind):
                    last = time.perf_counter()
                    times[item["metadata"]["name"]] = last - started
        time.sleep(0.5)
    return seen, last - started


def _is_true(item: dict[str, Any], kind: str) -> bool:
    return any((each["type"], each["status"]) == (kind, "True") for each in item["status"].get("conditions", []))


def _remove_unready(cluster: Cluster) -> None:
    """Delete the Operators that cannot be installed or whose workload cannot run on a pretended node: they are retried."""
    items = json.loads(cluster.run_kubectl("get", OPERATORS, "-o", "json"))["items"]
    names = [
        item["metadata"]["name"] for item in items if not (_is_true(item, "Installed") and _is_true(item, "Ready"))
    ]
    if names:
        cluster.run_kubectl("delete", OPERATORS, "--timeout=300s", *names)


def _installed_bundles(cluster: Cluster, content: images.Content) -> list[Path]:
    """The directories of the bundles that run."""
    operators = json.loads(cluster.run_kubectl("get", OPERATORS, "-o", "json"))["items"]
    installed = {
        (item["spec"]["packageName"], item["status"]["installed"]["name"])
        for item in operators
        if item["status"].get("installed")
    }
    blobs = [blob for package, _ in sorted(installed) for blob in content.blobs(package)]
    found = (content.bundle_directory(blob) for blob in blobs if (blob.get("package"), blob.get("name")) in installed)
    return [directory for directory in found if directory is not None]


def _steady(cluster: Cluster, suite: Suite, pids: list[int]) -> Figure:
    """CPU, writes and dry runs of the three while nothing changes."""
    before, cpu, started = work(cluster, suite), sum(process_tree_cpu(pid) for pid in pids), time.perf_counter()
    time.sleep(STEADY_SECONDS)
    elapsed = time.perf_counter() - started
    busy, done = sum(process_tree_cpu(pid) for pid in pids) - cpu, work(cluster, suite) - before
    return Figure(
        "steady state, all installed, nothing changing",
        f"{busy / elapsed * 100:.1f} % of one core, {done.writes:.0f} writes, {done.dry_runs:.0f} dry runs in {elapsed:.0f} s "
        "(leases not counted)",
        "under 1 % of one core, no writes, no dry runs",
    )


def _drift(cluster: Cluster, suite: Suite) -> Figure:
    """The repair of ClusterRoles whose rules somebody removes, one after the other."""
    names = cluster.run_kubectl("get", "clusterroles", "-l", OWNER_UID_LABEL, "-o", "name").split()[:DRIFTED_OBJECTS]
    before, times = work(cluster, suite), []
    for name in names:
        cluster.run_kubectl("patch", name, "--type=merge", "-p", '{"rules": []}')
        started = time.perf_counter()
        while not json.loads(cluster.run_kubectl("get", name, "-o", "json"))["rules"]:
            if time.perf_counter() - started > TIMEOUT_SECONDS:
                raise AssertionError(f"{name} is not repaired")
        times.append(time.perf_counter() - started)
    time.sleep(QUIET_SECONDS)
    done = work(cluster, suite) - before
    return Figure(
        f"drift with all installed: {len(names)} ClusterRoles without rules, one after the other, until each is repaired",
        f"median {statistics.median(times):.2f} s, last {max(times):.2f} s; {done.requests / len(names):.1f} requests each",
    )


def _restart(cluster: Cluster, suite: Suite) -> Figure:
    """rukpak and operator-controller started again, with everything installed, until no request has followed for a while."""
    names = ("rukpak", "operator-controller")
    suite.stop(*names)
    before = work(cluster, suite, "catalogd")
    started = time.perf_counter()
    suite.start(*names)
    seen, last = work(cluster, suite), time.perf_counter()
    while (now := time.perf_counter()) - last < QUIET_SECONDS and now - started < TIMEOUT_SECONDS:
        time.sleep(1)
        now_seen = work(cluster, suite)
        if now_seen.requests != seen.requests:
            seen, last = now_seen, time.perf_counter()
    done = seen - before
    return Figure(
        "restart of rukpak and operator-controller with all installed, until quiet",
        f"{last - started:.0f} s, {done.requests:.0f} requests, {done.writes:.0f} writes, {done.dry_runs:.0f} dry runs; "
        f"{done.cpu:.1f} s of CPU of the API server",
        "no writes, no dry runs",
    )
