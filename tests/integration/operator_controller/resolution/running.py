"""A Resolver that runs: informers that the test fills, catalogs over real HTTP, a real solver process, no API server."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson

from olmkit.api import customresourcedefinitions, operators
from olmkit.api.bundle_annotations import (
    BUNDLE_NAME_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
)
from olmkit.jobs.worker import Worker
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from operator_controller.catalog_cache.client import CatalogClient
from operator_controller.operator.world import World
from operator_controller.resolution.resolution_loop import Resolver
from operator_controller.resolution.snapshot_inputs import ClusterFactsReader
from operator_controller.resolution.solver_process import SolverProcess
from operator_controller.resolve.answers.answer import AnswerState
from operator_controller.setup import make_controller, make_informers, make_reconciler, make_worker
from tests.bundle_properties import package_required

KUBECONFIG = """{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: u, user: {}}]}
"""
"""An API server that nothing answers for: the facts of the cluster stay unknown."""


class RunningResolver:
    """The Resolver with its reconciler, which the test asks as a pass would."""

    def __init__(self, client: Client, catalog_client: CatalogClient, worker: Worker) -> None:
        self._definitions = Informer(client, customresourcedefinitions.KIND, transform=customresourcedefinitions.trim)
        self.informers = make_informers(lambda kind: Informer(client, kind))
        for informer in (*vars(self.informers).values(), self._definitions):
            informer.fresh.set()
        facts = ClusterFactsReader(client, self._definitions)
        solver = SolverProcess(worker, catalog_client.directory)
        self.resolver = Resolver(solver, catalog_client, self.informers.catalogs, facts)
        self.reconciler = make_reconciler(
            client, self.informers, self.resolver, lambda name, delay: controller.enqueue_after(name, delay)
        )
        controller = make_controller(self.reconciler)
        self.woken: list[str] = []
        self._changed = asyncio.Event()
        self.resolver.connect(self.reconciler.read_request, lambda: (), self._wake)
        self._versions = itertools.count(1)

    def _wake(self, name: str) -> None:
        self.woken.append(name)
        self._changed.set()

    def add_catalog(self, raw: dict[str, Any]) -> None:
        """Create or change a Catalog."""
        self.informers.catalogs.record_write(self._with_version(raw))

    def add_definition(self, group: str, kind: str, *, established: bool = True, deleting: bool = False) -> None:
        """Create or change a CustomResourceDefinition with version v1."""
        plural = f"{kind.lower()}s"
        metadata: dict[str, Any] = {"name": f"{plural}.{group}", "uid": plural}
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
        version = {"name": "v1", "served": True, "storage": True}
        names = {"kind": kind, "plural": plural}
        spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
        status = {"conditions": [{"type": "Established", "status": str(established)}]}
        raw = self._with_version({"metadata": metadata, "spec": spec, "status": status})
        self._definitions.record_write(raw)

    def add_operator(self, name: str, generation: int = 1, **spec: Any) -> None:
        """Create or change an Operator, by default for package p."""
        metadata = {"name": name, "uid": f"uid-{name}", "generation": generation}
        raw = {"metadata": metadata, "spec": {"packageName": "p", **spec}}
        self.informers.operators.record_write(self._with_version(raw))

    def add_installed(self, name: str, *requires: str, deleting: bool = False) -> None:
        """Create or change an Operator of which 1.0.0 of the package with its name runs, which requires other packages."""
        annotations = {
            PACKAGE_ANNOTATION: name,
            BUNDLE_NAME_ANNOTATION: f"{name}.v1.0.0",
            VERSION_ANNOTATION: "1.0.0",
            PROPERTIES_ANNOTATION: orjson.dumps([package_required(each) for each in requires]).decode(),
        }
        owner = {
            "apiVersion": operators.KIND.api_version,
            "kind": operators.KIND.kind,
            "name": name,
            "uid": f"uid-{name}",
        }
        source = {"type": "image", "image": {"ref": f"r/{name}@sha256:{'0' * 64}"}}
        spec = {"provisionerClassName": "core-rukpak-io-registry", "source": source}
        bundle = {"metadata": {"name": f"{name}-1", "uid": f"{name}-1", "annotations": annotations}, "spec": spec}
        deployment = {
            "metadata": {"name": name, "uid": f"d-{name}", "ownerReferences": [{**owner, "controller": True}]},
            "spec": {
                "provisionerClassName": "core-rukpak-io-plain",
                "template": {"metadata": {"annotations": annotations}, "spec": spec},
            },
            "status": {"activeBundle": f"{name}-1"},
        }
        metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}"}
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
        self.informers.bundles.record_write(self._with_version(bundle))
        self.informers.deployments.record_write(self._with_version(deployment))
        self.informers.operators.record_write(self._with_version({"metadata": metadata, "spec": {"packageName": name}}))

    def _with_version(self, raw: dict[str, Any]) -> dict[str, Any]:
        return {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(next(self._versions))}}

    async def world(self, name: str) -> World:
        """What a pass over the Operator observes."""
        world = await self.reconciler.observe(name)
        assert world is not None
        return world

    async def state(self, name: str) -> AnswerState:
        """What the Resolver knows for the Operator now."""
        resolution = (await self.world(name)).resolution
        assert resolution is not None
        return resolution

    async def until(self, name: str, found: Callable[[AnswerState], bool]) -> AnswerState:
        """The state of the Operator as soon as it is as wanted; it is read again whenever an Operator is woken. Each pass that
        finds it otherwise ends as passes do."""
        async with asyncio.timeout(60):
            while not found(state := await self.state(name)):
                self.resolver.expect(state)
                await self.next_wake()
        return state

    async def next_wake(self) -> None:
        """Wait until an Operator is woken."""
        self._changed.clear()
        await self._changed.wait()

    async def answered(self, name: str) -> AnswerState:
        """The state of the Operator as soon as its present request is answered."""
        return await self.until(name, lambda state: state.answer is not None)


@contextlib.asynccontextmanager
async def running(
    directory: Path, worker: Callable[[CatalogClient], Worker] = make_worker
) -> AsyncIterator[RunningResolver]:
    """A Resolver that leads, with its content below `directory`."""
    directory.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 a test may block
    (directory / "kubeconfig").write_text(KUBECONFIG)
    async with Client(str(directory / "kubeconfig")) as client:
        await client.open()
        catalog_client = await CatalogClient.connect(directory / "resolution")
        kept = worker(catalog_client)
        found = RunningResolver(client, catalog_client, kept)
        run = asyncio.create_task(found.resolver.run())
        try:
            yield found
            assert not run.done()
        finally:
            run.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await run
            await kept.close()
            await catalog_client.close()
