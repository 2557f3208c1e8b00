"""The middlewares of the application that serves catalogs: metrics, errors as JSON, and the rejection of bodies.

Used by catalogd.http.server in this order, the first one outermost. olmkit.runtime.listener's connection_tracking_middleware goes
outside of them. An unexpected error is logged here with its traceback, which the client does not get.
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
"""Sent with each 503."""

REQUEST_DURATION = Histogram(
    "catalogd_http_request_duration_seconds",
    "Duration of requests for catalogs until their last byte.",
    ["code"],
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 10.0),
)
REQUESTS_IN_FLIGHT = Gauge("catalogd_http_requests_in_flight", "Requests for catalogs that are being answered.")

_MESSAGES = {
    "Not Found": "no such path; /openapi.json lists the paths",
    "Method Not Allowed": "only GET and HEAD are supported",
}
"""Messages instead of the bare reason phrases of aiohttp's router."""

log = logging.getLogger(__name__)


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


@web.middleware
async def json_errors_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer HTTPError, aiohttp's exceptions and unexpected errors with {"error": ...}."""
    try:
        return await handler(request)
    except HTTPError as error:
        return error.response()
    except web.HTTPException as error:
        kept = {name: value for name, value in error.headers.items() if name not in ("Content-Type", "Content-Length")}
        return HTTPError(error.status, _MESSAGES.get(error.reason, error.reason), kept).response()
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("an unexpected error", extra={"path": request.path[:200]})
        return HTTPError(500, "internal error, see the log of catalogd").response()


@web.middleware
async def reject_bodies_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Reject a GET or HEAD with a body without reading it. Other methods are rejected by the router."""
    if request.can_read_body and request.method in ("GET", "HEAD"):
        response = HTTPError(400, "the request must not have a body").response()
        response.force_close()
        return response
    return await handler(request)
