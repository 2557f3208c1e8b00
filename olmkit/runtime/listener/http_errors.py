"""Errors of an HTTP server as JSON, {"error": "..."}, and the limit on bodies.

json_errors_middleware is for applications with an API (catalogd.http, operator_controller.debug, olmkit.admission);
body_limit_middleware is added to each application by olmkit.runtime.listener.application_server. An unexpected error is logged
here with its traceback, which the client does not get.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from olmkit.errors import encodable
from olmkit.runtime.listener.listener import connection_of

RETRY_AFTER_HEADER = {"Retry-After": "2"}
"""Sent with each 503."""

BODY_LIMITS: web.AppKey[dict[str, int]] = web.AppKey("body_limits", dict)
"""Bytes of bodies by the path of a route, as it was added, for routes with another limit than the listener has. Their handlers
read the body in parts."""

log = logging.getLogger(__name__)


class HTTPError(Exception):
    """Answered with this status and {"error": message} as JSON."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> web.Response:
        """The response with the message as JSON."""
        text = orjson.dumps({"error": encodable(self.message)}) + b"\n"
        return web.Response(body=text, status=self.status, headers=self.headers, content_type="application/json")


def json_errors_middleware(process: str, messages: Mapping[str, str]) -> Middleware:
    """Answers HTTPError, aiohttp's exceptions and unexpected errors with {"error": ...}.

    `process` is whose log has more about an unexpected error; `messages` replace reason phrases of aiohttp.
    """

    @web.middleware
    async def json_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except HTTPError as error:
            return error.response()
        except web.HTTPException as error:
            kept = {
                name: value for name, value in error.headers.items() if name not in ("Content-Type", "Content-Length")
            }
            return HTTPError(error.status, messages.get(error.reason, error.reason), kept).response()
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("an unexpected error", extra={"path": request.path[:200]})
            return HTTPError(500, f"internal error, see the log of {process}").response()

    return json_errors


def body_too_long(limit: int) -> HTTPError:
    """The response to a request whose body is longer than this number of bytes."""
    return HTTPError(
        413, f"the body of the request is longer than {limit} bytes" if limit else "the request must not have a body"
    )


@web.middleware
async def body_limit_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer 413 to a request whose body is longer than its listener, or its route, accepts, without reading it.

    A body of unknown length is read by the handler: the application has the same `client_max_size`.
    """
    connection = connection_of(request)
    limit = 0 if connection is None else connection.max_body_bytes
    resource = request.match_info.route.resource
    if resource is not None:
        limit = request.app.get(BODY_LIMITS, {}).get(resource.canonical, limit)
    if request.can_read_body and (not limit or (request.content_length or 0) > limit):
        response = body_too_long(limit).response()
        response.force_close()
        return response
    return await handler(request)
