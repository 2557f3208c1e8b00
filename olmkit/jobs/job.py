"""What a job is: a function by name with JSON arguments, and how much of the machine it may use.

Read by the scheduler, by the fork server and by the child. Only values; nothing here starts anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from olmkit.jobs.staging import Staging


class JobReason(StrEnum):
    """Why a job ended without an answer of its own."""

    OUT_OF_MEMORY = "OutOfMemory"  # it asked for more than Limits.memory; or the kernel ended it
    TOO_LONG = "TookTooLong"  # wall time or CPU time ran out
    CRASHED = "JobCrashed"  # ended by a signal: the content makes its reader crash
    UNEXPECTED = "JobFailed"  # an exception nobody foresaw, or an answer that cannot be read


class Role(StrEnum):
    """What a child is for."""

    WORK = "work"  # the function of one task
    PARSE = "parse"  # what that function has parsed in another process
    PROBE = "probe"  # the probes of many tasks


@dataclass(frozen=True)
class Limits:
    """What one job may use. Bytes and seconds; memory is address space beyond what the fork server already maps."""

    memory_bytes: int = 768 * 1024 * 1024
    """Of the process that runs the function, or of the one that parses for it."""
    fetch_memory_bytes: int = 256 * 1024 * 1024
    """Of the process that runs the function when another parses for it, and of the one that looks."""
    helper_memory_bytes: int = 0
    """Of all processes together that the one that parses starts itself; it sees to their limits."""
    cpu_seconds: int = 600
    timeout: timedelta = timedelta(minutes=15)
    open_files: int = 256
    """File descriptors open at a time."""
    file_bytes: int = 8 * 1024**3
    """The largest file it may write."""

    def to_json(self) -> dict[str, int]:
        """The part that the child applies to itself; wall time is kept by the parent."""
        return {name: getattr(self, name) for name in ("memory_bytes", "cpu_seconds", "open_files", "file_bytes")}

    def first_process_memory(self, task: Task) -> int:
        """Bytes of memory that a job of that task needs when it begins."""
        return self.fetch_memory_bytes if task.parses else self.memory_bytes

    @property
    def parser_memory(self) -> int:
        """Bytes of memory that are needed in addition while another process parses for it."""
        return self.memory_bytes + self.helper_memory_bytes


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
    parses: bool = False
    """Whether the function is given a third argument, olmkit.jobs.parser.Parse: a process without a network, in which what it
    fetched is parsed."""
    staging: Staging | None = None
    """The folder that the job may write to: its path is the argument `staging`. None: what the Sandbox says is all there is."""
    folder: Path | None = None
    """That folder. For the scheduler to set."""

    def at(self, folder: Path) -> Task:
        """The task when its folder is known."""
        return replace(self, arguments={**self.arguments, "staging": str(folder)}, folder=folder)
