"""Rows of Helm charts: one of 100 objects, against `helm install --wait` of the same, each in turn."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.images import Registry
from devcluster.optional_programs import optional_program
from devcluster.suite import Suite
from olmkit.api.bundledeployments import KIND
from olmkit.api.provisioner_classes import HELM
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from tests.bench.figures import Figure
from tests.bench.machine import MIB, PeakMemory
from tests.chart_files import small_chart, write_chart

RUNS = 5
MANY = 20
"""Charts that are installed at the same time."""
_NAME = "{{ .Release.Name }}-%d"
OBJECTS = {
    "ConfigMap": (40, "v1", "data: {a: b}"),
    "ServiceAccount": (20, "v1", ""),
    "Service": (20, "v1", "spec: {selector: {app: x}, ports: [{port: 80}]}"),
    "Role": (10, "rbac.authorization.k8s.io/v1", "rules: []"),
    "Deployment": (
        10,
        "apps/v1",
        "spec: {selector: {matchLabels: {app: a%d}}, template: {metadata: {labels: {app: a%d}}, "
        "spec: {containers: [{name: a, image: registry.example.com/x}]}}}",
    ),
}
"""Kind -> how many, the API version, and the rest of the object."""


@dataclass
class _Times:
    helm: list[float]
    installed: list[float]
    ready: list[float]
    peak: int = 0
    many: float = 0.0
    peak_of_many: int = 0


def rows(cluster: Cluster) -> Iterator[Figure]:
    """Requires the CRDs and RBAC on the cluster; starts a rukpak."""
    helm = optional_program("helm")
    suite = Suite(cluster, cluster.directory / "rukpak-charts", {"rukpak": ["--no-leader-elect", f"--helm={helm}"]})
    suite.start("rukpak")
    try:
        with tempfile.TemporaryDirectory(dir=cluster.directory) as scratch:
            times = asyncio.run(_measure(cluster, suite, helm, Path(scratch)))
        idle = suite.memory("rukpak")
    finally:
        suite.stop("rukpak")
    work = f"a chart of {sum(count for count, *_ in OBJECTS.values())} objects, of them 10 Deployments"
    peer = f"helm install --wait: {_shown(times.helm)}"
    yield Figure(
        f"{work}, from applied to Installed; to Ready ({RUNS} each, in turn)",
        f"{_shown(times.installed)}; {_shown(times.ready)}",
        peer,
    )
    yield Figure(
        "peak memory of rukpak meanwhile, including helm", f"{times.peak / MIB:.0f} MiB (then {idle / MIB:.0f} MiB)"
    )
    yield Figure(
        f"{MANY} such charts at once, until the last is Ready; peak memory of rukpak",
        f"{times.many:.1f} s; {times.peak_of_many / MIB:.0f} MiB",
    )


def _shown(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def chart() -> dict[str, bytes]:
    """The files of the chart."""
    templates = {}
    for kind, (count, version, rest) in OBJECTS.items():
        for number in range(count):
            head = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {_NAME % number}}}\n"
            templates[f"{kind.lower()}-{number}.yaml"] = head + rest.replace("%d", str(number)) + "\n"
    return small_chart(templates)


async def _measure(cluster: Cluster, suite: Suite, helm: Path, scratch: Path) -> _Times:
    times, path = _Times([], [], []), write_chart(chart(), scratch / "chart")
    async with await Client.connect(str(cluster.kubeconfig)) as client:
        informer, changed = Informer(client, KIND), asyncio.Event()
        informer.subscribe(lambda _: changed.set())
        watch = asyncio.create_task(informer.run())
        await informer.synced.wait()
        try:
            await _install(cluster, client, informer, changed, "bench-chart-warm", _Times([], [], []))
            for number in range(RUNS):
                times.helm.append(await asyncio.to_thread(_helm_install, cluster, helm, path, f"peer{number}"))
                await _install(cluster, client, informer, changed, f"bench-chart-{number}", times)
            with PeakMemory([suite.pid("rukpak")], seconds=0.05) as memory:
                await _install(cluster, client, informer, changed, "bench-chart-peak", _Times([], [], []))
            times.peak = memory.peak
            with PeakMemory([suite.pid("rukpak")], seconds=0.05) as memory:
                started = time.perf_counter()
                names = (f"bench-charts-{number}" for number in range(MANY))
                every = (_install(cluster, client, informer, changed, each, _Times([], [], [])) for each in names)
                await asyncio.gather(*every)
                times.many = time.perf_counter() - started
            times.peak_of_many = memory.peak
        finally:
            watch.cancel()
    return times


def _helm_install(cluster: Cluster, helm: Path, path: Path, name: str) -> float:
    command = (str(helm), "install", name, str(path), f"--namespace={name}", "--create-namespace", "--wait")
    environment = {**os.environ, "HOME": str(path.parent), "KUBECONFIG": str(cluster.kubeconfig)}
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - started


async def _install(
    cluster: Cluster, client: Client, informer: Informer, changed: asyncio.Event, name: str, times: _Times
) -> None:
    """Install the chart, from an image that rukpak has not read, and add the seconds from the request to both conditions."""
    files = {**chart(), "NOTICE": name.encode()}
    digest = await asyncio.to_thread(Registry(cluster.registry).push, "bundles/bench-chart", name, files, {})
    source = {"type": "image", "image": {"ref": f"{cluster.registry}/bundles/bench-chart@{digest}"}}
    template = {"spec": {"provisionerClassName": HELM, "source": source}}
    head = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}}
    started = time.perf_counter()
    await client.create(KIND, {**head, "spec": {"provisionerClassName": HELM, "template": template}})
    for kind, found in (("Installed", times.installed), ("Ready", times.ready)):
        while not _is_true(informer.get(name), kind):
            changed.clear()
            await changed.wait()
        found.append(time.perf_counter() - started)


def _is_true(raw: object, kind: str) -> bool:
    conditions = ((raw or {}).get("status") or {}).get("conditions") or ()  # type: ignore[attr-defined]
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)
