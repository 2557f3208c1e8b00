"""Serves the last resolution of each Operator as JSON: the whole trace, where the status has a summary. docs/resolution.md.

Every request needs a token that may get its path (olmkit.tls.delegated_auth), because a trace names packages and versions of all
catalogs. Runs on every replica, but only the leader resolves: the others answer 503. Reads an AnswerStore; resolves nothing and
writes nothing.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Middleware

from olmkit.jobs.codec import encode
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.http_errors import (
    RETRY_AFTER_HEADER,
    HTTPError,
    json_errors_middleware,
)
from olmkit.runtime.listener.listener import (
    ConnectionLimits,
    connection_limit_middleware,
    connection_tracking_middleware,
)
from olmkit.runtime.manager import Manager
from olmkit.runtime.probes import DISABLED_ADDRESS
from olmkit.sources.errors import quoted
from olmkit.tls.service import OPERATOR_SERVICE
from olmkit.tls.setup import authenticated_serving
from operator_controller.resolve.answers.answer import Answer

RESOLUTIONS_PATH = "/debug/resolutions"
CONNECTION_LIMITS = ConnectionLimits(max_connections=16)
"""Limits of the port."""
SHUTDOWN_GRACE_SECONDS = 1.0
"""The time for which requests in progress may continue when the server ends."""

ERROR_MESSAGES = {
    "Not Found": f"no such path; try {RESOLUTIONS_PATH}",
    "Method Not Allowed": "only GET and HEAD are supported",
}
"""Messages instead of the bare reason phrases of aiohttp's router."""


class AnswerStore(Protocol):
    """The answers of the last Snapshot that was solved; operator_controller.resolution has one."""

    @property
    def snapshot_number(self) -> int:
        """The number of the Snapshot; 0 while this process has solved none since it leads."""

    @property
    def answers(self) -> Mapping[str, Answer]:
        """The answers by the names of their Operators."""


class DebugServer:
    """The HTTPS server. `is_leading`: whether this replica resolves."""

    def __init__(self, store: AnswerStore, is_leading: Callable[[], bool]) -> None:
        self._store = store
        self._is_leading = is_leading
        self._server: ApplicationServer | None = None
        self._encoding = asyncio.Lock()

    async def start(self, address: str, ssl_context: ssl.SSLContext, authorize: Middleware) -> int:
        """Listen on `host:port`; returns the port. Raises OlmError when it cannot listen."""
        application = web.Application(
            middlewares=[
                connection_tracking_middleware,
                json_errors_middleware("operator-controller", ERROR_MESSAGES),
                authorize,
                connection_limit_middleware,
            ]
        )
        application.router.add_get(RESOLUTIONS_PATH, self._list)
        application.router.add_get(f"{RESOLUTIONS_PATH}/{{operator}}", self._get)
        self._server = ApplicationServer(
            "debug",
            application,
            CONNECTION_LIMITS,
            shutdown_grace_seconds=SHUTDOWN_GRACE_SECONDS,
            ssl_context=ssl_context,
        )
        return await self._server.start(address)

    async def close(self) -> None:
        """Accept no more requests, and wait up to SHUTDOWN_GRACE_SECONDS for those in progress."""
        if self._server is not None:
            await self._server.close()

    async def _list(self, _: web.Request) -> web.Response:
        number, answers = self._answers()
        entries = [{"operator": name, "digest": answers[name].digest} for name in sorted(answers)]
        return _json({"snapshot": number, "resolutions": entries})

    async def _get(self, request: web.Request) -> web.Response:
        number, answers = self._answers()
        name = request.match_info["operator"]
        answer = answers.get(name)
        if answer is None:
            raise HTTPError(
                404, f"the Operator {quoted(name)} has no resolution: it does not exist, or is not resolved yet"
            )
        # The trace of a component with thousands of members takes a part of a second, which others must not wait for.
        async with self._encoding:
            return await asyncio.to_thread(lambda: _json({"snapshot": number, **_in_camel_case(encode(answer))}))

    def _answers(self) -> tuple[int, Mapping[str, Answer]]:
        """The number of the Snapshot and its answers. Raises HTTPError(503) if there are none."""
        if not self._is_leading():
            raise HTTPError(
                503,
                "this replica does not lead and resolves nothing; the Lease operator-controller names the leader",
                RETRY_AFTER_HEADER,
            )
        number = self._store.snapshot_number
        if not number:
            raise HTTPError(503, "nothing is resolved yet", RETRY_AFTER_HEADER)
        return number, self._store.answers


def _in_camel_case(value: Any) -> Any:
    """The JSON value with the keys of the API: all of them are names of fields."""
    if isinstance(value, dict):
        return {_camel_case(key): _in_camel_case(each) for key, each in value.items()}
    return [_in_camel_case(each) for each in value] if isinstance(value, list | tuple) else value


@cache
def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _json(value: object) -> web.Response:
    return web.Response(body=orjson.dumps(value) + b"\n", content_type="application/json")


async def serve_resolutions(manager: Manager, store: AnswerStore) -> int | None:
    """Serve the answers of the store on --debug-bind-address; returns the port, None if it is disabled. Raises OlmError."""
    address = manager.settings.extra.debug_bind_address
    if address == DISABLED_ADDRESS:
        return None
    context, authorize = authenticated_serving(manager, OPERATOR_SERVICE)
    server = DebugServer(store, lambda: manager.is_leading)
    manager.on_close(server.close)
    return await server.start(address, context, authorize)
