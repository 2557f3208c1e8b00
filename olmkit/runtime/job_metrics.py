"""The metrics of the jobs of this process (olmkit.jobs): how many wait and run, how they ended, and how long they took.

The label `function` is the name of the function that the job runs, of which a controller has one or two; never the key of a job.
Changes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from olmkit.jobs.statistics import DURATION_BUCKETS_SECONDS, by_function

_BOUNDS = (*map(str, DURATION_BUCKETS_SECONDS), "+Inf")


class JobMetrics(Collector):
    """Exports the statistics of jobs."""

    def collect(self) -> Iterator[Metric]:
        """Called for each scrape, in the event loop."""
        running = GaugeMetricFamily("olmkit_jobs_running", "Jobs that run.", labels=["function"])
        queued = GaugeMetricFamily(
            "olmkit_jobs_queued", "Jobs that wait for a slot or for memory.", labels=["function"]
        )
        longest = GaugeMetricFamily(
            "olmkit_jobs_longest_queued_seconds",
            "How long the job has waited that waits longest; 0 if none does.",
            labels=["function"],
        )
        finished = CounterMetricFamily(
            "olmkit_jobs_finished", "Jobs that ended, by outcome.", labels=["function", "outcome"]
        )
        duration = HistogramMetricFamily(
            "olmkit_job_duration_seconds", "How long jobs ran, without the time that they waited.", labels=["function"]
        )
        for function, values in by_function().items():
            running.add_metric([function], values.running)
            queued.add_metric([function], len(values.queued_since))
            longest.add_metric([function], values.longest_queued_seconds)
            for outcome, count in values.finished.items():
                finished.add_metric([function, outcome], count)
            counts = zip(_BOUNDS, accumulate(values.durations), strict=True)
            duration.add_metric([function], list(counts), values.seconds)
        yield from (running, queued, longest, finished, duration)


@functools.cache
def register() -> None:
    """Export them at /metrics, once for this process."""
    REGISTRY.register(JobMetrics())
