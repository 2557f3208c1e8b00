"""The metrics of jobs by function: how many wait and run, how they ended, and how long they took.

The label `function` is the name of the function that the job runs, of which a controller has one or two; never the key of a job.
All calls from one event loop, also those of a scrape. Not imported by fork servers and the children of jobs, which must stay
small.
"""

from __future__ import annotations

import time
from enum import StrEnum
from functools import cache
from types import TracebackType
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from olmkit.errors import OlmError
from olmkit.jobs.job import Job, JobReason


class Outcome(StrEnum):
    """The outcomes of jobs. A job that ended for a JobReason has that reason as its outcome instead."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"  # the function reported an error, such as an image that does not exist
    CANCELLED = "Cancelled"  # nobody needs the result any more, or the controller stops


RUNNING = Gauge("olmkit_jobs_running", "Jobs that run.", ["function"])
QUEUED = Gauge("olmkit_jobs_queued", "Jobs that wait for a slot or for memory.", ["function"])
LONGEST_QUEUED = Gauge(
    "olmkit_jobs_longest_queued_seconds",
    "How long the job has waited that waits longest; 0 if none does.",
    ["function"],
)
FINISHED = Counter("olmkit_jobs_finished", "Jobs that ended, by outcome.", ["function", "outcome"])
DURATION = Histogram(
    "olmkit_job_duration_seconds",
    "How long jobs ran, without the time that they waited.",
    ["function"],
    # The timeouts of jobs are 15 minutes and 2 hours.
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 3600.0),
)
_JOB_REASONS = frozenset(JobReason)


class JobRecord:
    """One job, from the queue to its end: `with JobRecord(job) as record`. It waits at first; run() and wait() say when that
    changes, end() how it ended. Without end() it was cancelled, or failed unexpectedly.
    """

    def __init__(self, job: Job[Any, Any]) -> None:
        self._function = job.name
        self._queued_since = _queued_since(job.name)
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
        self._queued_since[self] = time.monotonic()

    def run(self) -> None:
        """The job runs."""
        self._leave()
        RUNNING.labels(self._function).inc()
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
        FINISHED.labels(self._function, self._outcome).inc()
        if self._seconds is not None:
            DURATION.labels(self._function).observe(self._seconds)

    def _leave(self) -> None:
        """The job neither waits nor runs."""
        self._queued_since.pop(self, None)
        if self._running_since is not None:
            self._seconds = (self._seconds or 0.0) + time.monotonic() - self._running_since
            RUNNING.labels(self._function).dec()
            self._running_since = None


@cache
def _queued_since(function: str) -> dict[JobRecord, float]:
    """The jobs of a function that wait, and since when (time.monotonic()), the longest wait first.

    From the first call on, every metric has its values of this function: a counter that appears with its first event hides that
    event from `increase`.
    """
    waiting: dict[JobRecord, float] = {}

    def longest() -> float:
        now = time.monotonic()
        return now - next(iter(waiting.values()), now)

    RUNNING.labels(function)
    QUEUED.labels(function).set_function(lambda: len(waiting))
    LONGEST_QUEUED.labels(function).set_function(longest)
    for outcome in (*Outcome, *JobReason):
        FINISHED.labels(function, outcome)
    DURATION.labels(function)
    return waiting
