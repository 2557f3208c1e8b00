"""What a job is: a function by name with JSON arguments, and how much of the machine it may use.

Read by the scheduler, by the fork server and by the child. Only values; nothing here starts anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """Why a job ended without an answer of its own."""

    OUT_OF_MEMORY = "OutOfMemory"  # it asked for more than Limits.memory; or the kernel ended it
    TOO_LONG = "TookTooLong"  # wall time or CPU time ran out
    CRASHED = "JobCrashed"  # ended by a signal: the content makes its reader crash
    UNEXPECTED = "JobFailed"  # an exception nobody foresaw, or an answer that cannot be read


@dataclass(frozen=True)
class Limits:
    """What one job may use. Bytes and seconds; `memory` is address space beyond what the fork server already maps."""

    memory: int = 768 * 1024 * 1024
    cpu: int = 600
    wall: timedelta = timedelta(minutes=15)
    files: int = 256
    """File descriptors open at a time."""
    file_size: int = 8 * 1024**3
    """The largest file it may write."""

    def to_json(self) -> dict[str, int]:
        """The part that the child applies to itself; wall time is kept by the parent."""
        values = asdict(self)
        del values["wall"]
        return values


@dataclass(frozen=True)
class Task:
    """`function` is "module:name" of `f(arguments: dict, progress: Callable[[str], None]) -> dict`, plain or async.

    `arguments` and what it returns are JSON; they may hold logins, so a repr leaves them out. `progress` takes a line for people
    and may be called as often as one likes.
    """

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)
    look: str = ""
    """ "module:name" of `async f(arguments: dict) -> dict | None` that may spare the job: it is asked first, in a child that all
    jobs share. What it returns is the job's result, None means that the job is to be run. For questions with a short answer
    only: content is for the job."""
