"""The metrics of the Resolver."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

RESOLUTION_TIME = Histogram(
    "resolution_duration_seconds",
    "Duration of resolving all Operators, from the Snapshot to the answers.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
)
RESOLUTIONS = Counter(
    "resolution_total", "Times that Operators were resolved, by result: success or error.", ["result"]
)
WORKER_RESTARTS = Counter(
    "resolution_worker_restarts_total", "Processes that resolve and were started in place of one that ended."
)
