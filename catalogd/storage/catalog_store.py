"""What is served under which Catalog's name, and the note on disk that lets a restart serve it again.

Filled by catalogd.catalog.reconciler on the leader and by catalogd.replication.follower on the other replicas, read by
catalogd.http.server for every request. One event loop uses it; what blocks (catalogd.storage.disk) runs in threads.
Content that was replaced stays for a while, so that who was told its digest can still have it. Content that no name stands
for any more is removed.

    noted on disk --> expected --(every byte verified)--> served --(another put)--> kept --(time, or the disk is full)--> removed
                         +--(damaged)--> lost: removed, and read again by who fills the shelf <--(damaged)--+

Content that cannot be read now (no file descriptor, no memory, no permission) is not damaged: what is served goes on, what is
expected stays so and is verified again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from catalogd.ingest.content import Content
from catalogd.storage.completion import run_to_completion
from catalogd.storage.disk import StoreDisk, log
from catalogd.storage.record import Record
from catalogd.storage.startup_verifier import CONTENT_FOLDER, MAX_CONCURRENT_VERIFICATIONS, StartupVerifier
from catalogd.storage.state_file import RetainedRecord, ServingState
from olmkit.store.checksums import Integrity
from olmkit.store.store import DISK_FULL_ERRNOS

RETENTION = timedelta(minutes=10)
"""How long replaced content stays."""
MAX_RETAINED_PER_CATALOG = 3
"""Replaced contents of one Catalog that stay: a tag that moves all the time must not fill the disk."""
CHECK_INTERVAL_SECONDS = 60.0
"""Between two looks at what is on disk."""
VERIFY_RETRY_SECONDS = 5.0
"""The same while there is content that could not be read."""


@dataclass(frozen=True)
class ServedCatalog:
    """One Catalog's content."""

    record: Record
    content: Content


class Superseded(Exception):
    """A record was not put: it no longer held when its turn came."""


@dataclass(frozen=True)
class _Retained:
    shelved: ServedCatalog
    until: float
    """By the monotonic clock."""


