"""The parts of a job: its declaration (Job), one request to run it (Task), its limits, and the arguments of its function
(JobContext).

A Job is declared in a module that is cheap to import, next to its request and its result. The module that holds the function
registers it with `implement` (olmkit.jobs.job_functions) and is imported by child processes only. Nothing here starts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import IO, Generic, Protocol, TypeAlias, TypeVar

from olmkit.errors import OlmError
from olmkit.jobs.staging import Staging

Request = TypeVar("Request")
Result = TypeVar("Result")

Progress: TypeAlias = Callable[[str], None]
"""Reports a line for people. May be called at any rate: lines in quick succession are dropped."""


class JobReason(StrEnum):
    """The reasons why a job ended without an answer of its own."""

    OUT_OF_MEMORY = "OutOfMemory"  # it asked for more than Limits.memory_bytes; or the kernel ended it
    TOO_LONG = "TookTooLong"  # its timeout or its CPU time ran out
    CRASHED = "JobCrashed"  # ended by a signal: the content makes its parser crash
    UNEXPECTED = "JobFailed"  # an unexpected exception, or an answer that cannot be read


class Role(StrEnum):
    """The roles of child processes."""

    WORK = "work"  # the function of one task
    PARSE = "parse"  # what that function has parsed in another process
    PROBE = "probe"  # the probes of many tasks
    KEEP = "keep"  # the functions of many tasks, one after the other


@dataclass(frozen=True)
class Limits:
    """The limits of one job. Memory is address space beyond what the fork server already maps."""

    memory_bytes: int = 768 * 1024 * 1024
    """Memory of the process that runs the function, or of the one that parses for it."""
    fetch_memory_bytes: int = 256 * 1024 * 1024
    """Memory of the process that runs the function when another one parses for it, and of the one that runs probes."""
    helper_memory_bytes: int = 0
    """Memory of all processes together that the parser starts itself; the parser limits them."""
    reserved_bytes: int = 0
    """Address space beyond that, which programs in Go reserve and do not use."""
    cpu_seconds: int = 600
    timeout: timedelta = timedelta(minutes=15)
    open_files: int = 256
    """File descriptors open at a time."""
    file_bytes: int = 8 * 1024**3
    """The largest file it may write."""

    @property
    def parser_memory_bytes(self) -> int:
        """Bytes of memory that are needed in addition while another process parses for a job."""
        return self.memory_bytes + self.helper_memory_bytes


@dataclass(frozen=True)
class Job(Generic[Request, Result]):
    """The declaration of a job. `function` is "module:name" of what `implement` registers."""

    function: str
    request: type[Request]
    result: type[Result]
    errors: tuple[type[OlmError], ...] = ()
    """Subclasses of Blocked and Waiting that reach the caller as themselves; others arrive as their base class."""
    parses: bool = False
    """True if the function has content parsed in another process, by JobContext.parse."""

    @property
    def module(self) -> str:
        """The module of the function, for `Jobs(preload=...)`."""
        return self.function.partition(":")[0]

    @property
    def name(self) -> str:
        """The name of the function, for metrics."""
        return self.function.rpartition(":")[2]

    def first_process_memory(self, limits: Limits) -> int:
        """Bytes of memory that the job needs when it starts."""
        return limits.fetch_memory_bytes if self.parses else limits.memory_bytes


class Parse(Protocol):
    """Runs a job in a process without network and credentials, and returns its result.

    That process may write below `directory` only, and is given `files`. At most once per job.
    Raises the OlmError of that job, MemoryError, ParserLost, ParserFailed (olmkit.jobs.child).
    """

    async def __call__(
        self, job: Job[Request, Result], request: Request, files: Sequence[IO[bytes]], directory: Path
    ) -> Result: ...


async def _no_parser(
    job: Job[Request, Result], request: Request, files: Sequence[IO[bytes]], directory: Path
) -> Result:
    raise RuntimeError(f"{job.function}: the job that asks for a parser is not declared with parses=True")


@dataclass(frozen=True)
class JobContext:
    """The objects that the function of a job receives in addition to its request."""

    directory: Path
    """The directory that it may write to: that of its Staging, or the one that `parse` was called with; else its temporary
    files."""
    progress: Progress = lambda line: None
    files: Sequence[IO[bytes]] = ()
    """The files that `parse` was called with; the caller closes them."""
    parse: Parse = _no_parser


@dataclass(frozen=True)
class Task(Generic[Request, Result]):
    """One request to run a job. Requests may hold credentials, so the repr leaves them out."""

    job: Job[Request, Result]
    request: Request = field(repr=False)
    probe: bool = False
    """True if the job's probe runs first, in a child process that all jobs share. Its result is the job's; None: the job itself
    runs. Only for results that are small and quickly found."""
    source: str = ""
    """The place that the job fetches from, such as the host of a registry: jobs of a slow source come after others. "" if
    nowhere."""
    staging: Staging[Result] | None = None
    """The directory that the job may write to. None: it may write only where the Sandbox allows it."""
