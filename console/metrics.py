"""The metrics of the console's process. Labels are few and bounded: never a user, never a path with names."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

REQUESTS = Counter("olm_console_requests_total", "Requests by route and status code.", ["route", "code"])
SESSIONS = Gauge("olm_console_sessions", "Sessions that are open in this process.")
STREAMS = Gauge("olm_console_streams", "Tabs that follow a page.")
WATCHES = Gauge("olm_console_watches", "Watches of all sessions.")
UPDATE_SECONDS = Histogram(
    "olm_console_update_seconds",
    "Seconds from a change on the cluster until its message is ready for the tabs.",
    buckets=(0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5),
)
