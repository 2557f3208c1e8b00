"""Checks custom resources on the cluster against the schemas that a bundle brings, one check per BundleDeployment.

Started by rukpak.bundledeployment.act; its state is part of the World, and its end enqueues the BundleDeployment. Objects are
listed in pages; schemas and patterns are evaluated in a child process, which exists only while something is checked. Never
writes, and never keeps a value of an object.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from olmkit.api.meta import Kind
from olmkit.errors import ApiError, NotFound, OlmError
from olmkit.jobs import KeptWorker, Limits, MemoryBudget, Task
from olmkit.runtime.client import Client
from rukpak.bundledeployment.crd_changes import definition_body
from rukpak.bundledeployment.plan import CheckExistingObjects
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.rest_mapper import RestMapper
from rukpak.bundledeployment.validate_request import VALIDATE, ValidateRequest, ValidateResult
from rukpak.bundledeployment.world import CRD, ExistingObjects, World
from rukpak.crd_safety.compare import Definition, has_webhook, schemas
from rukpak.crd_safety.problem import InvalidObject
from rukpak.crd_safety.refusal import MAX_OBJECTS_SHOWN
from rukpak.crd_safety.structural import unchecked
from rukpak.format.objects import ObjectKey

MAX_OBJECTS = 10_000
"""Custom resources of one kind that are checked."""
PAGE = 50
"""Objects per request: each may have 1.5 MB."""
LIMITS = Limits(memory_bytes=512 * 1024 * 1024, cpu_seconds=300)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Version:
    """One version of a CustomResourceDefinition, and the kind that its objects are listed as."""

    definition: str
    version: str
    schema: dict[str, Any]
    kind: Kind | None
    """None: the objects cannot be read in this version."""


@dataclass
class ExistingObjectsChecker:
    """Checks for all BundleDeployments, one after the other. `ended` is called with the name of one whose check has ended."""

    client: Client
    rest_mapper: RestMapper
    render_cache: RenderCache
    memory: MemoryBudget
    ended: Callable[[str], None]
    max_objects: int = MAX_OBJECTS
    _states: dict[str, ExistingObjects] = field(default_factory=dict)
    _runs: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def state(self, name: str) -> ExistingObjects | None:
        """The check of a BundleDeployment, running or ended; None if there was none."""
        return self._states.get(name)

    async def start(self, world: World, plan: CheckExistingObjects) -> None:
        """Start the check, and cancel an earlier one. Raises ApiError when the bundle cannot be read now."""
        versions = [version async for version in self._versions(world, plan)]
        self.forget(world.name)
        self._states[world.name] = ExistingObjects(plan.identity, datetime.now(UTC), is_running=True)
        run = asyncio.create_task(self._run(world.name, plan.identity, versions), name=f"check objects {world.name}")
        self._runs[world.name] = run
        run.add_done_callback(lambda _: self._runs.pop(world.name, None) if self._runs.get(world.name) is run else None)

    def forget(self, name: str) -> None:
        """The BundleDeployment needs no check: cancel a running one."""
        self._states.pop(name, None)
        run = self._runs.pop(name, None)
        if run is not None:
            run.cancel()

    async def close(self) -> None:
        """Cancel all checks, and wait until they have ended."""
        runs = list(self._runs.values())
        for name in list(self._states):
            self.forget(name)
        await asyncio.gather(*runs, return_exceptions=True)

    async def _versions(self, world: World, plan: CheckExistingObjects) -> AsyncIterator[_Version]:
        content = world.content
        assert isinstance(content, RenderedBundle)
        items = {item.key: item for item in content.objects() if item.key[:2] == CRD}
        for name, version in plan.versions:
            item = items[ObjectKey(*CRD, "", name)]
            body = await definition_body(self.render_cache, world, item)
            definition = await asyncio.to_thread(orjson.loads, body)
            yield _Version(name, version, dict(schemas(definition)[version]), self._kind(world, definition, version))

    def _kind(self, world: World, definition: Definition, version: str) -> Kind | None:
        """The kind in that version; if the cluster does not have it and nothing converts, in the stored one: it is the same."""
        crd = world.crds[definition["metadata"]["name"]]
        served = self.rest_mapper.kind_for(f"{crd.group}/{version}", crd.kind)
        return (
            served if served is not None or has_webhook(definition) else self.rest_mapper.storage_kind(crd.group_kind)
        )

    async def _run(self, name: str, identity: str, versions: list[_Version]) -> None:
        async with self._turn:
            try:
                state = await self._checked(ExistingObjects(identity, datetime.now(UTC)), versions)
            except (ApiError, OlmError) as error:
                state = ExistingObjects(identity, datetime.now(UTC), error=error.message)
            except Exception as error:  # whatever it is, a check that stays running would never be repeated
                log.exception("custom resources cannot be checked against new schemas")
                state = ExistingObjects(identity, datetime.now(UTC), error=type(error).__name__)
        self._states[name] = replace(state, at=datetime.now(UTC))
        log.info("checked %d custom resources against new schemas: %d not valid", state.count, state.invalid_count)
        self.ended(name)

    async def _checked(self, state: ExistingObjects, versions: list[_Version]) -> ExistingObjects:
        """Raises ApiError, OlmError."""
        worker = KeptWorker(limits=LIMITS, preload=[VALIDATE.module], memory=self.memory)
        try:
            for entry in versions:
                if entry.kind is None:
                    text = (
                        f"{entry.definition} {entry.version}: not checked, because a webhook converts custom resources"
                    )
                    state = replace(state, notes=(*state.notes, text))
                else:
                    state = await self._with_version(worker, state, entry, entry.kind)
        finally:
            await worker.close()
        return state

    async def _with_version(
        self, worker: KeptWorker, state: ExistingObjects, entry: _Version, kind: Kind
    ) -> ExistingObjects:
        place, count, invalid = f"{entry.definition} {entry.version}", 0, list[InvalidObject]()
        notes, left = [*state.notes], set(unchecked(entry.schema))
        async for objects in self._pages(kind):
            task: Task[ValidateRequest, ValidateResult] = Task(VALIDATE, ValidateRequest(entry.schema, objects))
            result = await worker.run(task)
            if result.error:
                notes.append(f"{place}: its custom resources were not checked: {result.error}")
                break
            left.update(f"pattern {pattern}" for pattern in result.unchecked_patterns)
            count, invalid = count + len(objects), invalid + result.invalid
            if count >= self.max_objects:
                notes.append(f"{place}: only the first {count} custom resources were checked")
                break
        if left:
            notes.append(f"{place}: not checked in custom resources: {', '.join(sorted(left))}")
        found = {(entry.definition, entry.version): tuple(invalid[: MAX_OBJECTS_SHOWN + 1])} if invalid else {}
        return replace(
            state,
            invalid={**state.invalid, **found},
            invalid_count=state.invalid_count + len(invalid),
            count=state.count + count,
            notes=tuple(notes),
        )

    async def _pages(self, kind: Kind) -> AsyncIterator[list[dict[str, Any]]]:
        """Raises ApiError."""
        try:
            async for objects, _ in self.client.pages(kind, limit=PAGE):
                yield objects
        except NotFound:
            return
