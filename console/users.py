"""The sessions that are open in this process: a client, reviews and a rate for each, bounded in number.

A session may be lost at any time: its cookie opens it again. The least recently used one without an open stream gives way, or
one of the user who has the most.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from console import metrics
from console.catalog_cache import CatalogCache
from console.catalog_service import CatalogService
from console.page import User
from console.user_client import UserClient
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError

MAX_SESSIONS = 200
REQUESTS_PER_SECOND = 20.0
BURST = 60.0
"""A page has a stream and icons: a few pages at once are no attack."""
OF_USER = 5
"""The requests of all sessions of one user, in those of one session: several people may use one account."""
NAMESPACES = Kind("", "v1", "Namespace", "namespaces")
MAX_NAMESPACES = 500
NAMESPACES_KEPT_SECONDS = 30.0
UNAUTHORIZED = 401


class Rate:
    """A bucket of requests that refills steadily."""

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._level, self._at = burst, clock()

    def take(self, weight: float = 1.0) -> bool:
        """Report whether one more request of this weight is within the rate."""
        now = self._clock()
        self._level = min(self._burst, self._level + (now - self._at) * self._per_second)
        self._at = now
        if self._level < weight:
            return False
        self._level -= weight
        return True


@dataclass(eq=False)
class UserSession:
    """One session. `form_id` is what the marks of its forms are made of. `expires` is a time in seconds since the epoch."""

    id: str
    user: User
    client: UserClient
    form_id: str
    expires: float
    rate: Rate = field(default_factory=lambda: Rate(REQUESTS_PER_SECOND, BURST))
    rate_of_user: Rate = field(default_factory=lambda: Rate(OF_USER * REQUESTS_PER_SECOND, OF_USER * BURST))
    """The same one in all sessions of the user."""
    streams: int = 0
    on_end: Callable[[], None] = lambda: None
    """Ends what is open for the session."""
    namespaces: tuple[str, ...] | None = None
    _namespaces_at: float | None = None

    def take(self, weight: float = 1.0) -> bool:
        """Report whether one more request of this weight is within the rates of the session and of its user."""
        return self.rate.take(weight) and self.rate_of_user.take(weight)

    async def read_namespaces(self) -> tuple[str, ...] | None:
        """The namespaces of the cluster, kept for a while; None if the user may not list them, or if there are too many.

        Raises Forbidden if the session is over.
        """
        now = time.monotonic()
        if self._namespaces_at is None or now - self._namespaces_at > NAMESPACES_KEPT_SECONDS:
            try:
                page, _ = await self.client.list(NAMESPACES, metadata_only=True)
                self.namespaces = _names(page) if len(page) <= MAX_NAMESPACES else None
            except ApiError as error:
                if error.status == UNAUTHORIZED:
                    raise
                self.namespaces = None
            self._namespaces_at = now
        return self.namespaces


def _names(objects: list[Object]) -> tuple[str, ...]:
    return tuple(sorted(str(each["metadata"]["name"]) for each in objects))


class TooManySessions(Exception):
    """All sessions are in use."""


class Users:
    """The sessions by id. `client` is the process's: anonymous, or with the credentials of a kubeconfig. Catalogs are read from
    `service` if there is one."""

    def __init__(self, client: UserClient, system_namespace: str, service: CatalogService | None = None) -> None:
        self._client = client
        self._service = service
        self._cache = CatalogCache()
        self._system_namespace = system_namespace
        self._sessions: OrderedDict[str, UserSession] = OrderedDict()
        self._ended: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, identity: str) -> UserSession | None:
        """An open session."""
        found = self._sessions.get(identity)
        if found is not None:
            self._sessions.move_to_end(identity)
        return found

    def client_of(self, token: str | None) -> UserClient:
        """A client with a token, or with the credentials of the process."""
        return self._client.for_user(token, self._cache, self._system_namespace, self._service)

    def add(self, session: UserSession) -> UserSession:
        """Open a session. Raises TooManySessions."""
        if len(self._sessions) >= MAX_SESSIONS:
            leaving = self._leaving(session.user.name)
            if leaving is None:
                raise TooManySessions
            self._sessions.pop(leaving.id).on_end()
        same = (each for each in self._sessions.values() if each.user.name == session.user.name)
        session.rate_of_user = next((each.rate_of_user for each in same), session.rate_of_user)
        self._sessions[session.id] = session
        metrics.SESSIONS.set(len(self._sessions))
        return session

    def _leaving(self, user: str) -> UserSession | None:
        """The session that gives way to a new one of a user: one without a stream, else one of the user who has the most, if that
        is more than the new one would be. So nobody keeps others out by many sessions of their own."""
        idle = next((each for each in self._sessions.values() if not each.streams), None)
        if idle is not None:
            return idle
        counts = Counter(each.user.name for each in self._sessions.values())
        name, most = counts.most_common(1)[0]
        if most <= counts[user] + 1:
            return None
        return next(each for each in self._sessions.values() if each.user.name == name)

    def end(self, identity: str) -> None:
        """The user has left: the cookie of the session opens it no more in this process."""
        self._ended[identity] = time.time()
        if len(self._ended) > 10 * MAX_SESSIONS:
            self._ended.popitem(last=False)
        session = self._sessions.pop(identity, None)
        metrics.SESSIONS.set(len(self._sessions))
        if session is not None:
            session.on_end()

    def has_ended(self, identity: str) -> bool:
        """Report whether the user has left the session."""
        return identity in self._ended
