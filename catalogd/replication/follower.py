"""A replica that does not lead: serves what the leader serves, from a copy of its own on its own disk.

Wired by catalogd.setup, runs on every replica and rests while this one leads. Asks the leader every two seconds what it
serves, copies what is not here by digest, verifies it and puts it on the shelf. What it has it keeps serving, whoever is away; it
takes from the shelf only what its own informer says is gone or withdrawn: a leader that lost its disk has lost nothing here. What
belongs to a deleted Catalog is not put under the next one of the same name: records and Catalogs are compared by uid.

Who leads may change at each await. So what a leader answered counts as long as its term of the lease runs, as far as this replica
knows, and not an instant longer: the shelf asks again when it serves, and while this replica leads nothing of before is kept.

    the leader's records --> here with the same record: nothing
                         --> content is on the shelf: put under the name
                         --> content is not here: copied (a few at a time), then put
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

import aiohttp
from prometheus_client import Counter, Gauge

from catalogd.replication.client import LeaderClient, PeerRequestOptions, ReplicationError
from catalogd.replication.copier import Copier
from catalogd.storage.catalog_store import CatalogStore, Superseded
from catalogd.storage.record import Record
from olmkit.errors import OlmError, Waiting
from olmkit.runtime.backoff import Backoff
from olmkit.runtime.election import Term
from olmkit.store.store import StoreReason

POLL_SECONDS = 2.0
MAX_CONCURRENT_COPIES = 4
"""Contents copied at a time."""
COPY_BACKOFF = Backoff(first=1.0, cap=30.0)

COPIES_TOTAL = Counter("catalogd_replication_copies_total", "Contents copied from the leader, by result.", ["result"])
CATALOGS_BEHIND = Gauge("catalogd_replication_behind", "Catalogs that the leader serves and this replica not yet.")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Leader:
    """Another replica that leads: where it is asked (host:port; "" when that is not known), and its term of the lease."""

    address: str
    term: Term | None = None


@dataclass
class _Failed:
    """A content that could not be copied: how often, why the last time, and when it is tried again by the monotonic clock."""

    times: int
    text: str
    again_at: float


class Follower:
    """`leader` says who leads (None: this replica does); `wanted` gives the Catalogs that are to be served, uid by name (None
    until the API server has been asked); `peers` is how replicas are asked."""

    def __init__(
        self,
        shelf: CatalogStore,
        leader: Callable[[], Leader | None],
        wanted: Callable[[], Mapping[str, str] | None],
        peers: PeerRequestOptions,
        poll: float = POLL_SECONDS,
    ) -> None:
        self._shelf = shelf
        self._leader = leader
        self._wanted = wanted
        self._peers = peers
        self._poll = poll
        self._records: Mapping[str, Record] = {}
        self._records_of: Leader | None = None
        """Who answered them."""
        self._copies: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, _Failed] = {}
        self._trouble = ""
        self._has_looked = False
        self._turns = asyncio.Semaphore(MAX_CONCURRENT_COPIES)
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False) as session:
            source = LeaderClient(session, self._peers)
            copier = Copier(self._shelf.content_store, source, self._address)
            try:
                while True:
                    self._woken.clear()
                    await self._look(source, copier)
                    with suppress(TimeoutError):  # not wait_for: that may swallow a cancellation
                        async with asyncio.timeout(self._poll):
                            await self._woken.wait()
            finally:
                await self._cancel(set(self._copies))

    async def _look(self, source: LeaderClient, copier: Copier) -> None:
        """One look at the leader. Raises nothing."""
        leader = self._leader()
        if leader is None:
            source.forget()
            await self._rest()
            return
        await self._drop_unwanted()
        try:
            if leader.address:
                note = await source.records(leader.address)
                if self._leader() != leader:
                    self._woken.set()
                    return
                self._records, self._records_of = note.records, leader
            if leader.address or self._has_looked:  # at the start somebody is about to lead, this replica perhaps
                self._say("" if leader.address else "the leader is not known")
        except ReplicationError as error:
            self._say(str(error))
        self._has_looked = True
        await self._follow(copier)

    async def _rest(self) -> None:
        """This replica leads: nothing that others answered before counts any more."""
        self._records, self._records_of = {}, None
        await self._cancel(set(self._copies))
        self._failed.clear()
        CATALOGS_BEHIND.set(0)

    async def _drop_unwanted(self) -> None:
        for name in self._shelf.names:
            shelved = self._shelf.get(name)
            if shelved is not None and self._leader() is not None and not self._is_wanted(name, shelved.record):
                await self._shelf.remove(name)

    async def _follow(self, copier: Copier) -> None:
        """Put what is here, have copied what is not, stop copying what nobody wants."""
        missing = self._missing()
        CATALOGS_BEHIND.set(len(missing))
        needed = {record.digest for record in missing.values()}
        await self._cancel(self._copies.keys() - needed)
        self._failed = {digest: failed for digest, failed in self._failed.items() if digest in needed}
        for name, record in missing.items():
            if record.digest in self._shelf.digests:
                await self._put(name, record)
            elif record.digest not in self._copies and self._is_due(record.digest):
                copy = asyncio.create_task(self._copy(copier, record.digest), name=f"copy {record.digest}")
                self._copies[record.digest] = copy

    def _missing(self) -> dict[str, Record]:
        """Records of the leader that are not served here but ought to be, by name."""
        wanted = self._wanted()
        return {
            name: record
            for name, record in self._records.items()
            if _is_among(wanted, name, record) and ((here := self._shelf.get(name)) is None or here.record != record)
        }

    def _is_wanted(self, name: str, record: Record) -> bool:
        return _is_among(self._wanted(), name, record)

    def _is_current(self, name: str, record: Record) -> bool:
        """Whether that is what the leader of now serves under the name, as far as this replica knows."""
        leads_still = self._records_of is not None and self._leader() == self._records_of
        return leads_still and self._records.get(name) == record and self._is_wanted(name, record)

    def _address(self) -> str:
        leader = self._leader()
        return leader.address if leader else ""

    def _is_due(self, digest: str) -> bool:
        failed = self._failed.get(digest)
        return failed is None or time.monotonic() >= failed.again_at

    async def _copy(self, copier: Copier, digest: str) -> None:
        started = time.monotonic()
        try:
            async with self._turns:
                await copier.copy(digest)
            COPIES_TOTAL.labels("success").inc()
            log.info("content copied", extra={"digest": digest, "seconds": round(time.monotonic() - started, 2)})
            self._failed.pop(digest, None)
            for name, record in self._missing().items():
                if record.digest == digest:
                    await self._put(name, record)
        except (ReplicationError, OlmError, OSError, ValueError) as error:
            await self._fail(digest, error)
        finally:
            if self._copies.get(digest) is asyncio.current_task():
                del self._copies[digest]
            self._woken.set()

    async def _put(self, name: str, record: Record) -> None:
        try:
            await self._shelf.put(name, record, lambda: self._is_current(name, record))
        except Superseded:
            pass  # the next look asks whoever leads now
        except LookupError:
            pass  # damaged since, and removed: copied again
        except OSError as error:
            await self._fail(record.digest, error)

    async def _fail(self, digest: str, error: Exception) -> None:
        is_full = isinstance(error, Waiting) and error.reason == StoreReason.DISK_FULL
        COPIES_TOTAL.labels("disk full" if is_full else "failure").inc()
        before = self._failed.get(digest)
        times = before.times + 1 if before else 1
        text = str(error)
        if before is None or before.text != text:
            log.warning("content cannot be copied, trying again", extra={"digest": digest, "error": text})
        self._failed[digest] = _Failed(times, text, time.monotonic() + COPY_BACKOFF.delay(times))
        if is_full:
            await self._shelf.free_space()

    async def _cancel(self, digests: Collection[str]) -> None:
        copies = [self._copies.pop(digest) for digest in list(digests)]
        for copy in copies:
            copy.cancel()
        if copies:
            await asyncio.wait(copies)

    def _say(self, trouble: str) -> None:
        """Once, until it changes."""
        if trouble != self._trouble:
            if trouble:
                log.warning("the leader cannot be followed, what is here is served", extra={"error": trouble})
            else:
                log.info("following the leader")
        self._trouble = trouble


def _is_among(wanted: Mapping[str, str] | None, name: str, record: Record) -> bool:
    """Whether the record belongs to one of these Catalogs; to any while they are not known."""
    if wanted is None:
        return True
    uid = wanted.get(name)
    return uid is not None and record.belongs_to(uid)
