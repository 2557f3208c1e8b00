"""Catalogs on the cluster: the five functions of their reconciler, wired to informers, jobs and the shelf.

Built by catalogd.setup, run on the leader. Reads the source in jobs only; decides nothing itself (catalogd.catalog.decide does).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from catalogd.catalog.decide import IMMEDIATELY, decide
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.package_sync import PackageSync
from catalogd.catalog.report import report
from catalogd.catalog.source_inputs import SourceInputs
from catalogd.catalog.valid_condition import MAX_ERROR_BYTES
from catalogd.catalog.world import (
    ConfirmUnchanged,
    DesiredSource,
    Done,
    Load,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    LoadState,
    Plan,
    Record,
    Serve,
    ServedContent,
    SetLabel,
    StopServing,
    SyncPackages,
    Wait,
    World,
)
from catalogd.ingest.load_request import LoadResult
from catalogd.ingest.load_tasks import LoadTaskFactory
from catalogd.storage.catalog_store import CatalogStore, ServedCatalog
from olmkit.api import catalogs
from olmkit.api.catalogs import MAX_REFRESH_LENGTH, NAME_LABEL, REFRESH_ANNOTATION, Catalog, CatalogStatus
from olmkit.api.conditions import StatusReport, truncate
from olmkit.errors import Blocked, Conflict, OlmError, Waiting
from olmkit.jobs import Failed, Finished, JobReason, Jobs, Queued, Running
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.publish import Publisher
from olmkit.runtime.reconciler import Decision, Reconciler
from olmkit.sources.errors import BadContent
from olmkit.store.store import DISK_FAILED_ERRNOS, DISK_FULL_ERRNOS, unreadable_error
from olmkit.store.store import StoreReason as StoreReason

MANAGER = "catalogd"

log = logging.getLogger(__name__)


@dataclass
class Memory:
    """What this process knows of one Catalog beyond the cluster and the disk; losing it costs a look at the source."""

    looked: datetime | None = None
    failed: tuple[str, OlmError] | None = None
    """The wish (Wish.job) that could not be read last, and why; until one can be."""
    unreachable: tuple[str, OlmError, float] | None = None
    """A wish whose job could not even begin, why, and when (monotonic)."""
    begun: str = ""
    """The value of the annotation that a look was begun for, until the status tells that look's end."""
    read_at: str = ""
    """Wish.versions of the last look with success."""
    looking_at: str = ""
    """The same of the look that was begun last."""


