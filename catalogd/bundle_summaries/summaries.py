"""Answers requests for the summary of a bundle: from the store, or by a job whose end the client waits for.

    kept, and the Catalog has proved that it may read the image    Ready
    a job for it waits or runs                                     Pending, or what the catalog states of it
    it could not be made a short time ago                          Absent with the reason, or what the catalog states of it
    too many jobs wait                                             Busy

Only images that a served catalog names are read, with the credentials of that Catalog. What a Catalog states in properties
olm.bundle.object is reduced by a job too, and kept in memory. On the replica that leads; the others ask it (leader_summaries).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from catalogd.bundle_summaries.summary_store import Proof, SummaryStore
from catalogd.bundle_summaries.summary_task import StatedObjects, SummaryRequest, SummaryResult
from olmkit.errors import ApiError, Blocked, OlmError
from olmkit.jobs.job import Task
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished
from olmkit.sources.credentials import BadSecret

MAX_CONCURRENT_JOBS = 2
MAX_WAITING_JOBS = 64
FAILURE_SECONDS, TEMPORARY_FAILURE_SECONDS = 600.0, 30.0
"""The time for which a failure is the answer: of content, or of a registry that may answer later."""
MAX_FAILURES = 1024
MAX_STATED = 64
"""Summaries in memory of what catalogs state."""
STATED_WAIT_SECONDS = 5.0
"""The longest time that a request waits for what the catalog states of a bundle."""
TAG_SECONDS = 600.0
"""The time for which a tag is not resolved again."""


@dataclass(frozen=True)
class AskedBundle:
    """A bundle of a served catalog. `image` is "" if its blob has none; `stated`: its manifests, if the catalog has them."""

    catalog: str
    uid: str
    package: str
    name: str
    image: str
    stated: StatedObjects | None = None


@dataclass(frozen=True)
class Ready:
    """A compressed summary. `digest` is that of the image; "" for what the catalog states."""

    data: bytes
    digest: str = ""


@dataclass(frozen=True)
class Pending:
    """The summary is being made."""


@dataclass(frozen=True)
class Busy:
    """Too many summaries are being made."""


@dataclass(frozen=True)
class Absent:
    """There is no summary, for that reason."""

    why: str


Answer: TypeAlias = Ready | Pending | Busy | Absent
SummaryTask: TypeAlias = Task[SummaryRequest, SummaryResult]


class Tasks:
    """Makes the tasks of summary jobs: implemented by catalogd.bundle_summaries.summary_access."""

    def access_versions(self, catalog: str) -> str:
        """The versions of the Secrets with which this Catalog reads images."""
        raise NotImplementedError

    async def task(self, asked: AskedBundle, store: SummaryStore) -> SummaryTask:
        """The task that reads the image. Raises OlmError and ApiError."""
        raise NotImplementedError

    def stated_task(self, asked: AskedBundle, keep: Callable[[bytes], None], store: SummaryStore) -> SummaryTask:
        """The task that reads what the catalog states; its summary is given to `keep`, in a thread."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Failure:
    why: str
    until: float


