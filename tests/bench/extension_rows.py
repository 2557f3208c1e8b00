"""Rows of OLM v1's kinds: every package of the corpus as a ClusterExtension at once, against Operators that request the same,
each on a cluster of its own."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster import images
from devcluster.cluster import Cluster
from devcluster.processes import process_tree_cpu
from devcluster.suite import COMPONENTS, Suite
from tests.bench.api_requests import Work, work
from tests.bench.figures import Figure
from tests.bench.machine import MIB, PeakMemory

SETTLED_SECONDS = 20.0
"""The measurement ends when no object has become Installed for this time: the others cannot be installed."""
TIMEOUT_SECONDS = 900.0
QUIET_SECONDS = 30.0
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Api:
    """The kinds of a measurement: their names, and the objects for an image and for a package with its namespace."""

    catalogs: str
    serving: str
    objects: str
    catalog: Callable[[str], dict[str, Any]]
    install: Callable[[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """One run: the seconds to Installed by object, what it cost, and what the controllers wrote while nothing changed."""

    times: Sequence[float]
    cpu: float
    memory: float
    done: Work
    idle_writes: float


def _catalog(image: str) -> dict[str, Any]:
    source = {"type": "image", "image": {"ref": image}}
    return {"apiVersion": "catalogd.operatorframework.io/v1alpha1", "kind": "Catalog", "spec": {"source": source}}


def _cluster_catalog(image: str) -> dict[str, Any]:
    source = {"type": "Image", "image": {"ref": image}}
    return {"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "spec": {"source": source}}


def _operator(package: str, namespace: str) -> dict[str, Any]:
    install = {"namespace": namespace, "namespacePolicy": "MustExist", "installModePolicy": "Strict"}
    spec = {"packageName": package, "channels": ["*"], "install": install}
    return {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "spec": spec}


def _extension(package: str, namespace: str) -> dict[str, Any]:
    source = {"sourceType": "Catalog", "catalog": {"packageName": package}}
    spec = {"namespace": namespace, "source": source}
    return {"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "spec": spec}


OPERATORS = Api(
    "catalogs.catalogd.operatorframework.io", "Ready", "operators.operators.operatorframework.io", _catalog, _operator
)
EXTENSIONS = Api(
    "clustercatalogs.olm.operatorframework.io",
    "Serving",
    "clusterextensions.olm.operatorframework.io",
    _cluster_catalog,
    _extension,
)


def rows(start: Callable[[str], AbstractContextManager[Cluster]], directory: Path) -> Iterator[Figure]:
    """`start` makes a cluster of a name, with the CRDs and RBAC, and without a suite that runs. There is one at a time."""
    with start("operators") as cluster:
        before = _measure(cluster, directory, OPERATORS)
    with start("extensions") as cluster:
        after = _measure(cluster, directory, EXTENSIONS)
    pairs = {
        "installed": (len(before.times), len(after.times)),
        "median seconds to Installed": (statistics.median(before.times), statistics.median(after.times)),
        "CPU of the three controllers, s": (before.cpu, after.cpu),
        "requests for each installed one": tuple(each.done.requests / len(each.times) for each in (before, after)),
        "writes for each installed one": tuple(each.done.writes / len(each.times) for each in (before, after)),
        "peak memory of the three, MiB": (before.memory, after.memory),
        "CPU of the API server, s": (before.done.cpu, after.done.cpu),
        f"writes in {QUIET_SECONDS:.0f} s in which nothing changes": (before.idle_writes, after.idle_writes),
    }
    for name, (first, second) in pairs.items():
        share = f" ({(second / first - 1) * 100:+.0f} %)" if first else ""
        yield Figure(
            f"all packages at once as Operators; as ClusterExtensions: {name}",
            f"{first:.1f}; {second:.1f}{share}",
            "+10 %",
        )


def _measure(cluster: Cluster, directory: Path, api: Api) -> Measured:
    content = images.Content(directory / "catalog", directory / "bundles")
    packages = content.packages()
    pushed = images.Catalog(images.Registry(cluster.registry), "bench/corpus:latest", cluster.registry).push(content)
    with Suite(cluster, cluster.directory / "suite") as suite:
        suite.start()
        _create(cluster, [{**api.catalog(pushed.reference), "metadata": {"name": "corpus"}}])
        cluster.run_kubectl("wait", f"--for=condition={api.serving}", "--timeout=300s", f"{api.catalogs}/corpus")
        # A Catalog is Ready when its Packages are written, and a ClusterCatalog Serving before.
        cluster.run_kubectl("wait", "--for=condition=Ready", "--timeout=300s", f"{OPERATORS.catalogs}/corpus")
        names = {package: package[:45].rstrip("-") for package in packages}
        spaces = {package: f"bench-{name.replace('.', '-')}" for package, name in names.items()}
        _create(
            cluster, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in spaces.values()]
        )
        pids = [suite.pid(name) for name in COMPONENTS]
        cpu, before = sum(map(process_tree_cpu, pids)), work(cluster, suite)
        with PeakMemory(pids) as memory:
            objects = [{**api.install(each, spaces[each]), "metadata": {"name": names[each]}} for each in packages]
            times = _install(cluster, api.objects, objects)
            spent, done = sum(map(process_tree_cpu, pids)) - cpu, work(cluster, suite) - before
        _remove_not_installed(cluster, api.objects)
        time.sleep(QUIET_SECONDS)
        settled = work(cluster, suite)
        time.sleep(QUIET_SECONDS)
        idle = work(cluster, suite) - settled
        return Measured(times, spent, memory.peak / MIB, done, idle.writes - idle.reviews)


def _create(cluster: Cluster, items: Sequence[dict[str, Any]]) -> None:
    # An Operator may be there already, as the dependency of one before it.
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster.run_kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)


def _install(cluster: Cluster, kind: str, objects: Sequence[dict[str, Any]]) -> list[float]:
    """Seconds from the apply to Installed, in the order in which they became so."""
    started = last = time.perf_counter()
    _create(cluster, objects)
    names = {each["metadata"]["name"] for each in objects}
    seen: dict[str, float] = {}
    while (now := time.perf_counter()) - started < TIMEOUT_SECONDS and not (seen and now - last >= SETTLED_SECONDS):
        for item in json.loads(cluster.run_kubectl("get", kind, "-o", "json"))["items"]:
            name = item["metadata"]["name"]
            if name in names and name not in seen and _is_installed(item):
                last = time.perf_counter()
                seen[name] = last - started
        time.sleep(POLL_SECONDS)
    return list(seen.values())


def _remove_not_installed(cluster: Cluster, kind: str) -> None:
    """Delete the objects that cannot be installed: they are retried."""
    items = json.loads(cluster.run_kubectl("get", kind, "-o", "json"))["items"]
    if names := [item["metadata"]["name"] for item in items if not _is_installed(item)]:
        cluster.run_kubectl("delete", kind, "--timeout=300s", *names)


def _is_installed(item: dict[str, Any]) -> bool:
    conditions = item.get("status", {}).get("conditions", [])
    return any((each["type"], each["status"]) == ("Installed", "True") for each in conditions)