@dataclass(frozen=True)
class Catalogs:
    """Everything the five functions need. `bundles` is None unless BundleMetadata is asked for."""

    client: Client
    catalogs: Informer
    packages: PackageSync
    bundles: PackageSync | None
    jobs: Jobs[LoadResult]
    shelf: CatalogStore
    loader: LoadTaskFactory
    reach: SourceInputs
    publisher: Publisher
    base_url: str
    memories: dict[str, Memory] = field(default_factory=dict)

    def reconciler(self) -> Reconciler[World, Plan, None, Done, StatusReport[CatalogStatus]]:
        """The pass over one Catalog."""
        return Reconciler(
            self.observe,
            lambda world: Decision(decide(world), None),
            self.act,
            lambda world, _, outcome: report(world, outcome),
            self.publish,
        )

    def begin(self) -> None:
        """This process leads from now on: what it read and remembered before may be older than what another one serves."""
        self.jobs.cancel_all()
        self.memories.clear()
        self.publisher.reset()

    def looked(self, name: str) -> datetime | None:
        """When this process last asked that Catalog's source with success."""
        memory = self.memories.get(name)
        return memory.looked if memory else None

    async def observe(self, name: str) -> World | None:
        """None: the Catalog is gone, and nothing of it is left here."""
        raw = self.catalogs.get(name)
        on_shelf = shelved = self.shelf.get(name)
        if raw is None and shelved is None and self.jobs.state(name) is None and name not in self.memories:
            return None
        catalog = None if raw is None else Catalog.load(raw)
        if catalog is not None and shelved and not shelved.record.belongs_to(catalog.metadata.uid):
            shelved = None
        memory = self.memories.setdefault(name, Memory())
        if catalog is not None and memory.begun == catalog.status.last_handled_refresh:
            memory.begun = ""  # its end is told
        return World(
            name=name,
            raw=raw,
            catalog=catalog,
            job=self._job(name, memory),
            served=ServedContent(shelved.record, shelved.content.summary) if shelved else None,
            package_diff=self._difference(self.packages, catalog, shelved),
            bundle_diff=self._difference(self.bundles, catalog, shelved),
            last_checked=memory.looked,
            content_url=f"{self.base_url}/catalogs/{name}/all.json",
            now=datetime.now(UTC),
            input_versions=self.reach.versions(catalog.spec.source) if catalog else {},
            namespace=self.reach.namespace,
            pull_secret_version=self.reach.pull_secret_version,
            refresh_requested=_asked(raw),
            refresh_started=memory.begun,
            loaded_config_map_versions=memory.read_at,
            corruption=self.shelf.corruption(name),
            serves_deleted_catalog=shelved is not on_shelf,
            lacks_bundle_metadata=self.bundles is not None
            and shelved is not None
            and not shelved.content.has_bundle_metadata,
        )

    def _job(self, name: str, memory: Memory) -> LoadState | None:
        match self.jobs.state(name):
            case (Queued(identity) | Running(identity)) as state:
                failed = memory.failed[1] if memory.failed and memory.failed[0] == identity else None
                return LoadRunning(identity, is_queued=isinstance(state, Queued), previous_error=failed)
            case Finished(identity, result):
                digest = "" if result.unchanged else result.digest
                return LoadFinished(identity, result.ref, digest, result.resolved, result.validator)
            case Failed(identity, error, finished_at):
                error = _of_content(error)
                if memory.failed is None or memory.failed[1].message != error.message:
                    told = truncate(error.message, MAX_ERROR_BYTES)
                    log.warning("a catalog cannot be read", extra={"catalog": name, "error": told})
                memory.failed = (identity, error)
                return LoadFailed(identity, error, timedelta(seconds=time.monotonic() - finished_at))
            case None if memory.unreachable is not None:
                identity, error, since = memory.unreachable
                return LoadFailed(identity, error, timedelta(seconds=time.monotonic() - since))
            case None:
                return None

    def _difference(
        self, listed: PackageSync | None, catalog: Catalog | None, shelved: ServedCatalog | None
    ) -> Difference:
        """Objects are left alone while nothing is served, unless that is what was asked for."""
        if listed is None or catalog is None:
            return Difference()
        if catalog.is_unavailable:
            return listed.difference(catalog, ())
        if shelved is None:
            return Difference()
        content = shelved.content
        return listed.difference(
            catalog, content.package_fingerprints if listed is self.packages else content.bundle_fingerprints
        )

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out one Plan. Raises ApiError when an object cannot be written, OSError when the disk fails."""
        match plan:
            case StopServing():
                await self._withdraw(world)
                return Done(plan, IMMEDIATELY if world.raw is not None else None)
            case Load(wish):
                begun = await self._load(world, wish)
                return Done(plan, IMMEDIATELY if not begun or world.package_diff or world.bundle_diff else None)
            case Serve(record):
                await self._serve(world, record)
                return Done(plan, IMMEDIATELY)
            case ConfirmUnchanged(after):
                self._read(world)
                return Done(plan, after)
            case SetLabel():
                await self._label(world)
                return Done(plan, IMMEDIATELY)
            case SyncPackages(packages, bundles):
                await self._sync(world, packages, bundles)
                return Done(plan, IMMEDIATELY)
            case Wait(after):
                return Done(plan, after)

    async def _withdraw(self, world: World) -> None:
        if world.served is not None:
            why = "it is withdrawn" if world.raw is not None else "the Catalog was deleted"
            log.info("serving ends (%s)", why, extra={"catalog": world.name})
        self.jobs.cancel(world.name)
        await self.shelf.remove(world.name)
        self.memories.pop(world.name, None)

    async def _load(self, world: World, wish: DesiredSource) -> bool:
        """Whether a job was started; why not is remembered."""
        assert world.catalog is not None
        memory, spec = self.memories[world.name], world.catalog.spec.source
        memory.unreachable, memory.looking_at = None, wish.config_map_versions
        if world.refresh_pending:
            memory.begun = world.refresh_requested
        try:
            source, credentials = await self.reach.source(spec), await self.reach.credentials(spec)
        except OlmError as error:
            self.jobs.cancel(world.name)
            memory.unreachable = (wish.job_identity, error, time.monotonic())
            return False
        failed = memory.failed
        if failed and failed[1].reason == StoreReason.DISK_FULL:
            await self.shelf.free_space()
        bad = failed[1] if failed and failed[0] == wish.job_identity and isinstance(failed[1], BadContent) else None
        state = self.jobs.state(world.name)
        again = world.refresh_pending or (isinstance(state, Failed) and isinstance(state.error, Blocked))
        if again or isinstance(state, Finished):
            self.jobs.forget(world.name)  # ensure() starts again only what is Waiting and due
        known = world.served.record if world.served else None
        loader = replace(self.loader, access=self.loader.access.with_denied_hosts(await self.reach.denied()))
        task = loader.task(source, credentials, known, bad, answered=world.is_confirmed_by(wish))
        self.jobs.ensure(world.name, wish.job_identity, task)
        log.debug("source is read", extra={"catalog": world.name, "source": wish.identity})
        return True

    async def _serve(self, world: World, record: Record) -> None:
        try:
            await self.shelf.put(world.name, record)
        except LookupError:
            self.jobs.forget(world.name)  # removed or damaged since the job ended: it is read again
            return
        except OSError as error:
            if error.errno in DISK_FULL_ERRNOS | DISK_FAILED_ERRNOS:
                text = f"the cache folder cannot be written: {error.strerror}"
                raise Waiting(StoreReason.DISK_FULL, text, timedelta(minutes=1)) from error
            raise unreadable_error(error.strerror or str(error)) from error
        log.info("serving", extra={"catalog": world.name, "content": record.resolved_ref, "digest": record.digest})
        self._read(world)

    def _read(self, world: World) -> None:
        self.jobs.forget(world.name)
        before = self.memories[world.name]
        self.memories[world.name] = Memory(world.now, begun=before.begun, read_at=before.looking_at)

    async def _label(self, world: World) -> None:
        assert world.catalog is not None
        metadata = {"name": world.name, "uid": world.catalog.metadata.uid, "labels": {NAME_LABEL: world.name}}
        kind = catalogs.KIND
        with suppress(Conflict):  # gone, or made anew: the informer tells
            self.catalogs.record_write(
                await self.client.apply(
                    kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}, MANAGER
                )
            )

    async def _sync(self, world: World, packages: Difference, bundles: Difference) -> None:
        shelved, catalog = self.shelf.get(world.name), world.catalog
        if catalog is None:
            return
        if shelved is None:  # nothing is to be written then
            packages, bundles = Difference(deletes=packages.deletes), Difference(deletes=bundles.deletes)
        content = shelved.content if shelved else None
        await self.packages.sync(catalog, packages, content.package_object if content else _nothing)
        if self.bundles is not None:
            await self.bundles.sync(catalog, bundles, content.bundle_object if content else _nothing)

    async def publish(self, world: World, told: StatusReport[CatalogStatus]) -> None:
        """Write the status of a Catalog that is there to stay; not of one that has changed since: its next pass is due."""
        current = self.catalogs.get(world.name)
        if world.raw is None or current is None or _version(current) != _version(world.raw):
            return
        if world.catalog is not None and not world.catalog.metadata.deleting:
            await self.publisher(world.raw, told)


def _version(raw: Mapping[str, Any]) -> str:
    return str(raw["metadata"].get("resourceVersion", ""))


def _asked(raw: Mapping[str, Any] | None) -> str:
    """The value of the annotation that asks for a look, as far as it counts."""
    return str(((raw or {}).get("metadata", {}).get("annotations") or {}).get(REFRESH_ANNOTATION, ""))[
        :MAX_REFRESH_LENGTH
    ]


def _nothing(name: str) -> dict[str, Any]:
    raise KeyError(name)


def _of_content(error: OlmError) -> OlmError:
    """A job that its input killed is bad content too: another digest under the same tag may do."""
    if isinstance(error, Blocked) and error.reason in list(JobReason):
        return BadContent(error.reason, error.message, "")
    return error