class BundleSummaries:
    """The summaries of `store`, which the jobs of `make_jobs(ended)` make. Nothing is started before the first request."""

    def __init__(
        self, store: SummaryStore, tasks: Tasks, make_jobs: Callable[[Callable[[str], None]], Jobs[SummaryResult]]
    ) -> None:
        self.store = store
        self._tasks = tasks
        self._make_jobs = make_jobs
        self._jobs: Jobs[SummaryResult] | None = None
        self._running: dict[str, tuple[Proof | None, asyncio.Event]] = {}
        """The job of each key: what it proves, and its end."""
        self._failures: dict[str, _Failure] = {}
        self._stated: dict[str, bytes] = {}
        self._work: set[asyncio.Task[Any]] = set()

    def proof(self, asked: AskedBundle) -> Proof:
        """The proof that a Catalog needs to get the summary."""
        return Proof(asked.uid, asked.image, self._tasks.access_versions(asked.catalog))

    async def kept(self, asked: AskedBundle) -> Ready | None:
        """The summary of the image, if it is kept for this Catalog. One of a tag is given while the tag is resolved again."""
        found = self.store.find(self.proof(asked))
        data = await self.store.read(found.digest) if found is not None else None
        return Ready(data, found.digest) if data is not None and found is not None else None

    async def answer(self, asked: AskedBundle) -> Answer:
        """The summary, or why there is none."""
        found, is_current = await self.kept(asked), True
        proof = self.proof(asked)
        if found is not None:
            known = self.store.find(proof)
            is_current = proof.is_by_digest or (known is not None and time.time() - known.at < TAG_SECONDS)
        if found is not None and is_current:
            return found
        made = self._make(asked, proof)
        if found is not None:
            return found
        if asked.stated is not None and (stated := await self._state(asked)) is not None:
            return stated
        return made

    def _make(self, asked: AskedBundle, proof: Proof) -> Answer:
        """Start the job that reads the image, unless it runs or has failed."""
        if not asked.image:
            return Absent("the blob of the bundle names no image")
        key = f"{proof.uid} {proof.access} {proof.image}"
        failure = self._failures.get(key)
        if failure is not None and time.monotonic() < failure.until:
            return Absent(failure.why)
        if key in self._running:
            return Pending()
        if self._is_full:
            return Busy()
        self._start(key, proof, self._tasks.task(asked, self.store))
        return Pending()

    async def _state(self, asked: AskedBundle) -> Ready | None:
        """The summary of what the catalog states, if that can be read soon."""
        assert asked.stated is not None
        key = f"stated {asked.stated.path} {asked.stated.start}"
        if (data := self._stated.get(key)) is not None:
            return Ready(data)
        failure = self._failures.get(key)
        if (failure is not None and time.monotonic() < failure.until) or (key not in self._running and self._is_full):
            return None
        if key not in self._running:

            def keep(data: bytes) -> None:
                self._stated[key] = data

            async def made() -> SummaryTask:
                return self._tasks.stated_task(asked, keep, self.store)

            self._start(key, None, made())
        try:
            async with asyncio.timeout(STATED_WAIT_SECONDS):
                await self._running[key][1].wait()
        except TimeoutError:
            return None
        while len(self._stated) > MAX_STATED:
            del self._stated[next(iter(self._stated))]
        data = self._stated.get(key)
        return Ready(data) if data is not None else None

    @property
    def _is_full(self) -> bool:
        return len(self._running) >= MAX_CONCURRENT_JOBS + MAX_WAITING_JOBS

    def _start(self, key: str, proof: Proof | None, make: Awaitable[SummaryTask]) -> None:
        self._running[key] = proof, asyncio.Event()
        self._spawn(self._begin(key, make))

    async def _begin(self, key: str, make: Awaitable[SummaryTask]) -> None:
        try:
            task = await make
            if self._jobs is None:
                self._jobs = self._make_jobs(self._ended)
            self._jobs.ensure(key, key, task)
        except (OlmError, ApiError) as error:
            self._fail(key, error)
            self._finish(key)

    def _ended(self, key: str) -> None:
        """The job of this key has ended."""
        assert self._jobs is not None
        state = self._jobs.state(key)
        self._jobs.forget(key)
        proof = self._running[key][0] if key in self._running else None
        match state:
            case Finished() if proof is not None:
                self._spawn(self._keep(key, proof, state.result.digest))
                return
            case Failed():
                self._fail(key, state.error)
        self._finish(key)

    async def _keep(self, key: str, proof: Proof, digest: str) -> None:
        try:
            await self.store.add(proof, digest)
        except (OlmError, OSError, ValueError) as error:
            self._fail(key, error)
        finally:
            self._finish(key)

    def _fail(self, key: str, error: Exception) -> None:
        seconds = FAILURE_SECONDS if isinstance(error, Blocked) else TEMPORARY_FAILURE_SECONDS
        why = _why(error)
        self._failures.pop(key, None)
        self._failures[key] = _Failure(why, time.monotonic() + seconds)
        while len(self._failures) > MAX_FAILURES:
            del self._failures[next(iter(self._failures))]

    def _finish(self, key: str) -> None:
        _, ended = self._running.pop(key, (None, asyncio.Event()))
        ended.set()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def close(self) -> None:
        """End all jobs."""
        for task in list(self._work):
            task.cancel()
        if self._jobs is not None:
            await self._jobs.close()


def _why(error: Exception) -> str:
    """The message of an error, without the content of a Secret: clients need not be allowed to read it."""
    match error:
        case BadSecret():
            return error.public_message
        case OlmError() | ApiError():
            return error.message
        case _:
            return "its summary cannot be written to the disk"
