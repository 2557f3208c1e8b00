"""Who may read what is served, asked of the API server: an aiohttp middleware for Bearer tokens.

For all that is served with --authenticate-requests, and always for what replicas give one another. A TokenReview says whose a
token is; then a SubjectAccessReview says whether its owner may `get` the path as a non-resource URL, which a ClusterRole grants
by nonResourceURLs. What was allowed counts for a minute, what was denied for ten seconds, also while the API server is away, for
all tokens of the owner and whatever the query. A token is kept by its hash and is in no log and no answer.

Tokens and paths that have not been seen before are reviewed at a limited rate (olmkit.tls.review_rate_limiter). Not limited are
a token that was valid, and a path that gave its owner something, within the last hour; replicas have limits of their own. A path
counts against its owner only if it gives nothing: there are as many of the others as there is content.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from olmkit.errors import ApiError, Unavailable
from olmkit.runtime.client import Client
from olmkit.runtime.listener import connections
from olmkit.tls.review_rate_limiter import ACCESS_REVIEW_RATES, TOKEN_REVIEW_RATES, ReviewRateLimiter, client_of

ALLOWED_TTL_SECONDS = 60.0
DENIED_TTL_SECONDS = 10.0
REVALIDATION_TTL_SECONDS = 3600.0
"""How long a token that was valid, and a path that gave something, is reviewed again without a limit."""
REPLICATION_PREFIX = "/replication/"
"""Paths of replicas, which have limits of their own: clients of catalogs never use them up."""
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""What the API server adds to a user's `extra` that is another for each token."""
MAX_CACHED_REVIEWS = 4096
"""Answers kept of each sort: more tokens or paths than that are asked for again."""
MAX_CONCURRENT_REVIEWS = 16
"""Questions under way to the API server; more wait for their turn."""
REVIEW_TIMEOUT_SECONDS = 5.0
"""How long a request waits for the API server before it is told to come back."""
RETRY_AFTER_SECONDS = "2"
MAX_NAME_LENGTH = 200
"""Characters of a user's name that a refusal quotes; it stands in the status line."""

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

log = logging.getLogger(__name__)
Value = TypeVar("Value")


@dataclass(frozen=True)
class _Kept(Generic[Value]):
    value: Value
    until: float


