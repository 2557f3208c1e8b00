"""Wherever rukpak is killed, the cluster ends as it does without kills."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.images import Registry
from olmkit.api import bundledeployments, bundles
from olmkit.api.crd import operator_condition_definition
from olmkit.api.meta import Object
from olmkit.api.provisioner_classes import PLAIN
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from tests.cluster import proxy
from tests.cluster.conftest import serve_definitions
from tests.cluster.informing_client import InformingClient
from tests.cluster.rukpak.harness import kind_of, namespace, running_informers, thing
from tests.conditions import triple
from tests.crash.fleet import FOREIGN_NAMESPACE, FleetPackage, Wanted, fleet, rounds
from tests.crash.killing_proxy import KillingProxy, KillPoint, kill_points
from tests.crash.rukpak_process import RukpakProcess
from tests.crash.snapshot import differences, normalized, read_objects

pytestmark = pytest.mark.crash

SEED = int(os.environ.get("OLM_CRASH_SEED") or 1)
KILLS = int(os.environ.get("OLM_CRASH_KILLS") or 10)
KILLS_PER_CYCLE = 40
"""Kills that fit into the writes of one cycle."""
FIRST_WRITES, NEXT_WRITES, LAST_WRITES = 180, 240, 50
"""Fewer writes than the first round makes, each of those in between, and the last one."""
ROUND_SECONDS = 1800.0
"""More than a round takes on a busy machine; each kill costs the start of a process."""
QUIET_SECONDS = 3.0
"""More than rukpak holds back a status that reports progress."""
HOST = "registry.example.com"
"""A registry that the cluster's stands for, so that references are the same in both runs."""
MANAGER = "crash-test"


class Run:
    """One run over a cluster of its own."""

    def __init__(self, cluster: Cluster, client: InformingClient, process: RukpakProcess, api: KillingProxy) -> None:
        self.client = client
        self.process = process
        self.api = api
        self.deployments = Informer(client, bundledeployments.KIND)
        self.bundles = Informer(client, bundles.KIND)
        self.namespaces = Informer(client, NAMESPACES, metadata_only=True)
        self._registry = Registry(cluster.registry)
        self._changed = asyncio.Event()
        client.informers = (self.deployments, self.bundles)
        for informer in (self.deployments, self.bundles, self.namespaces):
            informer.subscribe(lambda _: self._changed.set())

    async def ask(self, wanted: Wanted) -> None:
        """Ask for these packages and versions, all at once."""
        for package in fleet():
            version = wanted.get(package.name)
            if version is not None:
                await self.client.apply(bundledeployments.KIND, self._body(package, version), MANAGER)
            elif self.deployments.get(package.name) is not None:
                await self.client.delete(bundledeployments.KIND, package.name)

    async def use(self, wanted: Wanted) -> None:
        """Create the custom resources of people, where their CRD is installed and they do not exist."""
        for package in fleet():
            if package.custom_resource and wanted.get(package.name) == 0:
                boat = thing(kind_of(package.custom_resource), "mine", package.name)
                await self.client.apply(kind_of(package.custom_resource), boat, MANAGER)

    async def until_settled(self, wanted: Wanted) -> None:
        """Wait until everything is installed or gone, and nothing is written any more."""
        try:
            async with asyncio.timeout(ROUND_SECONDS):
                await self._until(lambda: not self._unsettled(wanted))
                await self.process.until_idle()
                while not await self.api.is_quiet(QUIET_SECONDS):
                    await self.process.until_idle()
                await self._until(lambda: not self._unsettled(wanted))
        except TimeoutError:
            pytest.fail(f"not within {ROUND_SECONDS:g} s: {self._unsettled(wanted)}\n{self.process.log}")

    async def _until(self, is_so: Callable[[], bool]) -> None:
        ended = asyncio.create_task(self.process.ended())
        try:
            while not is_so():
                self._changed.clear()
                changed = asyncio.create_task(self._changed.wait())
                await asyncio.wait({changed, ended}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if ended.done():
                    ended.result()
        finally:
            ended.cancel()

    def _unsettled(self, wanted: Wanted) -> list[str]:
        texts = [text for name in wanted if (text := self._state(name))]
        texts += [f"{name} exists" for _, name in self.deployments.objects if name not in wanted]
        texts += [
            f"namespace {name} is being deleted"
            for (_, name), obj in self.namespaces.objects.items()
            if "deletionTimestamp" in obj["metadata"]
        ]
        return texts

    def _state(self, name: str) -> str:
        """Why a package is not settled; empty if it is."""
        raw = self.deployments.get(name)
        if raw is None:
            return f"{name} is missing"
        owned = [one for _, one in self.bundles.objects if one.startswith(f"{name}-")]
        ready = triple(raw, "Ready")
        is_current = raw["status"].get("observedGeneration") == raw["metadata"]["generation"]
        is_working = {"Reconciling", "Stalled"} & {each["type"] for each in raw["status"].get("conditions") or ()}
        if is_current and ready[0] == "True" and not is_working and len(owned) == 1:
            return ""
        return f"{name} is {ready}, has {owned}"

    def _body(self, package: FleetPackage, version: int) -> Object:
        digest = self._registry.push(f"crash/{package.name}", f"v{version}", package.versions[version], {})
        source = {"type": "image", "image": {"ref": f"{HOST}/crash/{package.name}@{digest}"}}
        template = {"spec": {"provisionerClassName": package.provisioner, "source": source}}
        return {
            "apiVersion": bundledeployments.KIND.api_version,
            "kind": bundledeployments.KIND.kind,
            "metadata": {"name": package.name},
            "spec": {"provisionerClassName": PLAIN, "template": template, **package.fields},
        }


@contextlib.asynccontextmanager
async def running(cluster: Cluster, directory: Path) -> AsyncIterator[Run]:
    async with (
        proxy.run_as(KillingProxy, cluster.kubeconfig, directory) as api,
        await InformingClient.connect(str(cluster.kubeconfig)) as client,
    ):
        run = Run(cluster, client, RukpakProcess(cluster, api, directory), api)
        async with running_informers(run.deployments, run.bundles, run.namespaces):
            yield run


def serve_operator_conditions(cluster: Cluster) -> None:
    """Apply the CRD of OperatorConditions, so that each bundle with a ClusterServiceVersion has one."""
    definition = operator_condition_definition()
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(definition))
    name = f"crd/{definition['metadata']['name']}"
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", name)


