"""Limits of CPU time and memory for work in this process on what others have written.

Limits the time in the main thread alone, where signals arrive. Never ends the process.
"""

from __future__ import annotations

import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SECONDS = 60
"""CPU time of the work on one bundle."""
MEMORY = 4 * 1024**3
"""Bytes of address space that the work on one bundle may take."""
_ADDRESS_SPACE = Path("/proc/self/statm")


class LimitReached(Exception):
    """The work was ended; the message says why."""


class _TimeIsUp(BaseException):
    """The work takes too long. No code that is interrupted catches it."""


@contextmanager
def limited(work: str) -> Iterator[None]:
    """End the block after SECONDS of CPU time, and when it has taken MEMORY. `work` is a plural noun for messages.

    Raises LimitReached.
    """
    try:
        with _time_limit(SECONDS), _memory_limit(MEMORY):
            yield
    except _TimeIsUp:
        raise LimitReached(f"{work} take more than {SECONDS} s of CPU time") from None
    except MemoryError:
        raise LimitReached(f"{work} need too much memory") from None


def limit_process() -> None:
    """Let this process, which works on bundles alone, have only MEMORY, and end at SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _lower_limit(MEMORY)


def _lower_limit(size: int) -> tuple[int, int]:
    """Let this process have only so many bytes of address space; returns the limits before."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = min(each for each in (size, *before) if each != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    return before


@contextmanager
def _memory_limit(size: int) -> Iterator[None]:
    """Let the block take only so many bytes more than the process has; no limit where the system does not say what it has."""
    try:
        used = int(_ADDRESS_SPACE.read_text().split()[0]) * resource.getpagesize()
    except OSError:
        yield
        return
    before = _lower_limit(used + size)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUp in the block after so much CPU time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
