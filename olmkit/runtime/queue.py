"""A work queue: keys are deduplicated, delayed and backed off; each key is processed by one worker at a time.

Used by olmkit.runtime.controller: informers add keys, workers get them, those that cost least first. A key that is added while it
is processed is processed again afterwards. For one event loop; never starts a task and never calls a reconciler.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from olmkit.runtime import metrics
from olmkit.runtime.backoff import Backoff, retry_delay

KEY_BACKOFF = Backoff(first=0.05, cap=60)
"""A key that failed: 50 ms, doubled each time, at most a minute."""
MAX_COSTLY_WAIT_SECONDS = 120.0
"""A key that has waited for that long is next, whatever it costs."""


class QueueShutDown(Exception):
    """Raised by get() after shutdown()."""


@dataclass
class _Delayed:
    """A key that is enqueued at `when`, by the clock of the event loop."""

    when: float
    timer: asyncio.TimerHandle


class _Ready(NamedTuple):
    """A key that a worker may take."""

    cost: int
    number: int
    """Of two entries, the one with the lower number was added first."""
    since: float
    """The time of the event loop at which it was added."""
    key: str


def always() -> bool:
    """Keys are handed out at any time."""
    return True


def no_cost(key: str) -> int:
    """The cost of each key, if all cost the same: they are processed in the order in which they were added."""
    return 0


class Queue:
    """Keys that wait, keys that are processed, and delayed keys. `name` is the label of its metrics; `cost` is called with a key
    when it is enqueued: of keys that wait, those with the lowest cost are next, and of these the one that was added first. No key
    is handed out while `is_open` returns False; whoever changes its answer calls open().
    """

    def __init__(
        self,
        name: str = "",
        retry: Backoff = KEY_BACKOFF,
        cost: Callable[[str], int] = no_cost,
        is_open: Callable[[], bool] = always,
    ) -> None:
        self.name = name
        self._is_open = is_open
        self._backoff = retry
        self._cost = cost
        self._order: list[_Ready] = []
        """A heap. It may hold entries of keys that were taken because they had waited for too long."""
        self._ready: dict[str, _Ready] = {}
        """The entry of each key that a worker may take, the one that was added first first."""
        self._numbers = itertools.count()
        self._waiting: dict[str, float] = {}
        self._running: dict[str, float] = {}
        self._delayed: dict[str, _Delayed] = {}
        self._failures: dict[str, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._added: dict[str, asyncio.Event] = {}
        """The events that are set when a key is added, by key; only of keys in process whose worker waits for that."""
        self._shut_down = False
        self._register_metrics()

    def __len__(self) -> int:
        """The number of keys that wait to be processed, without delayed keys."""
        return len(self._waiting)

    def add(self, key: str) -> None:
        """Enqueue the key. Does nothing if it waits already; if it is being processed, it is processed again afterwards."""
        if self._shut_down or key in self._waiting:
            return
        metrics.QUEUE_ADDS.labels(self.name).inc()
        self._waiting[key] = time.monotonic()
        if key not in self._running:
            self._append(key)
        elif key in self._added:
            self._added[key].set()

    def add_after(self, key: str, delay: timedelta) -> None:
        """Enqueue the key after `delay` at the latest: of several delays the shortest counts, and processing the key cancels
        it."""
        if self._shut_down:
            return
        seconds = delay.total_seconds()
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        known = self._delayed.get(key)
        if known is not None:
            if known.when <= when:
                return
            known.timer.cancel()
        self._delayed[key] = _Delayed(when, loop.call_at(when, self._on_timer, key))

    def retry(self, key: str, error: Exception) -> None:
        """Enqueue the key after a delay that doubles with each retry since the last forget(), and is as long as `error` asks."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        metrics.QUEUE_RETRIES.labels(self.name).inc()
        self.add_after(key, timedelta(seconds=retry_delay(error, self._backoff.delay(failures))))

    def forget(self, key: str) -> None:
        """The next retry() of this key starts from the shortest delay."""
        self._failures.pop(key, None)

    def failures(self, key: str) -> int:
        """Retries of this key since the last forget()."""
        return self._failures.get(key, 0)

    async def get(self) -> str:
        """The next key to process; call done() when it is processed. Raises QueueShutDown once shutdown() was called."""
        while not self._shut_down and not (self._ready and self._is_open()):
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                self._forward_wake_up(getter)
                raise
        if self._shut_down:
            raise QueueShutDown
        key, now = self._take_next(), time.monotonic()
        metrics.QUEUE_WAIT.labels(self.name).observe(now - self._waiting.pop(key))
        self._running[key] = now
        later = self._delayed.pop(key, None)
        if later is not None:
            later.timer.cancel()
        return key

    def open(self) -> None:
        """Hand out the keys that wait, as `is_open` returns True again."""
        for _ in range(min(len(self._ready), len(self._getters))):
            self._wake()

    def may_continue(self, key: str) -> bool:
        """Report whether another pass over this key, which is being processed, may follow at once: keys are handed out, and none
        waits that costs less."""
        first = self._cheapest()
        return self._is_open() and (first is None or first.cost >= self._cost(key))

    def take_added(self, key: str) -> bool:
        """Report whether the key, which is being processed, was added meanwhile. It is not processed again because of
        that."""
        return self._waiting.pop(key, None) is not None

    async def wait_added(self, key: str, seconds: float) -> bool:
        """Wait until the key, which is being processed, is added, at most so many seconds. Returns whether it was."""
        if key in self._waiting or self._shut_down:
            return key in self._waiting
        added = self._added[key] = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await added.wait()
        except TimeoutError:
            return False
        finally:
            del self._added[key]
        return key in self._waiting

    def done(self, key: str) -> None:
        """The key has been processed."""
        started = self._running.pop(key)
        metrics.QUEUE_WORK.labels(self.name).observe(time.monotonic() - started)
        if key in self._waiting and not self._shut_down:
            self._append(key)

    def shutdown(self) -> None:
        """Make get() raise and add() do nothing; keys that are processed still end with done()."""
        self._shut_down = True
        for delayed in self._delayed.values():
            delayed.timer.cancel()
        self._delayed.clear()
        self._waiting.clear()
        self._order.clear()
        self._ready.clear()
        while self._getters:
            self._wake()
        for added in self._added.values():
            added.set()

    def _on_timer(self, key: str) -> None:
        del self._delayed[key]
        self.add(key)

    def _append(self, key: str) -> None:
        now = asyncio.get_running_loop().time()
        entry = self._ready[key] = _Ready(self._cost(key), next(self._numbers), now, key)
        heapq.heappush(self._order, entry)
        self._wake()

    def _take_next(self) -> str:
        oldest, cheapest = next(iter(self._ready.values())), self._cheapest()
        is_late = asyncio.get_running_loop().time() - oldest.since >= MAX_COSTLY_WAIT_SECONDS
        taken = oldest if is_late or cheapest is None else cheapest
        del self._ready[taken.key]
        return taken.key

    def _cheapest(self) -> _Ready | None:
        while self._order and self._ready.get(self._order[0].key) is not self._order[0]:
            heapq.heappop(self._order)
        return self._order[0] if self._order else None

    def _wake(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _forward_wake_up(self, getter: asyncio.Future[None]) -> None:
        """A getter that was cancelled after it was woken wakes the next one instead."""
        if getter in self._getters:
            self._getters.remove(getter)
        elif getter.done() and not getter.cancelled() and self._ready:
            self._wake()

    def _register_metrics(self) -> None:
        metrics.QUEUE_DEPTH.labels(self.name).set_function(lambda: len(self._waiting))
        metrics.QUEUE_UNFINISHED.labels(self.name).set_function(self._unfinished)
        metrics.QUEUE_LONGEST.labels(self.name).set_function(self._longest)

    def _unfinished(self) -> float:
        now = time.monotonic()
        return sum(now - started for started in self._running.values())

    def _longest(self) -> float:
        return max((time.monotonic() - started for started in self._running.values()), default=0.0)
