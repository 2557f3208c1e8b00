"""The content that is served under the name of each Catalog, and the state file from which a restarted process serves it again.

Filled by catalogd.catalog.reconciler on the leader and by catalogd.replication.follower on the other replicas, read by
catalogd.http.server for every request. Blocking work (catalogd.storage.disk) runs in threads. Replaced content is retained for a
while, so that clients that know its digest can still read it. Content that no Catalog refers to is removed.

    in the state file --> pending --(every byte verified)--> served --(replaced)--> retained --(time, or a full disk)--> removed
                             +--(corrupt)--> removed; the owner of the store loads it again <--(corrupt)--+

Content that cannot be read at the moment (no file descriptor, no memory, no permission) is not corrupt: served content stays
served, pending content stays pending and is verified again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from catalogd.ingest.content import Content
from catalogd.storage.disk import StoreDisk, log, run_to_completion
from catalogd.storage.record import Record
from catalogd.storage.startup_verifier import CONTENT_DIRECTORY, MAX_CONCURRENT_VERIFICATIONS, StartupVerifier
from catalogd.storage.state_file import RetainedRecord, ServingState
from olmkit.store.checksums import Integrity
from olmkit.store.disk_errors import DISK_FULL_ERRNOS

RETENTION = timedelta(minutes=10)
"""The time for which replaced content is retained."""
MAX_RETAINED_PER_CATALOG = 3
"""Replaced contents that are retained per Catalog: a tag that moves all the time must not fill the disk."""
CHECK_INTERVAL_SECONDS = 60.0
"""The interval between two checks of the disk."""
VERIFY_RETRY_SECONDS = 5.0
"""The same while there is content that could not be read."""


@dataclass(frozen=True)
class ServedCatalog:
    """The content of one Catalog."""

    record: Record
    content: Content


def owned(served: ServedCatalog | None, uid: str | None) -> ServedCatalog | None:
    """The content if it belongs to the Catalog with this uid ("": there is none; None: unknown)."""
    if served is None or uid is None:
        return served
    return served if uid and served.record.belongs_to(uid) else None


class Superseded(Exception):
    """A record was not put, because its fence did not hold any more."""


@dataclass(frozen=True)
class _Retained:
    served: ServedCatalog
    until: float
    """A time of the monotonic clock."""


class CatalogStore:
    """Records by Catalog name in `root`/catalogs.json, content by digest in `root`/content.

    `retention` is for replaced content. `startup_verifier` has started to verify the content that is stored. Raises
    OlmError(CacheUnusable) when `root` cannot be used.
    """

    def __init__(
        self, root: Path, retention: timedelta = RETENTION, startup_verifier: StartupVerifier | None = None
    ) -> None:
        self.content_directory = root / CONTENT_DIRECTORY
        self._disk = StoreDisk(root, startup_verifier)
        self.content_store = self._disk.store
        self._retention = retention.total_seconds()
        self._served: dict[str, ServedCatalog] = {}
        self._retained: dict[str, tuple[_Retained, ...]] = {}
        self._unverified = ServingState()
        """The content that the previous process served and that is not verified yet."""
        self._corruption: dict[str, str] = {}
        self._suspected: set[str] = set()
        self._is_state_written = True
        self._callbacks: list[Callable[[], None]] = []
        self._change_callbacks: list[Callable[[str], None]] = []
        self._changes = asyncio.Lock()

    @property
    def names(self) -> Iterable[str]:
        """The Catalogs that are served."""
        return tuple(self._served)

    @property
    def digests(self) -> set[str]:
        """The digests of the content that is served or retained."""
        return {each.record.digest for each in self._all()}

    @property
    def pending_names(self) -> frozenset[str]:
        """The Catalogs that the previous process served, and that are served again once their content is verified."""
        return frozenset(self._unverified.records)

    def get(self, name: str) -> ServedCatalog | None:
        """The content that is served under the name; None if nothing is."""
        return self._served.get(name)

    def owned(self, uid: Callable[[str], str | None]) -> dict[str, ServedCatalog]:
        """The content that is served of the Catalogs that exist, sorted by name. `uid` returns the uid of a Catalog, as for
        owned()."""
        found = ((name, owned(served, uid(name))) for name, served in sorted(self._served.items()))
        return {name: served for name, served in found if served is not None}

    def find(self, name: str, digest: str) -> ServedCatalog | None:
        """The content of that digest, if it is served under the name or retained for it."""
        now = time.monotonic()
        current = self._served.get(name)
        retained = (each.served for each in self._retained.get(name, ()) if each.until > now)
        return next((each for each in (current, *retained) if each and each.record.digest == digest), None)

    def corruption(self, name: str) -> str:
        """Explain why content of that name was removed as corrupt, or was gone when it was to be served; "" if content has been
        served since."""
        return self._corruption.get(name, "")

    def on_any_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` after every change, in the event loop. It must be quick and must not raise."""
        self._callbacks.append(callback)

    def on_catalog_change(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with the name of a Catalog whenever another record, or none, is served under it.

        It is called in the event loop, for all changes but those of restore(). It must be quick and must not raise.
        """
        self._change_callbacks.append(callback)

    async def restore(self) -> None:
        """Serve what the previous process served, each content as soon as every byte of it is verified.

        Removes all other content, except what cannot be read at the moment: maintain() verifies it again. Never fails because
        of what is stored. Raises OlmError(CacheUnusable) when the state file cannot be read.
        """
        async with self._changes:
            # Small, so it is read here: no request may come before pending_names is known.
            self._unverified = self._disk.read_state()
            await self._verify()
            await asyncio.to_thread(self._disk.collect, self._referenced, timedelta(0))

    async def put(self, name: str, record: Record, fence: Callable[[], bool] = lambda: True) -> None:
        """Serve this content under the name, if `fence` still holds at that moment.

        Raises LookupError when the content is not stored or is corrupt, OSError when the state file cannot be written and
        Superseded when the fence does not hold. Then what was served stays, unless it is this content.
        """
        await run_to_completion(self._put(name, record, fence))

    async def _put(self, name: str, record: Record, fence: Callable[[], bool]) -> None:
        async with self._changes:
            try:
                served = ServedCatalog(record, await self._open(record.digest))
            except LookupError as error:
                await self._lose(name, record.digest, str(error))
                raise
            if not fence():
                raise Superseded
            try:
                await self._write_state(name, record)
            except OSError as error:
                if error.errno not in DISK_FULL_ERRNOS:
                    raise
                await self._drop_retained()
                await self._write_state(name, record)
            if not fence():  # nothing is awaited between here and the change
                await self._try_write_state()
                raise Superseded
            before, old = self.digests, self._served.get(name)
            self._retained[name] = self._retained_with(name, record.digest)
            self._served[name] = served
            self._corruption.pop(name, None)
            self._unverified = self._unverified.without(name)
            self._notify()
            if old is None or old.record != record:
                self._notify_of([name])
            await self._remove_content(before - self._referenced)

    async def remove(self, name: str) -> None:
        """Stop serving the name immediately, and retain nothing for it. Does not depend on the disk."""
        self._corruption.pop(name, None)
        if (
            name not in self._served
            and not self._retained.get(name)
            and self._unverified.without(name) == self._unverified
        ):
            return
        before = self.digests
        self._remove(name)
        await run_to_completion(self._finish_removal(name, before))

    async def _finish_removal(self, name: str, before: set[str]) -> None:
        async with self._changes:
            self._remove(name)  # it may have been put in the meantime
            await self._remove_content(before - self._referenced)  # first: the state file needs space
            await self._try_write_state()

    async def report_damage(self, digest: str) -> None:
        """Check content that a reader found truncated or missing. Corrupt content is removed and not served any more."""
        if digest in self._suspected or digest not in self.digests:
            return
        self._suspected.add(digest)
        await run_to_completion(self._check_damage(digest))

    async def _check_damage(self, digest: str) -> None:
        try:
            async with self._changes:
                check = await asyncio.to_thread(self.content_store.check_integrity, digest)
                if check.state is Integrity.CORRUPT:
                    await self._remove_corrupt(digest, check.why)
        finally:
            self._suspected.discard(digest)

    async def free_space(self) -> None:
        """Remove retained content, because the disk is full."""
        await run_to_completion(self._free_space())

    async def _free_space(self) -> None:
        async with self._changes:
            await self._drop_retained()
            await self._try_write_state()

    async def maintain(self) -> None:
        """Remove content whose retention has ended or that nothing refers to, and check that served content is still on disk."""
        await run_to_completion(self._maintain())

    async def _maintain(self) -> None:
        async with self._changes:
            now, before = time.monotonic(), self.digests
            current = {name: tuple(each for each in kept if each.until > now) for name, kept in self._retained.items()}
            if current != self._retained:
                self._retained, self._is_state_written = current, False
                self._notify()
                await self._remove_content(before - self._referenced)
            for digest, fault in (await asyncio.to_thread(self._disk.check_sizes, self.digests)).items():
                await self._remove_corrupt(digest, fault)
            await self._verify_again()
            if not self._is_state_written:
                await self._try_write_state()
            await asyncio.to_thread(self._disk.collect, self._referenced)

    async def run(self) -> None:
        """Call maintain() whenever it is due, until cancelled."""
        while True:
            ends = [each.until - time.monotonic() for retained in self._retained.values() for each in retained]
            interval = VERIFY_RETRY_SECONDS if self._unverified.digests else CHECK_INTERVAL_SECONDS
            await asyncio.sleep(max(0.1, min([*ends, interval])))
            await self.maintain()

    async def _verify(self) -> None:
        """Verify all unverified content: serve what is intact, remove what is corrupt."""
        slots = asyncio.Semaphore(MAX_CONCURRENT_VERIFICATIONS)
        state = self._unverified
        current = {record.digest for record in state.records.values()}

        async def verify(digest: str) -> None:
            names = [name for name, record in state.records.items() if record.digest == digest]
            async with slots:
                content, check = await asyncio.to_thread(self._disk.verified, digest, names)
            if check.state is Integrity.UNKNOWN:
                return
            self._unverified = self._unverified.without_content(digest)
            if content is None:
                self._corruption.update(dict.fromkeys(names, check.why))
            else:
                self._serve_verified(state, digest, content)

        await asyncio.gather(*map(verify, [*sorted(current), *sorted(state.digests - current)]))

    async def _verify_again(self) -> None:
        before = set(self._unverified.records)
        if not self._unverified.digests:
            return
        await self._verify()
        self._notify_of(sorted(before - self._unverified.records.keys()))

    @property
    def _referenced(self) -> set[str]:
        """The digests of the content that must stay on disk."""
        return self.digests | self._unverified.digests

    def _all(self) -> Iterator[ServedCatalog]:
        yield from self._served.values()
        for retained in self._retained.values():
            yield from (each.served for each in retained)

    async def _open(self, digest: str) -> Content:
        """The content; one object for all names that share it."""
        shared = next((each.content for each in self._all() if each.record.digest == digest), None)
        if shared is not None and await asyncio.to_thread(shared.is_current):
            return shared
        return await asyncio.to_thread(self._disk.opened, digest)

    def _retained_with(self, name: str, digest: str) -> tuple[_Retained, ...]:
        """The content that is retained for the name once content `digest` is served, the newest first."""
        now = time.monotonic()
        retained = list(self._retained.get(name, ()))
        if (old := self._served.get(name)) is not None:
            retained.insert(0, _Retained(old, now + self._retention))
        others = (each for each in retained if each.served.record.digest != digest and each.until > now)
        return tuple(others)[:MAX_RETAINED_PER_CATALOG]

    async def _write_state(self, name: str = "", record: Record | None = None) -> None:
        """Write what is served, with `record` under `name` if it is given. Raises OSError."""
        records = dict(self._unverified.records)
        records.update((each, served.record) for each, served in self._served.items())
        retained = dict(self._retained)
        if record is not None:
            records[name], retained[name] = record, self._retained_with(name, record.digest)
        clock = time.time() - time.monotonic()
        flat = [(catalog, each) for catalog, several in retained.items() for each in several]
        lines = [RetainedRecord(catalog, each.served.record, each.until + clock) for catalog, each in flat]
        await asyncio.to_thread(self._disk.write_state, records, [*lines, *self._unverified.retained])
        self._is_state_written = True

    async def _try_write_state(self) -> None:
        try:
            await self._write_state()
        except OSError as error:
            self._is_state_written = False
            log.warning("the state file cannot be written, trying again", extra={"error": str(error)})

    async def _remove_content(self, digests: set[str]) -> None:
        if digests:
            await asyncio.to_thread(self._disk.remove, digests)

    def _remove(self, name: str) -> None:
        was_served = self._served.pop(name, None) is not None
        self._retained.pop(name, None)
        self._unverified = self._unverified.without(name)
        self._notify()
        if was_served:
            self._notify_of([name])

    async def _remove_corrupt(self, digest: str, fault: str) -> None:
        names = [name for name, served in self._served.items() if served.record.digest == digest]
        self._disk.log_damage(digest, fault, names)
        for name in names:
            del self._served[name]
            self._corruption[name] = fault
        for name, retained in list(self._retained.items()):
            self._retained[name] = tuple(each for each in retained if each.served.record.digest != digest)
        self._notify()
        await self._remove_content({digest})
        await self._try_write_state()
        self._notify_of(names)

    async def _lose(self, name: str, digest: str, fault: str) -> None:
        """Content that was to be served under the name is gone: no name has it."""
        if digest in self.digests:
            await self._remove_corrupt(digest, fault)
        self._corruption[name] = fault

    async def _drop_retained(self) -> None:
        before = self.digests
        self._retained = {}
        self._notify()
        await self._remove_content(before - self._referenced)

    def _serve_verified(self, state: ServingState, digest: str, content: Content) -> None:
        """Serve verified content under all names that the state file gives it."""
        for name, record in state.records.items():
            if record.digest == digest:
                self._served[name] = ServedCatalog(record, content)
        for each in state.retained:
            left = min(each.until - time.time(), self._retention)  # the clock may have been set since
            if each.record.digest == digest and each.catalog in state.records and left > 0:
                retained = _Retained(ServedCatalog(each.record, content), time.monotonic() + left)
                self._retained[each.catalog] = (*self._retained.get(each.catalog, ()), retained)
        self._notify()

    def _notify(self) -> None:
        for callback in self._callbacks:
            callback()

    def _notify_of(self, names: Iterable[str]) -> None:
        for name in names:
            for callback in self._change_callbacks:
                callback(name)
