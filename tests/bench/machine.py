"""The machine the figures are measured on, its C, and what processes use. Used by the rows of the bench only."""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def family(pid: int) -> list[int]:
    """The process and all its descendants."""
    found = [pid]
    for task in Path("/proc").glob(f"{pid}/task/*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += family(child)
    return found


def memory(pids: Iterable[int]) -> int:
    """Bytes of memory of the processes; a page that several share counts once in all (PSS)."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
    return total


def cpu_seconds(pid: int) -> float:
    """CPU seconds of the process, its descendants that live and all that it has waited for."""
    ticks = 0
    for member in family(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


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
            self.peak = max(self.peak, memory([member for pid in self.pids for member in family(pid)]))
            if self._end.wait(_TICK):
                return
