"""The machine the figures are measured on, its C, and what processes use. Used by the rows of the bench only."""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from devcluster.processes import process_tree_memory

MIB = 1 << 20
_TICK = 0.05


def reference_time(runs: int = 3) -> float:
    """C: the seconds to sha256 1 GiB in one thread; the least of `runs`."""
    block = bytes(MIB)
    best = float("inf")
    for _ in range(runs):
        digest = hashlib.sha256()
        started = time.perf_counter()
        for _ in range(1024):
            digest.update(block)
        best = min(best, time.perf_counter() - started)
    return best


def description() -> str:
    """Cores, memory, Python and system in one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {platform.system()}"


@dataclass
class Watch:
    """The highest memory of some processes while the `with` block runs, looked at every 50 ms."""

    pids: Sequence[int]
    peak: int = 0

    def __post_init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.peak = max(self.peak, sum(process_tree_memory(pid) for pid in self.pids))
            if self._end.wait(_TICK):
                return
