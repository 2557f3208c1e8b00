"""Catalogs on the cluster: the five functions of their reconciler, wired to informers, jobs and the shelf.

Built by catalogd.__main__, run on the leader. Reads the source in jobs only; decides nothing itself (catalogd.decide does).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from catalogd import listing
from catalogd.decide import decide, next_look, report
from catalogd.loading import Loader
from catalogd.shelf import Shelf, Shelved
from catalogd.specs import fingerprint
from catalogd.world import (
    Confirm,
    Done,
    Job,
    Keep,
    Load,
    Plan,
    Read,
    Reading,
    Record,
    Refused,
    Serve,
    Served,
    SyncPackages,
    Withdraw,
    World,
)
from olmkit.api import packages
from olmkit.api.catalogs import Catalog, CatalogStatus
from olmkit.client import Client
from olmkit.conditions import Report
from olmkit.errors import Blocked, NotFound, OlmError, Waiting
from olmkit.informer import Change, Informer
from olmkit.jobs import Failed, Finished, Jobs, Running
from olmkit.jobs import Reason as JobReason
from olmkit.publish import Publisher
from olmkit.reconciler import Reconciler
from olmkit.sources.errors import BadContent
from olmkit.store import Reason as StoreReason

MANAGER = "catalogd"
BY_CATALOG = "catalog"
WRITERS = 8
"""Package objects written at a time."""
AT_ONCE = timedelta(0)


def keys_of_catalog(change: Change) -> list[str]:
    """A Catalog's own key."""
    return [obj["metadata"]["name"] for obj in (change.new or change.old,) if obj]


def keys_of_package(change: Change) -> list[str]:
    """The Catalogs that a Package object speaks of, before and after."""
    return sorted({name for obj in (change.old, change.new) if obj for name in catalog_of(obj)})


def catalog_of(obj: Mapping[str, Any]) -> list[str]:
    """The name of the Catalog in a Package's spec; the index of the informer."""
    name = ((obj.get("spec") or {}).get("catalog") or {}).get("name")
    return [name] if name else []


@dataclass
class Memory:
    """What this process knows of one Catalog beyond the cluster and the disk; losing it costs a look at the source."""

    looked: datetime | None = None
    failed: tuple[str, OlmError] | None = None
    """The reference that could not be read last, and why; until one can be."""


