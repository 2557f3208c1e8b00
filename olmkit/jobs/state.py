"""The state of a job, as a controller's World holds it. Pure: values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from olmkit.errors import OlmError, Waiting

Result = TypeVar("Result")


@dataclass(frozen=True)
class Queued:
    """The job waits for memory and a free slot. `gave_way`: it ran before, and gave way to another job because it took long."""

    identity: str
    gave_way: bool = False


@dataclass(frozen=True)
class Running:
    """The job runs. `progress` is the last line that it reported for people."""

    identity: str
    progress: str = ""


@dataclass(frozen=True)
class Finished(Generic[Result]):
    """The function of the job returned `result`."""

    identity: str
    result: Result


@dataclass(frozen=True)
class Failed:
    """Blocked: the job is not retried under this identity. Waiting: `Jobs.ensure` starts it again after `error.after`.

    `error.after` doubles with each attempt, up to 5 minutes. `finished_at` is time.monotonic().
    """

    identity: str
    error: OlmError
    finished_at: float
    attempts: int

    def is_due(self, now: float) -> bool:
        """Report whether the job may be retried at `now` (time.monotonic())."""
        return isinstance(self.error, Waiting) and now >= self.finished_at + self.error.after.total_seconds()


JobState: TypeAlias = Queued | Running | Finished[Result] | Failed
