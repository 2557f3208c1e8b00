"""Delegated authentication and authorization: an aiohttp middleware that checks Bearer tokens at the API server.

Applies to requests for catalogs with --authenticate-requests, and always to replication and to the debug server of
operator-controller. A TokenReview returns the user of a token; a SubjectAccessReview decides whether the user may `get` the
path as a non-resource URL, which a ClusterRole grants by nonResourceURLs, or for `check_access` whether the user may do
something with an object. Results are cached by user and path without query, or object:
allowed ones for a minute, denied ones for ten seconds, also while the API server is unavailable. Tokens are cached by their
hash, and appear in no log and no response.

Reviews of new tokens and paths are rate limited (review_rate_limiter.py). Exempt are tokens that were valid, and paths that
existed for the user, within the last hour. Replication has limits of its own. Only paths that do not exist count against the
limit of a user, because the number of the others is bounded by the content.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from olmkit.errors import ApiError, Unavailable
from olmkit.runtime.client import Client
from olmkit.runtime.listener.listener import connection_of
from olmkit.tls.review_rate_limiter import ACCESS_REVIEW_RATES, TOKEN_REVIEW_RATES, ReviewRateLimiter, client_of

ALLOWED_TTL_SECONDS = 60.0
DENIED_TTL_SECONDS = 10.0
REVALIDATION_TTL_SECONDS = 3600.0
"""The time for which valid tokens and existing paths are exempt from the rate limits."""
REPLICATION_PREFIX = "/replication/"
"""Paths of replication. They have rate limits of their own, which clients of catalogs cannot use up."""
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""The key of a user's `extra` that differs for each token."""
MAX_CACHED_REVIEWS = 4096
"""The limit of each cache; when it is full, the least recently used entry is dropped."""
MAX_CONCURRENT_REVIEWS = 16
"""Requests to the API server; further ones wait."""
REVIEW_TIMEOUT_SECONDS = 5.0
"""A request waits this long for the API server; then it gets status 503 with Retry-After."""
RETRY_AFTER_SECONDS = "2"
MAX_NAME_LENGTH = 200
"""Characters of a user's name in the reason of a response."""

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

log = logging.getLogger(__name__)
Value = TypeVar("Value")


@dataclass(frozen=True)
class _CacheEntry(Generic[Value]):
    value: Value
    until: float


