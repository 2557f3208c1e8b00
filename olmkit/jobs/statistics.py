"""Statistics of jobs by function: how many wait, run and have ended, and how long they took. olmkit.runtime.job_metrics
exports them.

One set of values per process; all calls from one event loop. Does not import prometheus_client: fork servers and the children of
jobs import this package and must stay small.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any

from olmkit.errors import OlmError
from olmkit.jobs.job import Job, JobReason

DURATION_BUCKETS_SECONDS = (
    0.01,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    3600.0,
)
"""Upper bounds of the durations that are counted together. The timeouts of jobs are 15 minutes and 2 hours."""
_JOB_REASONS = frozenset(JobReason)


class Outcome(StrEnum):
    """The outcomes of jobs. A job that ended for a JobReason has that reason as its outcome instead."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"  # the function reported an error, such as an image that does not exist
    CANCELLED = "Cancelled"  # nobody needs the result any more, or the controller stops


@dataclass
class FunctionStatistics:
    """The values of the jobs of one function."""

    running: int = 0
    queued_since: dict[JobRecord, float] = field(default_factory=dict)
    """The jobs that wait, and since when (time.monotonic()), the longest wait first."""
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*Outcome, *JobReason), 0))
    durations: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BUCKETS_SECONDS) + 1))
    """The numbers of jobs by duration; the last entry is beyond all buckets."""
    seconds: float = 0.0
    """The duration of all jobs together."""

    @property
    def longest_queued_seconds(self) -> float:
        """The longest time that a queued job has waited; 0 if none is queued."""
        now = time.monotonic()
        return now - next(iter(self.queued_since.values()), now)


_by_function: dict[str, FunctionStatistics] = {}


def by_function() -> Mapping[str, FunctionStatistics]:
    """The values of this process. A function has its entry from its first job."""
    return _by_function


class JobRecord:
    """One job, from the queue to its end: `with JobRecord(job) as record`. It waits at first; run() and wait() say when that
    changes, end() how it ended. Without end() it was cancelled, or failed unexpectedly.
    """

    def __init__(self, job: Job[Any, Any]) -> None:
        self._statistics = _by_function.setdefault(job.name, FunctionStatistics())
        self._outcome: str = Outcome.CANCELLED
        self._running_since: float | None = None
        self._seconds: float | None = None
        """The time for which it has run; None: not at all."""

    def __enter__(self) -> JobRecord:
        self.wait()
        return self

    def wait(self) -> None:
        """The job waits for a slot or for memory."""
        self._leave()
        self._statistics.queued_since[self] = time.monotonic()

    def run(self) -> None:
        """The job runs."""
        self._leave()
        self._statistics.running += 1
        self._running_since = time.monotonic()

    def end(self, outcome: object) -> None:
        """The job has ended with this result, or with this OlmError."""
        self._outcome = Outcome.SUCCEEDED
        if isinstance(outcome, OlmError):
            self._outcome = outcome.reason if outcome.reason in _JOB_REASONS else Outcome.FAILED

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()
        if isinstance(error, Exception):
            self._outcome = JobReason.UNEXPECTED
        self._statistics.finished[self._outcome] += 1
        if self._seconds is not None:
            self._statistics.durations[bisect_left(DURATION_BUCKETS_SECONDS, self._seconds)] += 1
            self._statistics.seconds += self._seconds

    def _leave(self) -> None:
        """The job neither waits nor runs."""
        self._statistics.queued_since.pop(self, None)
        if self._running_since is not None:
            self._seconds = (self._seconds or 0.0) + time.monotonic() - self._running_since
            self._statistics.running -= 1
            self._running_since = None
