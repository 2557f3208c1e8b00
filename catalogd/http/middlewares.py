"""The middlewares of the application that serves catalogs: metrics, and errors as JSON."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import Gauge, Histogram

from olmkit.runtime.listener.http_errors import json_errors_middleware

REQUEST_DURATION = Histogram(
    "catalogd_http_request_duration_seconds",
    "Duration of requests for catalogs until their last byte.",
    ["code"],
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 10.0),
)
REQUESTS_IN_FLIGHT = Gauge("catalogd_http_requests_in_flight", "Requests for catalogs that are being answered.")

errors_middleware = json_errors_middleware(
    "catalogd",
    {
        "Not Found": "no such path; /openapi.json lists the paths",
        "Method Not Allowed": "only GET and HEAD are supported",
    },
)
"""With messages instead of the bare reason phrases of aiohttp's router."""


@web.middleware
async def metrics_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count requests and measure their duration."""
    started = time.monotonic()
    code = "500"
    REQUESTS_IN_FLIGHT.inc()
    try:
        response = await handler(request)
        code = str(response.status)
    except (asyncio.CancelledError, ConnectionError):
        code = "499"  # the client disconnected
        raise
    finally:
        REQUESTS_IN_FLIGHT.dec()
        REQUEST_DURATION.labels(code).observe(time.monotonic() - started)
    return response
