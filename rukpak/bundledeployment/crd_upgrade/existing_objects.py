"""Checks custom resources on the cluster against the schemas that a bundle brings, one check per BundleDeployment.

crd_gate.py decides whether a check is needed, and what its result means. Started by rukpak.bundledeployment.act; its state is
part of the World, and its end enqueues the BundleDeployment. Called again by applier right before a CustomResourceDefinition
is replaced. rukpak.crds.collector lists the objects; schemas and patterns are evaluated in a child process, which exists only
while something is checked. Never writes, and never keeps a value of an object.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson

from olmkit.api import customresourcedefinitions
from olmkit.api.bundledeployments import Reason
from olmkit.api.meta import Kind, Object
from olmkit.crd_safety.evidence import Check, Evidence
from olmkit.errors import ApiError, NotFound, OlmError, Waiting
from olmkit.gocompat.text import list_names
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.worker import Worker
from olmkit.runtime.client import Client
from rukpak.bundledeployment.crd_upgrade.crd_changes import definition_body
from rukpak.bundledeployment.crd_upgrade.validate_request import VALIDATE, ValidateRequest, ValidateResult
from rukpak.bundledeployment.delays import SYNC_POLL_DELAY
from rukpak.bundledeployment.plan import CheckExistingObjects
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import CRD, ExistingObjects, World
from rukpak.crds.collector import MAX_OBJECTS, Collected, Collector, Subject, generations
from rukpak.format.objects import ObjectKey

LIMITS = Limits(memory_bytes=512 * 1024 * 1024, cpu_seconds=300)

log = logging.getLogger(__name__)


@dataclass
class ExistingObjectsChecker:
    """Checks for all BundleDeployments, one after the other. `ended` is called with the name of one whose check has ended."""

    client: Client
    render_cache: RenderCache
    memory: MemoryBudget
    ended: Callable[[str], None]
    max_objects: int = MAX_OBJECTS
    _states: dict[str, ExistingObjects] = field(default_factory=dict)
    _seen: dict[str, dict[Kind, dict[str, int]]] = field(default_factory=dict)
    """The custom resources that were checked, by the name of the BundleDeployment."""
    _runs: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def state(self, name: str) -> ExistingObjects | None:
        """The check of a BundleDeployment, running or ended; None if there was none."""
        return self._states.get(name)

    async def start(self, world: World, plan: CheckExistingObjects) -> None:
        """Start the check, and cancel an earlier one. Raises ApiError if the bundle or what it replaces cannot be read now."""
        subjects = {name: await self._subject(world, name) for name in {form.definition for form in plan.forms}}
        self.forget(world.name)
        self._states[world.name] = ExistingObjects(plan.identity, datetime.now(UTC), is_running=True)
        run = asyncio.create_task(self._run(world, plan, subjects), name=f"check objects {world.name}")
        self._runs[world.name] = run
        run.add_done_callback(lambda _: self._runs.pop(world.name, None) if self._runs.get(world.name) is run else None)

    async def confirm(self, world: World, items: Collection[RenderedObject]) -> None:
        """Return if the custom resources of these CustomResourceDefinitions are those that were checked.

        Raises Waiting when there are new or changed ones, which are checked next, and ApiError if they cannot be listed now.
        """
        names = {item.key.name for item in items if item.key[:2] == CRD}
        kinds = {f"{kind.plural}.{kind.group}": kind for kind in self._seen.get(world.name, ())}
        for name in sorted(names & kinds.keys()):
            if not await self._is_known(world.name, kinds[name]):
                self.forget(world.name)
                text = f"custom resources of {name} were created or changed after they were checked: they are checked again"
                raise Waiting(Reason.RETRYING, text, SYNC_POLL_DELAY, [name])

    def forget(self, name: str) -> None:
        """The BundleDeployment needs no check: cancel a running one."""
        self._states.pop(name, None)
        self._seen.pop(name, None)
        run = self._runs.pop(name, None)
        if run is not None:
            run.cancel()

    async def close(self) -> None:
        """Cancel all checks, and wait until they have ended."""
        runs = list(self._runs.values())
        for name in list(self._states):
            self.forget(name)
        await asyncio.gather(*runs, return_exceptions=True)

    async def _subject(self, world: World, name: str) -> Subject:
        content, problems = world.content, world.crd_problems[name]
        assert isinstance(content, RenderedBundle)
        assert not isinstance(problems, ApiError)
        item = next(item for item in content.objects() if item.key == ObjectKey(*CRD, "", name))
        body = await definition_body(self.render_cache, world, item)
        live = await self.client.get(customresourcedefinitions.KIND, name)
        return Subject(live, await asyncio.to_thread(orjson.loads, body), problems)

    async def _is_known(self, name: str, kind: Kind) -> bool:
        """Report whether each custom resource was checked in its present generation."""
        seen = self._seen[name].get(kind, {})
        try:
            async for objects, _ in self.client.pages(kind, metadata_only=True):
                if not generations(objects).items() <= seen.items():
                    return False
        except NotFound:
            return not seen
        return True

    async def _run(self, world: World, plan: CheckExistingObjects, subjects: dict[str, Subject]) -> None:
        found, problem = Collected(), ""
        async with self._turn:
            try:
                found = await self._collected(world, plan, subjects)
            except (ApiError, OlmError) as error:
                problem = error.message
            except Exception as error:  # whatever it is, a check that stays running would never be repeated
                log.exception("custom resources cannot be checked against new schemas")
                problem = type(error).__name__
        self._seen[world.name] = found.seen
        self._states[world.name] = ExistingObjects(
            plan.identity, datetime.now(UTC), evidence=found.evidence, error=problem
        )
        count = len({uid for seen in found.seen.values() for uid in seen})
        log.info("checked %d custom resources against new schemas of %s", count, list_names(subjects))
        self.ended(world.name)

    async def _collected(self, world: World, plan: CheckExistingObjects, subjects: dict[str, Subject]) -> Collected:
        """Raises ApiError, OlmError."""
        worker = Worker(ForkServerClient([VALIDATE.module]), limits=LIMITS, memory=self.memory)

        async def evaluate(checks: list[Check], objects: list[Object]) -> list[Evidence]:
            if not objects:
                return [Evidence() for _ in checks]  # the child process is not started for nothing
            task: Task[ValidateRequest, ValidateResult] = Task(VALIDATE, ValidateRequest(checks, objects))
            return (await worker.run(task)).evidence

        collector = Collector(self.client, evaluate, self.max_objects)
        try:
            return await collector.collect(subjects, plan.forms, world.deployment.spec.crd_upgrade_safety)
        finally:
            await worker.close()
