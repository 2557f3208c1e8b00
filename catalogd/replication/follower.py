"""Serves on this replica what the leader serves, from a copy on its own disk.

Runs on every replica, and does nothing while this one leads. Every two seconds it requests the leader's records, copies the
content that is not stored here, verifies it and puts it in the store. Content that is served here stays served while the leader
is away; it is removed only when the informer of this replica shows that its Catalog was deleted or made Unavailable, so a leader
that lost its disk removes nothing here. Content of a deleted Catalog is never served under a new one of the same name: records
and Catalogs are compared by uid.

The leader may change at each await. So a response of a leader is valid only while its term of the lease lasts, as far as this
replica knows: the store checks that again at the moment it serves, and nothing of it is kept when this replica becomes the
leader.

    a record of the leader --> the same record is served here: nothing
                           --> the content is served or retained here: put under the name
                           --> otherwise: copied (a few at a time), then put
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
from olmkit.store.disk_errors import DiskReason

POLL_INTERVAL_SECONDS = 2.0
MAX_CONCURRENT_COPIES = 4
"""Contents that are copied at the same time."""
COPY_RETRY_BACKOFF = Backoff(first=1.0, cap=30.0)

COPIES_TOTAL = Counter("catalogd_replication_copies_total", "Contents copied from the leader, by result.", ["result"])
CATALOGS_BEHIND = Gauge(
    "catalogd_replication_behind", "Catalogs that the leader serves and this replica does not serve yet."
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Leader:
    """The replica that leads, if it is not this one: its address (host:port; "" when unknown) and its term of the lease."""

    address: str
    term: Term | None = None


@dataclass
class _FailedCopy:
    """A content that could not be copied. `retry_at` is by the monotonic clock."""

    failures: int
    message: str
    retry_at: float


class Follower:
    """Follows the replica that `leader` returns; None while this replica leads.

    `desired` returns the uids of the Catalogs that should be served, by name; None until the API server has answered. `peers`
    is how requests to replicas are made. `poll_interval` is in seconds.
    """

    def __init__(
        self,
        catalog_store: CatalogStore,
        leader: Callable[[], Leader | None],
        desired: Callable[[], Mapping[str, str] | None],
        peers: PeerRequestOptions,
        poll_interval: float = POLL_INTERVAL_SECONDS,
    ) -> None:
        self._catalog_store = catalog_store
        self._leader = leader
        self._desired = desired
        self._peers = peers
        self._poll_interval = poll_interval
        self._records: Mapping[str, Record] = {}
        self._records_of: Leader | None = None
        """The leader that sent them."""
        self._copies: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, _FailedCopy] = {}
        self._problem = ""
        self._has_polled = False
        self._copy_slots = asyncio.Semaphore(MAX_CONCURRENT_COPIES)
        self._wake_up = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False) as session:
            source = LeaderClient(session, self._peers)
            copier = Copier(self._catalog_store.content_store, source, self._address)
            try:
                while True:
                    self._wake_up.clear()
                    await self._poll(source, copier)
                    with suppress(TimeoutError):  # not wait_for: that may swallow a cancellation
                        async with asyncio.timeout(self._poll_interval):
                            await self._wake_up.wait()
            finally:
                await self._cancel(set(self._copies))

    async def _poll(self, source: LeaderClient, copier: Copier) -> None:
        """Poll the leader once. Raises nothing."""
        leader = self._leader()
        if leader is None:
            source.forget()
            await self._reset()
            return
        await self._remove_undesired()
        try:
            if leader.address:
                state = await source.records(leader.address)
                if self._leader() != leader:
                    self._wake_up.set()
                    return
                self._records, self._records_of = state.records, leader
            if leader.address or self._has_polled:  # at the start, this replica may be about to lead
                self._log_problem("" if leader.address else "the leader is not known")
        except ReplicationError as error:
            self._log_problem(str(error))
        self._has_polled = True
        await self._synchronize(copier)

    async def _reset(self) -> None:
        """Forget the previous leader, because this replica leads."""
        self._records, self._records_of = {}, None
        await self._cancel(set(self._copies))
        self._failed.clear()
        CATALOGS_BEHIND.set(0)

    async def _remove_undesired(self) -> None:
        for name in self._catalog_store.names:
            served = self._catalog_store.get(name)
            if served is not None and self._leader() is not None and not self._is_desired(name, served.record):
                await self._catalog_store.remove(name)

    async def _synchronize(self, copier: Copier) -> None:
        """Put the content that is stored, start to copy what is not, and cancel copies that are not needed any more."""
        missing = self._missing()
        CATALOGS_BEHIND.set(len(missing))
        needed = {record.digest for record in missing.values()}
        await self._cancel(self._copies.keys() - needed)
        self._failed = {digest: failed for digest, failed in self._failed.items() if digest in needed}
        for name, record in missing.items():
            if record.digest in self._catalog_store.digests:
                await self._put(name, record)
            elif record.digest not in self._copies and self._is_due(record.digest):
                copy = asyncio.create_task(self._copy(copier, record.digest), name=f"copy {record.digest}")
                self._copies[record.digest] = copy

    def _missing(self) -> dict[str, Record]:
        """Records of the leader that should be served here and are not, by name."""
        desired = self._desired()
        return {
            name: record
            for name, record in self._records.items()
            if _is_desired(desired, name, record)
            and ((served := self._catalog_store.get(name)) is None or served.record != record)
        }

    def _is_desired(self, name: str, record: Record) -> bool:
        return _is_desired(self._desired(), name, record)

    def _is_current(self, name: str, record: Record) -> bool:
        """Report whether the current leader serves this record under the name, as far as this replica knows."""
        is_still_leader = self._records_of is not None and self._leader() == self._records_of
        return is_still_leader and self._records.get(name) == record and self._is_desired(name, record)

    def _address(self) -> str:
        leader = self._leader()
        return leader.address if leader else ""

    def _is_due(self, digest: str) -> bool:
        failed = self._failed.get(digest)
        return failed is None or time.monotonic() >= failed.retry_at

    async def _copy(self, copier: Copier, digest: str) -> None:
        started = time.monotonic()
        try:
            async with self._copy_slots:
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
            self._wake_up.set()

    async def _put(self, name: str, record: Record) -> None:
        try:
            await self._catalog_store.put(name, record, lambda: self._is_current(name, record))
        except Superseded:
            pass  # the next poll asks the current leader
        except LookupError:
            pass  # corrupt, and removed: copied again
        except OSError as error:
            await self._fail(record.digest, error)

    async def _fail(self, digest: str, error: Exception) -> None:
        is_disk_full = isinstance(error, Waiting) and error.reason == DiskReason.DISK_FULL
        COPIES_TOTAL.labels("disk full" if is_disk_full else "failure").inc()
        before = self._failed.get(digest)
        failures = before.failures + 1 if before else 1
        message = str(error)
        if before is None or before.message != message:
            log.warning("content cannot be copied, trying again", extra={"digest": digest, "error": message})
        self._failed[digest] = _FailedCopy(failures, message, time.monotonic() + COPY_RETRY_BACKOFF.delay(failures))
        if is_disk_full:
            await self._catalog_store.free_space()

    async def _cancel(self, digests: Collection[str]) -> None:
        copies = [self._copies.pop(digest) for digest in list(digests)]
        for copy in copies:
            copy.cancel()
        if copies:
            await asyncio.wait(copies)

    def _log_problem(self, problem: str) -> None:
        """Log a problem when it changes; "" when there is none."""
        if problem != self._problem:
            if problem:
                log.warning(
                    "the leader cannot be followed; this replica keeps serving its copies", extra={"error": problem}
                )
            else:
                log.info("following the leader")
        self._problem = problem


def _is_desired(desired: Mapping[str, str] | None, name: str, record: Record) -> bool:
    """Report whether the record belongs to a Catalog that should be served. True while the Catalogs are unknown."""
    if desired is None:
        return True
    uid = desired.get(name)
    return uid is not None and record.belongs_to(uid)