class CatalogStore:
    """Records by Catalog name in `root`/catalogs.json, content by digest in `root`/content; `keep` is for replaced content,
    `ahead` has begun to verify what is there.

    Raises OlmError(CacheUnusable) when `root` cannot be used.
    """

    def __init__(self, root: Path, keep: timedelta = RETENTION, ahead: StartupVerifier | None = None) -> None:
        self.content_folder = root / CONTENT_FOLDER
        self._disk = StoreDisk(root, ahead)
        self.content_store = self._disk.store
        self._keep = keep.total_seconds()
        self._shelved: dict[str, ServedCatalog] = {}
        self._kept: dict[str, tuple[_Retained, ...]] = {}
        self._unverified = ServingState()
        """What was noted by the process before this one and could not be verified yet."""
        self._lost: dict[str, str] = {}
        self._suspected: set[str] = set()
        self._is_noted = True
        self._callbacks: list[Callable[[], None]] = []
        self._change_callbacks: list[Callable[[str], None]] = []
        self._changes = asyncio.Lock()

    @property
    def names(self) -> Iterable[str]:
        """Catalogs that are served."""
        return tuple(self._shelved)

    @property
    def digests(self) -> set[str]:
        """All content that is served or kept."""
        return {each.record.digest for each in self._all()}

    @property
    def pending_names(self) -> frozenset[str]:
        """Catalogs that were served before this process began and will be as soon as their content is verified."""
        return frozenset(self._unverified.records)

    def get(self, name: str) -> ServedCatalog | None:
        """What is served under that name."""
        return self._shelved.get(name)

    def find(self, name: str, digest: str) -> ServedCatalog | None:
        """That content if it is served under the name, or was until a while ago."""
        now = time.monotonic()
        current = self._shelved.get(name)
        kept = (each.shelved for each in self._kept.get(name, ()) if each.until > now)
        return next((each for each in (current, *kept) if each and each.record.digest == digest), None)

    def corruption(self, name: str) -> str:
        """What is wrong with the content that was served under the name and is not any more; "" when there is none."""
        return self._lost.get(name, "")

    def on_any_change(self, callback: Callable[[], None]) -> None:
        """Call it after every change, in the event loop. It must be quick and must not raise."""
        self._callbacks.append(callback)

    def on_catalog_change(self, callback: Callable[[str], None]) -> None:
        """Call it with the name of a Catalog under which another record is served than before, or none, whoever changed it.

        In the event loop, and not for what restore() finds, but for what is verified later. It must be quick and must not raise.
        """
        self._change_callbacks.append(callback)

    async def restore(self) -> None:
        """Serve what was served before this process began, each content as soon as every byte of it is verified; remove all else
        but what cannot be read now, which tidy() verifies again.

        Survives whatever the disk holds. Raises OlmError(CacheUnusable) when it cannot be read what was served.
        """
        async with self._changes:
            self._unverified = self._disk.read_state()  # small; nobody may ask before it is known what is expected
            await self._verify()
            await asyncio.to_thread(self._disk.collect, self._wanted, timedelta(0))

    async def put(self, name: str, record: Record, fence: Callable[[], bool] = lambda: True) -> None:
        """Serve that content under the name from now on, if `fence` still holds at the moment it would be served.

        Raises LookupError when it is not in the store, or damaged, OSError when it cannot be noted and Superseded when the
        fence does not hold: what was served stays.
        """
        await run_to_completion(self._put(name, record, fence))

    async def _put(self, name: str, record: Record, fence: Callable[[], bool]) -> None:
        async with self._changes:
            shelved = ServedCatalog(record, await self._opened(record.digest))
            if not fence():
                raise Superseded
            try:
                await self._note(name, record)
            except OSError as error:
                if error.errno not in DISK_FULL_ERRNOS:
                    raise
                await self._let_kept_go()
                await self._note(name, record)
            if not fence():  # nothing is awaited between here and the change
                await self._note_if_possible()
                raise Superseded
            before, old = self.digests, self._shelved.get(name)
            self._kept[name] = self._kept_beside(name, record.digest)
            self._shelved[name] = shelved
            self._lost.pop(name, None)
            self._unverified = self._unverified.without(name)
            self._tell()
            if old is None or old.record != record:
                self._tell_of([name])
            await self._forget(before - self._wanted)

    async def remove(self, name: str) -> None:
        """Serve nothing under the name, and keep nothing: at once, also if the disk fails afterwards."""
        self._lost.pop(name, None)
        if (
            name not in self._shelved
            and not self._kept.get(name)
            and self._unverified.without(name) == self._unverified
        ):
            return
        before = self.digests
        self._remove(name)
        await run_to_completion(self._drop(name, before))

    async def _drop(self, name: str, before: set[str]) -> None:
        async with self._changes:
            self._remove(name)  # it may have been put meanwhile
            await self._forget(before - self._wanted)  # first, for the note needs room
            await self._note_if_possible()

    async def report_damage(self, digest: str) -> None:
        """Who reads that content found it too short or gone: if it is, it is served no longer, and removed."""
        if digest in self._suspected or digest not in self.digests:
            return
        self._suspected.add(digest)
        await run_to_completion(self._look_at(digest))

    async def _look_at(self, digest: str) -> None:
        try:
            async with self._changes:
                check = await asyncio.to_thread(self.content_store.check_integrity, digest)
                if check.state is Integrity.CORRUPT:
                    await self._lose(digest, check.why)
        finally:
            self._suspected.discard(digest)

    async def free_space(self) -> None:
        """The disk is full: what is only kept goes."""
        await run_to_completion(self._make_room())

    async def _make_room(self) -> None:
        async with self._changes:
            await self._let_kept_go()
            await self._note_if_possible()

    async def maintain(self) -> None:
        """End what was kept long enough, remove what nobody asked for, and look whether what is served is still on the disk."""
        await run_to_completion(self._tidy())

    async def _tidy(self) -> None:
        async with self._changes:
            now, before = time.monotonic(), self.digests
            living = {name: tuple(each for each in kept if each.until > now) for name, kept in self._kept.items()}
            if living != self._kept:
                self._kept, self._is_noted = living, False
                self._tell()
                await self._forget(before - self._wanted)
            for digest, fault in (await asyncio.to_thread(self._disk.check_sizes, self.digests)).items():
                await self._lose(digest, fault)
            await self._verify_again()
            if not self._is_noted:
                await self._note_if_possible()
            await asyncio.to_thread(self._disk.collect, self._wanted)

    async def run(self) -> None:
        """tidy() as often as it is due, until cancelled."""
        while True:
            ends = [each.until - time.monotonic() for kept in self._kept.values() for each in kept]
            look = VERIFY_RETRY_SECONDS if self._unverified.digests else CHECK_INTERVAL_SECONDS
            await asyncio.sleep(max(0.1, min([*ends, look])))
            await self.maintain()

    async def _verify(self) -> None:
        """Take what is noted, not verified, and intact; have what is damaged lost."""
        turns = asyncio.Semaphore(MAX_CONCURRENT_VERIFICATIONS)
        note = self._unverified
        current = {record.digest for record in note.records.values()}

        async def verify(digest: str) -> None:
            names = [name for name, record in note.records.items() if record.digest == digest]
            async with turns:
                content, check = await asyncio.to_thread(self._disk.verified, digest, names)
            if check.state is Integrity.UNKNOWN:
                return
            self._unverified = self._unverified.without_content(digest)
            if content is None:
                self._lost.update(dict.fromkeys(names, check.why))
            else:
                self._take(note, digest, content)

        await asyncio.gather(*map(verify, [*sorted(current), *sorted(note.digests - current)]))

    async def _verify_again(self) -> None:
        before = set(self._unverified.records)
        if not self._unverified.digests:
            return
        await self._verify()
        self._tell_of(sorted(before - self._unverified.records.keys()))

    @property
    def _wanted(self) -> set[str]:
        """All content that must stay on disk."""
        return self.digests | self._unverified.digests

    def _all(self) -> Iterator[ServedCatalog]:
        yield from self._shelved.values()
        for kept in self._kept.values():
            yield from (each.shelved for each in kept)

    async def _opened(self, digest: str) -> Content:
        """The content; one and the same for all names that share it."""
        shared = next((each.content for each in self._all() if each.record.digest == digest), None)
        if shared is not None and await asyncio.to_thread(shared.is_current):
            return shared
        return await asyncio.to_thread(self._disk.opened, digest)

    def _kept_beside(self, name: str, digest: str) -> tuple[_Retained, ...]:
        """What is kept for the name when content `digest` is served, the newest first."""
        now = time.monotonic()
        kept = list(self._kept.get(name, ()))
        if (old := self._shelved.get(name)) is not None:
            kept.insert(0, _Retained(old, now + self._keep))
        others = (each for each in kept if each.shelved.record.digest != digest and each.until > now)
        return tuple(others)[:MAX_RETAINED_PER_CATALOG]

    async def _note(self, name: str = "", record: Record | None = None) -> None:
        """Note what is served, with `record` under `name` if it is given. Raises OSError."""
        records = dict(self._unverified.records)
        records.update((each, shelved.record) for each, shelved in self._shelved.items())
        kept = dict(self._kept)
        if record is not None:
            records[name], kept[name] = record, self._kept_beside(name, record.digest)
        clock = time.time() - time.monotonic()
        flat = [(catalog, each) for catalog, several in kept.items() for each in several]
        lines = [RetainedRecord(catalog, each.shelved.record, each.until + clock) for catalog, each in flat]
        await asyncio.to_thread(self._disk.write_state, records, [*lines, *self._unverified.retained])
        self._is_noted = True

    async def _note_if_possible(self) -> None:
        try:
            await self._note()
        except OSError as error:
            self._is_noted = False
            log.warning("what is served cannot be noted, trying again", extra={"error": str(error)})

    async def _forget(self, digests: set[str]) -> None:
        if digests:
            await asyncio.to_thread(self._disk.forget, digests)

    def _remove(self, name: str) -> None:
        was_served = self._shelved.pop(name, None) is not None
        self._kept.pop(name, None)
        self._unverified = self._unverified.without(name)
        self._tell()
        if was_served:
            self._tell_of([name])

    async def _lose(self, digest: str, fault: str) -> None:
        names = [name for name, shelved in self._shelved.items() if shelved.record.digest == digest]
        self._disk.log_damage(digest, fault, names)
        for name in names:
            del self._shelved[name]
            self._lost[name] = fault
        for name, kept in list(self._kept.items()):
            self._kept[name] = tuple(each for each in kept if each.shelved.record.digest != digest)
        self._tell()
        await self._forget({digest})
        await self._note_if_possible()
        self._tell_of(names)

    async def _let_kept_go(self) -> None:
        before = self.digests
        self._kept = {}
        self._tell()
        await self._forget(before - self._wanted)

    def _take(self, note: ServingState, digest: str, content: Content) -> None:
        """Verified content, for all names that were noted with it."""
        for name, record in note.records.items():
            if record.digest == digest:
                self._shelved[name] = ServedCatalog(record, content)
        for each in note.retained:
            left = min(each.until - time.time(), self._keep)  # the clock may have been set since
            if each.record.digest == digest and each.catalog in note.records and left > 0:
                kept = _Retained(ServedCatalog(each.record, content), time.monotonic() + left)
                self._kept[each.catalog] = (*self._kept.get(each.catalog, ()), kept)
        self._tell()

    def _tell(self) -> None:
        for callback in self._callbacks:
            callback()

    def _tell_of(self, names: Iterable[str]) -> None:
        for name in names:
            for callback in self._change_callbacks:
                callback(name)
