"""Around every request for catalogs: time and number, errors as JSON, no bodies. In this order, the first outermost; outside of
them is olmkit.runtime.listener.connections.connection_tracking_middleware.

Used by catalogd.http.server. An error that nobody foresaw is logged here, with its traceback, and told to the client without.
"""

from __future__ import annotations

import asyncio
import logging
import time

from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import Gauge, Histogram

from catalogd.http.responses import HTTPError

RETRY_AFTER_HEADER = {"Retry-After": "2"}
"""With each 503."""

REQUEST_DURATION = Histogram(
    "catalogd_http_request_duration_seconds",
    "Duration of requests for catalogs until their last byte.",
    ["code"],
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 10.0),
)
REQUESTS_IN_FLIGHT = Gauge("catalogd_http_requests_in_flight", "Requests for catalogs that are being answered.")

_SENTENCES = {
    "Not Found": "there is no such path: /openapi.json names those that there are",
    "Method Not Allowed": "only GET and HEAD are answered here",
}
"""What is said in place of the bare phrases of aiohttp's router."""

log = logging.getLogger(__name__)


@web.middleware
async def metrics_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Metrics."""
    started = time.monotonic()
    code = "500"
    REQUESTS_IN_FLIGHT.inc()
    try:
        response = await handler(request)
        code = str(response.status)
    except (asyncio.CancelledError, ConnectionError):
        code = "499"  # the client went away
        raise
    finally:
        REQUESTS_IN_FLIGHT.dec()
        REQUEST_DURATION.labels(code).observe(time.monotonic() - started)
    return response


@web.middleware
async def json_errors_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """HTTPError, aiohttp's own refusals and what nobody foresaw, as {"error": ...}."""
    try:
        return await handler(request)
    except HTTPError as refused:
        return refused.response()
    except web.HTTPException as error:
        kept = {name: value for name, value in error.headers.items() if name not in ("Content-Type", "Content-Length")}
        return HTTPError(error.status, _SENTENCES.get(error.reason, error.reason), kept).response()
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("a request cannot be answered", extra={"path": request.path[:200]})
        return HTTPError(500, "an unexpected error, which catalogd's log tells").response()


@web.middleware
async def reject_bodies_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A GET with a body is refused unread; any other method is refused for itself."""
    if request.can_read_body and request.method in ("GET", "HEAD"):
        response = HTTPError(400, "requests here have no body").response()
        response.force_close()
        return response
    return await handler(request)
