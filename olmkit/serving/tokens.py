"""Who may read what is served, asked of the API server: an aiohttp middleware for Bearer tokens.

Used with --authenticate-requests. A TokenReview says whose a token is; then a SubjectAccessReview says whether its owner may
`get` the path as a non-resource URL, which a ClusterRole grants by nonResourceURLs. What was allowed counts for a minute, what
was denied for ten seconds, also while the API server is away. A token is kept by its hash and is in no log and no answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from olmkit.client import Client
from olmkit.errors import ApiError, Unavailable

ALLOWED_SECONDS = 60.0
DENIED_SECONDS = 10.0
REMEMBERED = 4096
"""Answers kept of each sort: more tokens or paths than that are asked for again."""
AT_ONCE = 16
"""Questions under way to the API server; more wait for their turn."""
PATIENCE_SECONDS = 5.0
"""How long a request waits for the API server before it is told to come back."""
RETRY_AFTER = "2"
NAME_LENGTH = 200
"""Characters of a user's name that a refusal quotes; it stands in the status line."""

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

log = logging.getLogger(__name__)
Value = TypeVar("Value")


@dataclass(frozen=True)
class _Kept(Generic[Value]):
    value: Value
    until: float


class Remembered(Generic[Value]):
    """Values for a time, REMEMBERED of them: the one that was used longest ago goes first. `clock` in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, _Kept[Value]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        """The value, None when there is none or its time is over."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.until <= self._clock():
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return kept.value

    def put(self, key: str, value: Value, seconds: float) -> None:
        """Keep it for that long."""
        self._kept[key] = _Kept(value, self._clock() + seconds)
        self._kept.move_to_end(key)
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)


class TokenCheck:
    """`middleware` lets through whom the API server allows; raises 401, 403 or 503 (with Retry-After) for all others."""

    def __init__(
        self, client: Client, clock: Callable[[], float] = time.monotonic, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._client = client
        self._patience = patience
        # What is denied is kept apart: who sends nonsense shall not push out what is in use.
        self._users: Remembered[Mapping[str, Any]] = Remembered(clock)
        self._strangers: Remembered[str] = Remembered(clock)
        self._allowed: Remembered[bool] = Remembered(clock)
        self._denied: Remembered[str] = Remembered(clock)
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._trouble = ""

    @property
    def middleware(self) -> Middleware:
        """For web.Application(middlewares=...)."""

        @web.middleware
        async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
            await self.check(request.headers.get("Authorization", ""), request.path)
            return await handler(request)

        return checked

    async def check(self, authorization: str, path: str) -> None:
        """Return when the header's token may get the path. Raises web.HTTPException."""
        kind, _, token = authorization.partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token:
            raise _unauthorized("send a token: Authorization: Bearer <token>")
        who = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        if self._users.get(who) is None and self._strangers.get(who) is None:
            await self._once(who, lambda: self._review_token(who, token))
        user = self._users.get(who)
        if user is None:
            raise _unauthorized(self._strangers.get(who) or "the token is not valid")
        asked = f"{who} {path}"
        if self._allowed.get(asked) is None and self._denied.get(asked) is None:
            await self._once(asked, lambda: self._review_access(asked, user, path))
        if self._allowed.get(asked) is None:
            name = for_status_line(str(user.get("username", "")))
            raise web.HTTPForbidden(
                reason=f"{name} may not get this path: a ClusterRole with nonResourceURLs grants it"
            )

    async def _once(self, key: str, ask: Callable[[], Awaitable[None]]) -> None:
        """Ask, or wait for the one who asks the same already; who goes away stops nobody. Raises 503."""
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.ensure_future(self._in_turn(ask))
            task.add_done_callback(lambda done: self._asked(key, done))
        try:
            await asyncio.shield(task)
        except ApiError as error:
            self._fail(str(error))
            raise web.HTTPServiceUnavailable(
                reason="the API server, which knows who may read this, does not answer",
                headers={"Retry-After": RETRY_AFTER},
            ) from error

    def _asked(self, key: str, done: asyncio.Task[None]) -> None:
        self._asking.pop(key, None)
        if not done.cancelled():
            done.exception()  # whoever waited for it may have gone away

    async def _in_turn(self, ask: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(self._patience), self._turns:
                await ask()
        except TimeoutError as error:
            raise Unavailable(0, "NoAnswer", "no answer from the API server in time") from error
        self._trouble = ""

    def _fail(self, said: str) -> None:
        """Log the beginning of a trouble, not each request that it costs."""
        if said != self._trouble:
            log.warning("who may read cannot be asked of the API server", extra={"error": said})
        self._trouble = said

    async def _review_token(self, who: str, token: str) -> None:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = (await self._client.request("POST", TOKEN_REVIEWS, body=body)).get("status") or {}
        if status.get("authenticated"):
            self._users.put(who, status.get("user") or {}, ALLOWED_SECONDS)
        else:
            self._strangers.put(who, "the token is not valid, or not any more", DENIED_SECONDS)

    async def _review_access(self, asked: str, user: Mapping[str, Any], path: str) -> None:
        # A TokenReview says `username` and `extra`, a SubjectAccessReview takes `user` and `extra`.
        spec = {key: user[key] for key in ("uid", "groups", "extra") if user.get(key)}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                **spec,
                "user": user.get("username", ""),
                "nonResourceAttributes": {"path": path, "verb": "get"},
            },
        }
        status = (await self._client.request("POST", ACCESS_REVIEWS, body=body)).get("status") or {}
        if status.get("allowed"):
            self._allowed.put(asked, True, ALLOWED_SECONDS)
        else:
            self._denied.put(asked, "denied", DENIED_SECONDS)


def for_status_line(name: str) -> str:
    """A user's name, which may be anything, as far as the first line of an answer can hold it."""
    return "".join(each if " " <= each <= "~" else "?" for each in name)[:NAME_LENGTH]


def _unauthorized(said: str) -> web.HTTPException:
    return web.HTTPUnauthorized(reason=said, headers={"WWW-Authenticate": "Bearer"})