async def end_of(name: str, directory: Path, cycles: int, points: list[list[KillPoint]]) -> tuple[dict[str, Any], Run]:
    """The objects at the end of a run in a cluster of its own. `points` are those of each round."""
    with start(ClusterOptions(f"crash-{name}-{os.getpid()}"), print) as cluster:
        serve_definitions(cluster)
        serve_operator_conditions(cluster)
        async with running(cluster, directory) as run:
            await run.client.create(NAMESPACES, namespace(FOREIGN_NAMESPACE))
            before = await read_objects(run.client)
            await run.process.start()
            for number, (wanted, share) in enumerate(zip(rounds(cycles), points, strict=True), 1):
                run.process.kill_at(share)
                await run.ask(wanted)
                await run.until_settled(wanted)
                await run.use(wanted)
                print(f"{name}: round {number}, {run.process.kills} kills, {run.api.all_writes} writes", flush=True)
            await run.process.stop()
            return normalized(await read_objects(run.client), before), run


@pytest.mark.timeout(4 * 3600)
async def test_the_end_does_not_depend_on_kills(
    cluster_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cycles = max(1, round(KILLS / KILLS_PER_CYCLE))
    print(f"SEED={SEED} KILLS={KILLS}", flush=True)
    between = len(rounds(cycles)) - 2
    points = kill_points(SEED, KILLS, [FIRST_WRITES, *[NEXT_WRITES] * between, LAST_WRITES])
    expected, _ = await end_of("quiet", tmp_path_factory.mktemp("quiet"), cycles, [[] for _ in points])
    found, run = await end_of("killed", tmp_path_factory.mktemp("killed"), cycles, points)
    different = differences(expected, found)
    assert not different, "\n".join([f"SEED={SEED} KILLS={KILLS}", *different])
    assert run.process.kills == KILLS
    assert len(expected) > 100
    conditions = [key for key in expected if key.startswith("operators.coreos.com OperatorCondition ")]
    assert conditions, "the operators with a ClusterServiceVersion have one each"
