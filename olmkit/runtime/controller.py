"""Informers, a queue and workers around one reconciler: which key is processed, for how long, and what the outcome means.

A change in an informer is mapped to keys; each key that is taken from the queue is one call of `reconcile`, and the queue hands
out none while one of the informers is stale. Never reads an object and never decides.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from olmkit.errors import ApiError, Conflict, OlmError
from olmkit.runtime import metrics
from olmkit.runtime.freshness import Freshness
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.logs import pass_facts
from olmkit.runtime.queue import Queue, QueueShutDown, no_cost

Reconcile = Callable[[str], Awaitable[timedelta | None]]
MapFunc = Callable[[Change], Iterable[str]]
Handler = Callable[[Change], None]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConsecutivePasses:
    """The conditions under which a worker makes the next pass over the same key before it takes another key from the queue.

    Objects that need many passes, such as an installation phase after phase, are then finished one after another, and not all
    half finished at once. A key that costs less than the rest of this one is taken first.
    """

    requeue_within: timedelta = timedelta(seconds=2)
    """A pass that is to be repeated within this time is repeated by the same worker: at once if it asked for no delay, else as
    soon as an event enqueues the key."""
    max_wait: timedelta = timedelta(seconds=10)
    """The time for which the worker waits for events in all."""
    max_passes: int = 50


class Controller:
    """One reconciler, and the informers whose changes enqueue its keys.

    Up to `workers` passes run concurrently, for different keys; a pass that exceeds `deadline` is cancelled and retried; every
    key of the informers is processed again every `resync` (less up to 10 %, spread over 10 %). Without `consecutive` a
    worker makes one pass over each key that it takes. `cost` is an estimate of the work that is left for a key, in any unit: keys
    with less of it are processed first.
    """

    def __init__(  # noqa: PLR0913 all but two have defaults
        self,
        name: str,
        reconcile: Reconcile,
        *,
        workers: int = 4,
        deadline: timedelta = timedelta(minutes=5),
        resync: timedelta = timedelta(hours=10),
        consecutive: ConsecutivePasses | None = None,
        cost: Callable[[str], int] = no_cost,
    ) -> None:
        self.name = name
        self.reconcile = reconcile
        self._workers = workers
        self._deadline = deadline
        self._resync = resync
        self._consecutive = consecutive
        self._cost = cost
        self._watched: list[tuple[Informer, MapFunc, Handler]] = []
        self._freshness = Freshness(name)
        self._freshness.on_fresh(self._open)
        self._has_run = False
        self._queue: Queue | None = None
        self._gate: asyncio.Task[None] | None = None
        """The gate that opens when the informers are first fresh; stop() cancels it."""
        self._early: set[str] = set()

    @property
    def informers(self) -> list[Informer]:
        """The informers that the reconciler decides from: those watched before the first run(). No pass begins while one of them
        is stale."""
        return self._freshness.informers

    def watch(self, informer: Informer, keys: MapFunc) -> None:
        """Each change in `informer` enqueues the keys that `keys` maps it to. May be called while the controller runs."""

        def handle(change: Change) -> None:
            self._enqueue_all(keys, change)

        self._watched.append((informer, keys, handle))
        if not self._has_run:
            self._freshness.add(informer)
        informer.subscribe(handle)

    def unwatch(self, informer: Informer) -> None:
        """Stop enqueuing keys for changes in `informer`."""
        for entry in [entry for entry in self._watched if entry[0] is informer]:
            self._watched.remove(entry)
            informer.unsubscribe(entry[2])

    def enqueue(self, key: str) -> None:
        """Enqueue the key; before run() it is remembered."""
        if self._queue is None:
            self._early.add(key)
        else:
            self._queue.add(key)

    def enqueue_after(self, key: str, delay: timedelta) -> None:
        """Enqueue the key after `delay` at the latest, unless a pass over it begins earlier. Does nothing before run(), which
        begins with every key."""
        if self._queue is not None:
            self._queue.add_after(key, delay)

    def stop(self) -> None:
        """Process no more keys; run() returns when the passes in progress have ended."""
        if self._gate is not None:
            self._gate.cancel()
        if self._queue is not None:
            self._queue.shutdown()

    async def run(self) -> None:
        """Work until stop() or until cancelled (then passes in progress are cancelled and awaited).

        Begins when no informer is stale, with every key they know; may be called again after it has ended.
        """
        self._has_run = True
        queue = self._queue = Queue(self.name, cost=self._cost, is_open=lambda: self._freshness.is_fresh)
        metrics.MAX_WORKERS.labels(self.name).set(self._workers)
        gate = self._gate = asyncio.create_task(self._freshness.wait(), name=f"{self.name} waits for informers")
        try:
            await asyncio.wait({gate})
            if not gate.cancelled():
                await self._run_with(queue)
        finally:
            gate.cancel()
            queue.shutdown()
            self._queue = self._gate = None

    def _open(self) -> None:
        if self._queue is not None:
            self._queue.open()

    async def _run_with(self, queue: Queue) -> None:
        for key in self._known_keys() | self._early:
            queue.add(key)
        self._early.clear()
        async with asyncio.TaskGroup() as group:
            sweep = group.create_task(self._resync_periodically(queue), name=f"{self.name} resync")
            workers = [
                group.create_task(self._work(queue), name=f"{self.name} worker {number}")
                for number in range(self._workers)
            ]
            await asyncio.wait(workers)
            sweep.cancel()

    def _enqueue_all(self, keys: MapFunc, change: Change) -> None:
        if self._queue is not None:
            for key in self._keys(keys, change):
                self._queue.add(key)

    def _keys(self, keys: MapFunc, change: Change) -> list[str]:
        """The keys of one change; an object that `keys` cannot read must not block all others."""
        try:
            return list(keys(change))
        except Exception as error:
            obj = change.new or change.old or {}
            metadata = obj.get("metadata", {})
            facts = {
                "controller": self.name,
                "kind": obj.get("kind"),
                "object": metadata.get("name"),
                "error": str(error),
            }
            log.error("a change cannot be mapped to keys", extra=facts, exc_info=error)
            return []

    def _known_keys(self) -> set[str]:
        changes = (
            (keys, Change(None, obj)) for informer, keys, _ in self._watched for obj in list(informer.objects.values())
        )
        return {key for keys, change in changes for key in self._keys(keys, change)}

    async def _resync_periodically(self, queue: Queue) -> None:
        """Every key again, periodically: for events that were missed and facts that no event reports."""
        period = self._resync.total_seconds()
        while True:
            await asyncio.sleep(period * random.uniform(0.9, 1.0))
            for key in self._known_keys():
                queue.add_after(key, timedelta(seconds=random.uniform(0, period / 10)))

    async def _work(self, queue: Queue) -> None:
        while True:
            try:
                key = await queue.get()
            except QueueShutDown:
                return
            try:
                with (
                    pass_facts(self.name, key, uuid.uuid4().hex),
                    metrics.ACTIVE_WORKERS.labels(self.name).track_inprogress(),
                ):
                    await self._process(queue, key)
            finally:
                queue.done(key)

    async def _process(self, queue: Queue, key: str) -> None:
        """One pass, and what its outcome does to the queue."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._deadline.total_seconds()) as limit:
                after = await self._reconcile_with_deadline(queue, key)
        except Conflict as error:
            result = "requeue"
            log.debug("the object was changed by another client, trying again", extra={"error": str(error)})
            queue.retry(key, error)
        except Exception as error:  # whatever a pass raises, other keys are still processed
            result = "error"
            self._failed(error, timed_out=limit.expired(), failures=queue.failures(key))
            queue.retry(key, error)
        else:
            result = "success" if after is None else "requeue_after"
            queue.forget(key)
            if after is not None:
                queue.add_after(key, after)
        metrics.RECONCILE_TOTAL.labels(self.name, result).inc()
        metrics.RECONCILE_TIME.labels(self.name).observe(time.monotonic() - started)

    async def _reconcile_with_deadline(self, queue: Queue, key: str) -> timedelta | None:
        """The passes over one key; a cancellation that is not meant for the worker (of what it awaited) is an error."""
        try:
            return await self._make_passes(queue, key)
        except asyncio.CancelledError as error:
            worker = asyncio.current_task()
            if worker is None or worker.cancelling():
                raise
            raise RuntimeError("what the pass waited for was cancelled") from error

    async def _make_passes(self, queue: Queue, key: str) -> timedelta | None:
        """One pass, and those that follow at once; returns the result of the last one."""
        rules = self._consecutive
        after = await self.reconcile(key)
        if rules is None:
            return after
        loop = asyncio.get_running_loop()
        until = loop.time() + rules.max_wait.total_seconds()
        for _ in range(rules.max_passes - 1):
            if after is None or after > rules.requeue_within or not queue.may_continue(key):
                return after
            if after and not (await queue.wait_added(key, until - loop.time()) and queue.may_continue(key)):
                return after
            queue.take_added(key)
            after = await self.reconcile(key)
        return after

    def _failed(self, error: Exception, *, timed_out: bool, failures: int) -> None:
        metrics.RECONCILE_ERRORS.labels(self.name).inc()
        facts: dict[str, object] = {"failures": failures + 1, "error": str(error)}
        if timed_out:
            metrics.RECONCILE_TIMEOUTS.labels(self.name).inc()
            facts["error"] = f"the pass lasted longer than {self._deadline.total_seconds():g} s"
            log.error("pass ended by its deadline, trying again", extra=facts)
        elif isinstance(error, ApiError | OlmError):
            log.warning("pass failed, trying again", extra=facts)
        else:
            metrics.RECONCILE_PANICS.labels(self.name).inc()
            log.error("pass failed unexpectedly, trying again", extra=facts, exc_info=error)
