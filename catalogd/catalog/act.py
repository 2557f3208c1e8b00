"""Carries out the Plan of one Catalog: reads the inputs of its source, starts jobs, changes what is served, writes objects.

Decides nothing: the Plan contains each action. `Memory` keeps the facts about past actions that the next World is observed from.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from catalogd.catalog.package_diff import Difference
from catalogd.catalog.package_sync import PackageSync
from catalogd.catalog.world import (
    ConfirmUnchanged,
    Done,
    FailedLoad,
    Keep,
    Load,
    Plan,
    Record,
    Recovery,
    SelectPackages,
    Serve,
    SetLabel,
    StopServing,
    SyncPackages,
    World,
)
from catalogd.ingest.load_task import LoadResult, LoadTaskFactory
from catalogd.storage.catalog_store import CatalogStore
from olmkit.api import catalogs
from olmkit.api.catalogs import NAME_LABEL
from olmkit.errors import Conflict, OlmError
from olmkit.jobs.scheduler import Jobs
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.source_inputs import SourceInputs
from olmkit.store.disk_errors import disk_error
from olmkit.store.store import unreadable_error

FIELD_MANAGER = "catalogd"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Memory:
    """The facts about one Catalog that are neither on the cluster nor on disk. Without them, the source is checked again."""

    last_checked: datetime | None = None
    last_failure: FailedLoad | None = None
    """The last failed load since the last successful load."""
    start_failure: FailedLoad | None = None
    """A job that could not be started."""
    start_failed_at: float = 0.0
    """time.monotonic() of `start_failure`."""
    refresh_started: str = ""
    """The value of the annotation that a check was started for, until the status reports its end."""
    loaded_config_map_versions: str = ""
    """DesiredSource.config_map_versions at the last successful check."""
    loading_config_map_versions: str = ""
    """DesiredSource.config_map_versions of the check that was started last."""
    recovery: Recovery | None = None
    """The loads because content was lost on disk, as recorded at the start of the last load: its age is zero."""
    recovered_at: float = 0.0
    """time.monotonic() of that start."""


@dataclass(frozen=True)
class CatalogActions:
    """Carries out Plans, and holds the state that the World is observed from.

    `job_ended` is called for each job that could not be started. Jobs calls it for all other jobs.
    """

    client: Client
    catalogs: Informer
    packages: PackageSync
    jobs: Jobs[LoadResult]
    store: CatalogStore
    load_tasks: LoadTaskFactory
    inputs: SourceInputs
    job_ended: Callable[[str], None]
    memories: dict[str, Memory] = field(default_factory=dict)

    def memory(self, name: str) -> Memory:
        """The Memory of a Catalog; an empty one if there is none."""
        return self.memories.get(name, Memory())

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out one Plan. Raises ApiError when an object cannot be written, OlmError when the disk fails."""
        match plan.action:
            case StopServing():
                await self._stop_serving(world)
            case Load():
                await self._load(world, plan.action)
            case Serve(record):
                await self._serve(world, record)
            case SelectPackages(record):
                await self._put(world, record)
            case ConfirmUnchanged():
                self._record_success(world)
            case SetLabel():
                await self._set_label(world)
            case SyncPackages(packages):
                await self._sync_packages(world, packages)
            case Keep():
                pass
        return Done(plan)

    async def _stop_serving(self, world: World) -> None:
        if world.served is not None:
            why = "it is unavailable" if world.raw is not None else "the Catalog was deleted"
            log.info("serving ends (%s)", why, extra={"catalog": world.name})
        self.jobs.cancel(world.name)
        await self.store.remove(world.name)
        self.memories.pop(world.name, None)

    async def _load(self, world: World, load: Load) -> None:
        """Start the job. If its inputs cannot be read, the error is recorded as the failure of the job."""
        assert world.catalog is not None
        name, desired, spec = world.name, load.desired, world.catalog.spec.source
        self.memories[name] = replace(
            self.memory(name),
            last_failure=world.last_failure,
            start_failure=None,
            refresh_started=load.refresh_started,
            loading_config_map_versions=desired.config_map_versions,
        )
        if load.recoveries:
            recovery = Recovery(desired.job_identity, load.recoveries, timedelta(0))
            self.memories[name] = replace(self.memory(name), recovery=recovery, recovered_at=time.monotonic())
        try:
            source, credentials = await self.inputs.source(spec), await self.inputs.credentials(spec)
            policy = await self.inputs.signature_policy(spec)
        except OlmError as error:
            self.jobs.cancel(name)
            failure = FailedLoad(desired.job_identity, error)
            self.memories[name] = replace(self.memory(name), start_failure=failure, start_failed_at=time.monotonic())
            self.job_ended(name)
            return
        if load.free_space:
            await self.store.free_space()
        if load.restart:
            self.jobs.forget(name)  # ensure() restarts only a job that is Waiting and due
        served = world.served.record if world.served else None
        access = self.load_tasks.access.with_denied_hosts(await self.inputs.denied_hosts())
        access = access.with_policy(policy.with_verified(load.verified_digest) if policy is not None else None)
        tasks = replace(self.load_tasks, access=access)
        task = tasks.task(source, credentials, served, load.known_bad, answered=load.is_confirmed)
        self.jobs.ensure(name, desired.job_identity, task)
        log.debug("loading the source", extra={"catalog": name, "source": desired.identity})

    async def _serve(self, world: World, record: Record) -> None:
        if not await self._put(world, record):
            self.jobs.forget(world.name)  # removed or damaged since the job ended: it is loaded again
            return
        log.info("serving", extra={"catalog": world.name, "content": record.resolved_ref, "digest": record.digest})
        self._record_success(world)

    async def _put(self, world: World, record: Record) -> bool:
        """Serve the content. Returns False if the content has been removed from disk."""
        try:
            await self.store.put(world.name, record)
        except LookupError:
            return False
        except OSError as error:
            raise (disk_error(error) or unreadable_error(error.strerror or str(error))) from error
        return True

    def _record_success(self, world: World) -> None:
        self.jobs.forget(world.name)
        before = self.memory(world.name)
        self.memories[world.name] = replace(
            before,
            last_checked=world.now,
            last_failure=None,
            start_failure=None,
            loaded_config_map_versions=before.loading_config_map_versions,
            loading_config_map_versions="",
        )

    async def _set_label(self, world: World) -> None:
        assert world.catalog is not None
        kind = catalogs.KIND
        metadata = {"name": world.name, "uid": world.catalog.metadata.uid, "labels": {NAME_LABEL: world.name}}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        with suppress(Conflict):  # it was deleted, or deleted and created again: the informer reports that
            self.catalogs.record_write(await self.client.apply(kind, body, FIELD_MANAGER))

    async def _sync_packages(self, world: World, packages: Difference) -> None:
        served, catalog = self.store.get(world.name), world.catalog
        assert catalog is not None
        if served is None:  # nothing to write the objects from: the content was removed since it was observed
            packages = Difference(deletes=packages.deletes)
        content = served.content if served else None
        try:
            await self.packages.sync(catalog, packages, content.package_object if content else _no_content)
        except (OSError, ValueError):
            if served is not None:
                await self.store.report_damage(served.record.digest)
            raise


def _no_content(name: str) -> dict[str, Any]:
    raise KeyError(name)