@dataclass(frozen=True)
class _User:
    """The owner of a token, as a TokenReview says."""

    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.facts.get("username", ""))

    @cached_property
    def identity(self) -> str:
        """The same for all tokens of one owner; another when groups or anything else that may count differ."""
        extra = {key: said for key, said in (self.facts.get("extra") or {}).items() if key != CREDENTIAL_ID}
        return hashlib.sha256(json.dumps({**self.facts, "extra": extra}, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Granted:
    """What was let through: the path as it is remembered, and against whose share it counts ("": against nobody's)."""

    asked: str
    limits: ReviewRateLimiter
    counts_for: str


class ExpiringCache(Generic[Value]):
    """Values for a time, REMEMBERED of them: the one that was used longest ago goes first. `clock` in seconds.

    Keys are kept by their hash: they hold paths, which clients choose.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, _Kept[Value]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        """The value, None when there is none or its time is over."""
        name = _hashed(key)
        kept = self._kept.get(name)
        if kept is None:
            return None
        if kept.until <= self._clock():
            del self._kept[name]
            return None
        self._kept.move_to_end(name)
        return kept.value

    def remove(self, key: str) -> None:
        """Forget it."""
        self._kept.pop(_hashed(key), None)

    def put(self, key: str, value: Value, seconds: float) -> None:
        """Keep it for that long."""
        name = _hashed(key)
        self._kept[name] = _Kept(value, self._clock() + seconds)
        self._kept.move_to_end(name)
        while len(self._kept) > MAX_CACHED_REVIEWS:
            self._kept.popitem(last=False)


def _hashed(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class DelegatedAuth:
    """`middleware` lets through whom the API server allows; raises 401, 403, or 429 or 503 (with Retry-After) for all others."""

    def __init__(
        self, client: Client, clock: Callable[[], float] = time.monotonic, patience: float = REVIEW_TIMEOUT_SECONDS
    ) -> None:
        self._client = client
        self._clock = clock
        self._patience = patience
        # What is denied is kept apart: who sends nonsense shall not push out what is in use.
        self._users: ExpiringCache[_User] = ExpiringCache(clock)
        self._strangers: ExpiringCache[str] = ExpiringCache(clock)
        self._allowed: ExpiringCache[bool] = ExpiringCache(clock)
        self._denied: ExpiringCache[str] = ExpiringCache(clock)
        self._valid_before: ExpiringCache[bool] = ExpiringCache(clock)
        self._given_before: ExpiringCache[bool] = ExpiringCache(clock)
        self._tokens, self._tokens_of_replicas = (
            ReviewRateLimiter(TOKEN_REVIEW_RATES),
            ReviewRateLimiter(TOKEN_REVIEW_RATES),
        )
        self._paths, self._paths_of_replicas = (
            ReviewRateLimiter(ACCESS_REVIEW_RATES),
            ReviewRateLimiter(ACCESS_REVIEW_RATES),
        )
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)
        self._trouble = ""

    @property
    def middleware(self) -> Middleware:
        """For web.Application(middlewares=...)."""

        @web.middleware
        async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
            granted = await self._check(request.headers.get("Authorization", ""), request.path, request.remote or "")
            connection = connections.connection_of(request)
            if connection is not None:
                connection.mark_authorized()
            response = await handler(request)
            if response.status < 400:
                self._gave(granted)
            return response

        return checked

    async def check(self, authorization: str, path: str, address: str) -> None:
        """Return when the header's token may get the path; `address` is the client's, "" when it is not known.

        Raises web.HTTPException.
        """
        await self._check(authorization, path, address)

    async def _check(self, authorization: str, path: str, address: str) -> _Granted:
        kind, _, token = authorization.partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token:
            raise _unauthorized("send a token: Authorization: Bearer <token>")
        who = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        if self._users.get(who) is None and self._strangers.get(who) is None:
            self._check_token_limit(who, path, address)
            await self._once(who, lambda: self._review_token(who, token))
        user = self._users.get(who)
        if user is None:
            raise _unauthorized(self._strangers.get(who) or "the token is not valid")
        asked = f"{user.identity} {path}"
        limits = self._paths_of_replicas if path.startswith(REPLICATION_PREFIX) else self._paths
        counts_for = ""
        if self._allowed.get(asked) is None and self._denied.get(asked) is None:
            counts_for = self._check_path_limit(asked, limits, user)
            await self._once(asked, lambda: self._review_access(asked, user, path))
        if self._allowed.get(asked) is None:
            raise web.HTTPForbidden(
                reason=f"{for_status_line(user.name)} may not get this path: a ClusterRole with nonResourceURLs grants it"
            )
        return _Granted(asked, limits, counts_for)

    def _check_path_limit(self, asked: str, limits: ReviewRateLimiter, user: _User) -> str:
        """Against whose share the path's review counts. Raises 429 when it is one too many."""
        if asked in self._asking or self._given_before.get(asked):
            return ""
        if not limits.take(user.name, self._clock()):
            raise _too_many("paths that have not been asked for before")
        return user.name

    def _gave(self, granted: _Granted) -> None:
        """The path is one that there is."""
        self._given_before.put(granted.asked, True, REVALIDATION_TTL_SECONDS)
        if granted.counts_for:
            granted.limits.refund(granted.counts_for)

    def _check_token_limit(self, who: str, path: str, address: str) -> None:
        """Raises 429 when that token's review is one too many."""
        if who in self._asking or self._valid_before.get(who):
            return
        limits = self._tokens_of_replicas if path.startswith(REPLICATION_PREFIX) else self._tokens
        if not limits.take(client_of(address), self._clock()):
            raise _too_many("tokens that have not been seen before")

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
                headers={"Retry-After": RETRY_AFTER_SECONDS},
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
            self._users.put(who, _User(status.get("user") or {}), ALLOWED_TTL_SECONDS)
            self._valid_before.put(who, True, REVALIDATION_TTL_SECONDS)
        else:
            self._valid_before.remove(who)
            self._strangers.put(who, "the token is not valid, or not any more", DENIED_TTL_SECONDS)

    async def _review_access(self, asked: str, user: _User, path: str) -> None:
        # A TokenReview says `username` and `extra`, a SubjectAccessReview takes `user` and `extra`.
        spec = {key: user.facts[key] for key in ("uid", "groups", "extra") if user.facts.get(key)}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                **spec,
                "user": user.name,
                "nonResourceAttributes": {"path": path, "verb": "get"},
            },
        }
        status = (await self._client.request("POST", ACCESS_REVIEWS, body=body)).get("status") or {}
        if status.get("allowed"):
            self._allowed.put(asked, True, ALLOWED_TTL_SECONDS)
        else:
            self._given_before.remove(asked)
            self._denied.put(asked, "denied", DENIED_TTL_SECONDS)


def for_status_line(name: str) -> str:
    """A user's name, which may be anything, as far as the first line of an answer can hold it."""
    return "".join(each if " " <= each <= "~" else "?" for each in name)[:MAX_NAME_LENGTH]


def _too_many(what: str) -> web.HTTPException:
    return web.HTTPTooManyRequests(
        reason=f"too many {what}: try again later", headers={"Retry-After": RETRY_AFTER_SECONDS}
    )


def _unauthorized(said: str) -> web.HTTPException:
    return web.HTTPUnauthorized(reason=said, headers={"WWW-Authenticate": "Bearer"})