@dataclass(frozen=True)
class _User:
    """The user of a token, from a TokenReview."""

    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.facts.get("username", ""))

    @cached_property
    def identity(self) -> str:
        """The identity of a user: equal for all tokens of the user; different when groups or other attributes differ."""
        extra = {key: value for key, value in (self.facts.get("extra") or {}).items() if key != CREDENTIAL_ID}
        return hashlib.sha256(json.dumps({**self.facts, "extra": extra}, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class ResourceAccess:
    """A verb on one object of a cluster-scoped kind."""

    verb: str
    group: str
    resource: str
    name: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}.{self.group} {self.name}"


Access: TypeAlias = str | ResourceAccess
"""A path to get, or a ResourceAccess."""


@dataclass(frozen=True)
class _AllowedRequest:
    """An allowed request: its cache key, and the user whose rate limit it counts against ("" for none)."""

    cache_key: str
    limits: ReviewRateLimiter
    counts_for: str


class ExpiringCache(Generic[Value]):
    """An LRU cache of MAX_CACHED_REVIEWS values that expire. `clock` in seconds.

    Keys are hashed, because they contain paths, which clients choose.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: OrderedDict[bytes, _CacheEntry[Value]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        """The value; None when there is none or it has expired."""
        name = _hash_key(key)
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.until <= self._clock():
            del self._entries[name]
            return None
        self._entries.move_to_end(name)
        return entry.value

    def remove(self, key: str) -> None:
        """Remove it."""
        self._entries.pop(_hash_key(key), None)

    def put(self, key: str, value: Value, seconds: float) -> None:
        """Store it for that many seconds."""
        name = _hash_key(key)
        self._entries[name] = _CacheEntry(value, self._clock() + seconds)
        self._entries.move_to_end(name)
        while len(self._entries) > MAX_CACHED_REVIEWS:
            self._entries.popitem(last=False)


def _hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class DelegatedAuth:
    """`middleware` passes requests that the API server allows; others get 401, 403, or 429 or 503 with Retry-After."""

    def __init__(
        self, client: Client, clock: Callable[[], float] = time.monotonic, timeout: float = REVIEW_TIMEOUT_SECONDS
    ) -> None:
        self._client = client
        self._clock = clock
        self._timeout = timeout
        # Denied tokens and paths have caches of their own, so that they do not displace allowed ones.
        self._users: ExpiringCache[_User] = ExpiringCache(clock)
        self._invalid_tokens: ExpiringCache[str] = ExpiringCache(clock)
        self._allowed: ExpiringCache[bool] = ExpiringCache(clock)
        self._denied: ExpiringCache[str] = ExpiringCache(clock)
        self._valid_tokens: ExpiringCache[bool] = ExpiringCache(clock)
        self._existing_paths: ExpiringCache[bool] = ExpiringCache(clock)
        self._tokens, self._tokens_of_replicas = (
            ReviewRateLimiter(TOKEN_REVIEW_RATES),
            ReviewRateLimiter(TOKEN_REVIEW_RATES),
        )
        self._paths, self._paths_of_replicas = (
            ReviewRateLimiter(ACCESS_REVIEW_RATES),
            ReviewRateLimiter(ACCESS_REVIEW_RATES),
        )
        self._reviews: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)
        self._last_error = ""

    @property
    def middleware(self) -> Middleware:
        """The middleware for web.Application(middlewares=...)."""

        @web.middleware
        async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
            allowed = await self._check(request.headers.get("Authorization", ""), request.path, request.remote or "")
            connection = connection_of(request)
            if connection is not None:
                connection.mark_authorized()
            response = await handler(request)
            if response.status < 400:
                self._exempt_path(allowed)
            return response

        return checked

    async def check(self, authorization: str, path: str, address: str) -> None:
        """Return when the token of the header may get the path; `address` is the client's, "" when it is not known.

        Raises web.HTTPException.
        """
        await self._check(authorization, path, address)

    async def check_access(self, authorization: str, access: ResourceAccess, address: str) -> None:
        """Return when the user of the token of the header has the access; see `check`. Raises web.HTTPException."""
        await self._check(authorization, access, address)

    async def _check(self, authorization: str, access: Access, address: str) -> _AllowedRequest:
        kind, _, token = authorization.partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token:
            raise _unauthorized("send a token: Authorization: Bearer <token>")
        if not _is_text(token):
            raise _unauthorized("the token is not valid")
        token_hash = hashlib.sha256(token.encode()).hexdigest()
        if self._users.get(token_hash) is None and self._invalid_tokens.get(token_hash) is None:
            self._check_token_limit(token_hash, access, address)
            await self._review_once(token_hash, lambda: self._review_token(token_hash, token))
        user = self._users.get(token_hash)
        if user is None:
            raise _unauthorized(self._invalid_tokens.get(token_hash) or "the token is not valid")
        cache_key = f"{user.identity} {access}"
        limits = self._paths_of_replicas if _is_replication(access) else self._paths
        counts_for = ""
        if self._allowed.get(cache_key) is None and self._denied.get(cache_key) is None:
            counts_for = self._check_path_limit(cache_key, limits, user)
            await self._review_once(cache_key, lambda: self._review_access(cache_key, user, access))
        if self._allowed.get(cache_key) is None:
            refused = "get this path: a ClusterRole with nonResourceURLs grants it"
            if isinstance(access, ResourceAccess):
                refused = for_status_line(str(access))
            raise web.HTTPForbidden(reason=f"{for_status_line(user.name)} may not {refused}")
        return _AllowedRequest(cache_key, limits, counts_for)

    def _check_path_limit(self, cache_key: str, limits: ReviewRateLimiter, user: _User) -> str:
        """The user whose rate limit the review of the path counts against. Raises 429 above the limit."""
        if cache_key in self._reviews or self._existing_paths.get(cache_key):
            return ""
        if not limits.take(user.name, self._clock()):
            raise _too_many("new paths")
        return user.name

    def _exempt_path(self, allowed: _AllowedRequest) -> None:
        """The path exists: exempt it, and return its review to the rate limiter."""
        self._existing_paths.put(allowed.cache_key, True, REVALIDATION_TTL_SECONDS)
        if allowed.counts_for:
            allowed.limits.refund(allowed.counts_for)

    def _check_token_limit(self, token_hash: str, access: Access, address: str) -> None:
        """Raises 429 when the review of the token exceeds the rate limit."""
        if token_hash in self._reviews or self._valid_tokens.get(token_hash):
            return
        limits = self._tokens_of_replicas if _is_replication(access) else self._tokens
        if not limits.take(client_of(address), self._clock()):
            raise _too_many("new tokens")

    async def _review_once(self, key: str, review: Callable[[], Awaitable[None]]) -> None:
        """Send a review, or wait for an equal one; a client that disconnects does not cancel it. Raises 503."""
        task = self._reviews.get(key)
        if task is None:
            task = self._reviews[key] = asyncio.ensure_future(self._run_review(review))
            task.add_done_callback(lambda done: self._review_done(key, done))
        try:
            await asyncio.shield(task)
        except ApiError as error:
            self._log_error(str(error))
            raise web.HTTPServiceUnavailable(
                reason="the API server, which authorizes requests, does not respond",
                headers={"Retry-After": RETRY_AFTER_SECONDS},
            ) from error

    def _review_done(self, key: str, done: asyncio.Task[None]) -> None:
        self._reviews.pop(key, None)
        if not done.cancelled():
            done.exception()  # the request that waited may have been cancelled

    async def _run_review(self, review: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(self._timeout), self._slots:
                await review()
        except TimeoutError as error:
            raise Unavailable(0, "NoAnswer", "no answer from the API server in time") from error
        self._last_error = ""

    def _log_error(self, error: str) -> None:
        """Log an error once, not for each request."""
        if error != self._last_error:
            log.warning("token and access reviews fail", extra={"error": error})
        self._last_error = error

    async def _review_token(self, token_hash: str, token: str) -> None:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = (await self._client.request("POST", TOKEN_REVIEWS, body=body)).get("status") or {}
        if status.get("authenticated"):
            self._users.put(token_hash, _User(status.get("user") or {}), ALLOWED_TTL_SECONDS)
            self._valid_tokens.put(token_hash, True, REVALIDATION_TTL_SECONDS)
        else:
            self._valid_tokens.remove(token_hash)
            self._invalid_tokens.put(token_hash, "the token is not valid or has expired", DENIED_TTL_SECONDS)

    async def _review_access(self, cache_key: str, user: _User, access: Access) -> None:
        # A TokenReview has `username`, a SubjectAccessReview `user`.
        spec = {key: user.facts[key] for key in ("uid", "groups", "extra") if user.facts.get(key)}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                **spec,
                "user": user.name,
                **_attributes(access),
            },
        }
        status = (await self._client.request("POST", ACCESS_REVIEWS, body=body)).get("status") or {}
        if status.get("allowed"):
            self._allowed.put(cache_key, True, ALLOWED_TTL_SECONDS)
        else:
            self._existing_paths.remove(cache_key)
            self._denied.put(cache_key, "denied", DENIED_TTL_SECONDS)


def _is_replication(access: Access) -> bool:
    return isinstance(access, str) and access.startswith(REPLICATION_PREFIX)


def _attributes(access: Access) -> dict[str, Any]:
    """The part of a SubjectAccessReview that names the access."""
    if isinstance(access, str):
        return {"nonResourceAttributes": {"path": access, "verb": "get"}}
    return {"resourceAttributes": asdict(access)}


def for_status_line(name: str) -> str:
    """A user's name, limited to characters that a status line can contain."""
    return "".join(each if " " <= each <= "~" else "?" for each in name)[:MAX_NAME_LENGTH]


def _is_text(token: str) -> bool:
    """Report whether the header had UTF-8: only that can be sent in a TokenReview."""
    try:
        token.encode()
    except UnicodeEncodeError:
        return False
    return True


def _too_many(what: str) -> web.HTTPException:
    return web.HTTPTooManyRequests(
        reason=f"too many {what}: try again later", headers={"Retry-After": RETRY_AFTER_SECONDS}
    )


def _unauthorized(reason: str) -> web.HTTPException:
    return web.HTTPUnauthorized(reason=reason, headers={"WWW-Authenticate": "Bearer"})