@dataclass(frozen=True)
class Catalogs:
    """Everything the five functions need. `settled`: resourceVersion of Packages that others own fields of, by name."""

    client: Client
    catalogs: Informer
    packages: Informer
    jobs: Jobs
    shelf: Shelf
    loader: Loader
    publisher: Publisher
    external_address: str
    memories: dict[str, Memory] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)

    def reconciler(self) -> Reconciler[World, Plan, Done, Report[CatalogStatus]]:
        """The pass over one Catalog."""
        return Reconciler(self.observe, decide, self.act, report, self.publish)

    async def observe(self, name: str) -> World | None:
        """None: the Catalog is gone, and nothing of it is left here."""
        raw = self.catalogs.get(name)
        shelved = self.shelf.get(name)
        if raw is None and shelved is None and self.jobs.state(name) is None and name not in self.memories:
            return None
        catalog = _parsed(raw)
        memory = self.memories.setdefault(name, Memory())
        return World(
            name=name,
            raw=raw,
            catalog=catalog,
            job=self._job(name, memory),
            served=_served(shelved),
            packages=self._difference(catalog, shelved),
            looked=memory.looked,
            content_url=f"http://{self.external_address}/catalogs/{name}/all.json",
            now=datetime.now(UTC),
        )

    def _job(self, name: str, memory: Memory) -> Job | None:
        match self.jobs.state(name):
            case Running(identity, progress):
                failed = memory.failed[1] if memory.failed and memory.failed[0] == identity else None
                return Reading(identity, waits=progress == "waiting for its turn", failed=failed)
            case Finished(identity, result):
                return Read(identity, result["image"], result["digest"])
            case Failed(identity, error, finished_at):
                error = _of_content(error)
                memory.failed = (identity, error)
                return Refused(identity, error, timedelta(seconds=time.monotonic() - finished_at))
            case None:
                return None

    def _difference(self, catalog: Catalog | None, shelved: Shelved | None) -> listing.Difference:
        if catalog is None or shelved is None:
            return listing.Difference()
        name = catalog.metadata.name
        there = (
            listing.existing(obj, self.settled.get(obj["metadata"]["name"]))
            for obj in self.packages.by_index(BY_CATALOG, name)
        )
        return listing.difference(name, catalog.metadata.uid, shelved.content.offers, there, self._holder)

    def _holder(self, name: str) -> tuple[str, str] | None:
        obj = self.packages.get(name)
        if obj is None:
            return None
        found = listing.existing(obj)
        return found.catalog, found.package

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out one Plan. Raises ApiError when a Package object cannot be written, OSError when the disk fails."""
        match plan:
            case Withdraw():
                await self._withdraw(world)
                return Done(plan)
            case Load(ref):
                self._load(world, ref)
                return Done(plan, AT_ONCE if world.packages else None)
            case Serve(record):
                await self._serve(world, record)
                return Done(plan, AT_ONCE)
            case Confirm():
                self._read(world)
                return Done(plan, AT_ONCE)
            case SyncPackages(batch):
                await self._sync(world, batch)
                return Done(plan, AT_ONCE if batch.writes else next_look(world))
            case Keep(after):
                return Done(plan, after)

    async def _withdraw(self, world: World) -> None:
        self.jobs.cancel(world.name)
        await self.shelf.drop(world.name)
        self.memories.pop(world.name, None)

    def _load(self, world: World, ref: str) -> None:
        failed = self.memories[world.name].failed
        bad = failed[1] if failed and failed[0] == ref and isinstance(failed[1], BadContent) else None
        state = self.jobs.state(world.name)
        if isinstance(state, Finished) or (isinstance(state, Failed) and isinstance(state.error, Blocked)):
            self.jobs.forget(world.name)  # ensure() starts again only what is Waiting
        known = world.served.record.digest if world.served else ""
        self.jobs.ensure(world.name, ref, self.loader.task(ref, known, bad))

    async def _serve(self, world: World, record: Record) -> None:
        try:
            await self.shelf.put(world.name, record)
        except LookupError:
            self.jobs.forget(world.name)  # removed or damaged since the job ended: it is read again
            return
        except OSError as error:
            text = f"the cache folder cannot be written: {error.strerror}"
            raise Waiting(StoreReason.DISK_FULL, text, timedelta(minutes=1)) from error
        self._read(world)

    def _read(self, world: World) -> None:
        self.jobs.forget(world.name)
        self.memories[world.name] = Memory(looked=world.now)

    async def _sync(self, world: World, batch: listing.Difference) -> None:
        """All of the batch is tried; the first error is raised."""
        turns = asyncio.Semaphore(WRITERS)

        async def in_turn(work: Any) -> None:
            async with turns:
                await work

        deletes = (self._delete(name, uid) for name, uid in batch.deletes)
        writes = (self._write(world, write) for write in batch.writes)
        outcomes = await asyncio.gather(*map(in_turn, (*deletes, *writes)), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _write(self, world: World, write: listing.Write) -> None:
        shelved = self.shelf.get(world.name)
        if shelved is None or world.catalog is None:
            return
        spec = await asyncio.to_thread(shelved.content.package_spec, write.package)
        wanted = listing.package_object(world.name, world.catalog.metadata.uid, write, spec)
        written = await self.client.apply(packages.KIND, wanted, MANAGER)
        if fingerprint(written.get("spec") or {}) == fingerprint(spec):
            self.settled.pop(write.name, None)
        else:
            self.settled[write.name] = written["metadata"]["resourceVersion"]
        self.packages.saw(written)

    async def _delete(self, name: str, uid: str) -> None:
        with suppress(NotFound):
            await self.client.delete(packages.KIND, name, uid=uid)
        self.settled.pop(name, None)

    async def publish(self, world: World, told: Report[CatalogStatus]) -> None:
        """Write the status of a Catalog that is there to stay."""
        if world.raw is not None and world.catalog is not None and not world.catalog.metadata.deleting:
            await self.publisher(dict(world.raw), told.status.dump(), told.transitions)


def _parsed(raw: Mapping[str, Any] | None) -> Catalog | None:
    return None if raw is None else Catalog.load(raw)


def _served(shelved: Shelved | None) -> Served | None:
    if shelved is None:
        return None
    summary = shelved.content.summary
    return Served(
        shelved.record,
        summary.package_names,
        summary.bundle_count,
        summary.blob_count,
        summary.problem_count,
        summary.problems,
        summary.notes,
    )


def _of_content(error: OlmError) -> OlmError:
    """A job that its input killed is bad content too: another digest under the same tag may do."""
    if isinstance(error, Blocked) and error.reason in list(JobReason):
        return BadContent(error.reason, error.message, "")
    return error
