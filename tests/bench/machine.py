"""The machine of the measurements, its reference time C, and the memory of processes."""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.processes import process_tree_memory

MIB = 1 << 20


def reference_time(runs: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """C: the seconds for the sha256 of 1 GiB in one thread; the minimum of `runs`. Rows of CPU time pass time.process_time."""
    block = bytes(MIB)
    best = float("inf")
    for _ in range(runs):
        digest = hashlib.sha256()
        started = clock()
        for _ in range(1024):
            digest.update(block)
        best = min(best, clock() - started)
    return best


def description() -> str:
    """Cores, memory, Python and system in one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {platform.system()}"


def resident_memory(pid: int) -> int:
    """Bytes of memory of one process, shared pages included (RSS). 0 if it is gone.

    The kernel keeps this number. For a proportional size it would walk all pages, and stop the process meanwhile if it is large.
    """
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@dataclass
class PeakMemory:
    """The peak memory of processes during the `with` block: the sum of `measure` over them, every `seconds`.

    A sample of a controller and its children takes ten milliseconds of a core, so what is timed is sampled once a second.
    """

    pids: Sequence[int]
    measure: Callable[[int], int] = process_tree_memory
    seconds: float = 1.0
    peak: int = 0

    def __post_init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _sample(self) -> None:
        while True:
            self.peak = max(self.peak, sum(map(self.measure, self.pids)))
            if self._end.wait(self.seconds):
                return
