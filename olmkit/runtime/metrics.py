"""The metrics of a controller process, with the names of controller-runtime, so that its dashboards work.

Labels are few and bounded: never an object's name.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

disable_created_metrics()  # type: ignore[no-untyped-call]

CONTENT_TYPE = CONTENT_TYPE_LATEST

_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
_QUEUE_BUCKETS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000)
_REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)

RECONCILE_TOTAL = Counter(
    "controller_runtime_reconcile_total", "Passes per controller and result.", ["controller", "result"]
)
RECONCILE_ERRORS = Counter("controller_runtime_reconcile_errors_total", "Passes that failed.", ["controller"])
# No pass ends that way here (olmkit.errors.Blocked is no error); dashboards query the name.
Counter("controller_runtime_terminal_reconcile_errors_total", "Passes that failed and are not retried.", ["controller"])
RECONCILE_PANICS = Counter(
    "controller_runtime_reconcile_panics_total", "Passes that ended with an unexpected error.", ["controller"]
)
RECONCILE_TIMEOUTS = Counter(
    "controller_runtime_reconcile_timeouts_total", "Passes that ran into their deadline.", ["controller"]
)
RECONCILE_TIME = Histogram(
    "controller_runtime_reconcile_time_seconds", "Duration of passes.", ["controller"], buckets=_RECONCILE_BUCKETS
)
MAX_WORKERS = Gauge(
    "controller_runtime_max_concurrent_reconciles",
    "Maximum number of concurrent workers per controller.",
    ["controller"],
)
ACTIVE_WORKERS = Gauge("controller_runtime_active_workers", "Workers that are processing a key.", ["controller"])

QUEUE_DEPTH = Gauge("workqueue_depth", "Keys that wait to be processed.", ["name"])
QUEUE_ADDS = Counter("workqueue_adds_total", "Keys added.", ["name"])
QUEUE_WAIT = Histogram(
    "workqueue_queue_duration_seconds", "How long keys wait to be processed.", ["name"], buckets=_QUEUE_BUCKETS
)
QUEUE_WORK = Histogram(
    "workqueue_work_duration_seconds", "How long processing a key takes.", ["name"], buckets=_QUEUE_BUCKETS
)
QUEUE_UNFINISHED = Gauge("workqueue_unfinished_work_seconds", "Sum of the ages of all passes in progress.", ["name"])
QUEUE_LONGEST = Gauge("workqueue_longest_running_processor_seconds", "Age of the oldest pass in progress.", ["name"])
QUEUE_RETRIES = Counter("workqueue_retries_total", "Keys added again after a failure.", ["name"])

REQUESTS = Counter(
    "rest_client_requests_total", "Requests to the API server by code, method and host.", ["code", "method", "host"]
)
REQUEST_TIME = Histogram(
    "rest_client_request_duration_seconds",
    "Duration of requests to the API server until the response headers are received.",
    ["verb", "host"],
    buckets=_REQUEST_BUCKETS,
)
STALE_INFORMERS = Gauge(
    "stale_informers",
    "Informers that are not up to date, of those that a reader decides from; it waits for them.",
    ["reader"],
)
LEADER = Gauge("leader_election_master_status", "1 while this process holds the lease.", ["name"])
LEADER_SLOWPATH = Counter(
    "leader_election_slowpath_total", "Renewals that had to read the lease again first.", ["name"]
)


def exposition() -> bytes:
    """All metrics of this process in the text format that Prometheus scrapes."""
    return generate_latest()
