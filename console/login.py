"""Ways in which a person gets a session: a pasted token, the token that a proxy sends, or a link that `olm console` opens once.

A token is checked by asking the API server who it is (SelfSubjectReview), and by nothing else. Tokens are in the sealed cookie
and in requests to the API server: never in a URL, a log line or a page.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from aiohttp import web

from console.page import User
from console.session import (
    SESSION_SECONDS,
    Sealer,
    Ticket,
    join_parts,
    new_id,
    part_names,
    split_parts,
    token_expiry,
)
from console.users import Rate, Users, UserSession
from olmkit.errors import ApiError, Forbidden, OlmError
from olmkit.runtime.client import Client

SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ONE_TIME_SECONDS = 60.0
MAX_TOKEN_LENGTH = 4800
"""Longer ones do not fit into two cookies."""
LOGINS_PER_SECOND, LOGIN_BURST = 0.5, 10.0
"""Of all attempts of one address."""
MAX_ADDRESSES = 1000
ANONYMOUS = "system:anonymous"


class AuthMode(Enum):
    """The ways in which sessions come about."""

    TOKEN = "token"
    HEADER = "header"
    KUBECONFIG = "kubeconfig"


class LoginRefused(Exception):
    """The message is for the person, and contains nothing of the token."""


async def who_is(client: Client) -> User:
    """The user that the API server sees behind a client. Raises ApiError."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.request("POST", SELF_REVIEWS, body=body)
    facts = (answer.get("status") or {}).get("userInfo") or {}
    return User(str(facts.get("username", "")), tuple(map(str, facts.get("groups") or ())))


class OneTimeLinks:
    """Tokens of links that open a session once, within a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def make(self) -> str:
        """A new token of 256 bits."""
        token = secrets.token_urlsafe(32)
        self._until[_digest(token)] = self._clock() + ONE_TIME_SECONDS
        return token

    def use(self, token: str) -> bool:
        """Report whether the token opens a session; it is used up."""
        until = self._until.pop(_digest(token), None)
        return until is not None and self._clock() < until


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class Cookies:
    """The cookies of a console: `name` is that of the session. Without TLS, on loopback, none is marked Secure."""

    name: str
    is_secure: bool

    @classmethod
    def on_loopback(cls, port: int) -> Cookies:
        """With the port in the name, because browsers send cookies to all ports of a host."""
        return cls(f"olm-console-{port}", is_secure=False)

    @classmethod
    def in_cluster(cls) -> Cookies:
        """With the prefix that makes browsers refuse cookies that another host or a page without TLS has set."""
        return cls("__Host-olm-console", is_secure=True)

    def set(self, response: web.StreamResponse, name: str, value: str, seconds: int) -> None:
        """Set a cookie that no script and no other site gets."""
        options = {"max_age": seconds, "path": "/", "httponly": True, "secure": self.is_secure, "samesite": "Strict"}
        response.set_cookie(name, value, **options)  # type: ignore[arg-type]

    def delete(self, response: web.StreamResponse, name: str) -> None:
        """Remove a cookie."""
        self.set(response, name, "", 0)


class Logins:
    """Opens sessions, and finds that of a request."""

    def __init__(self, mode: AuthMode, users: Users, sealer: Sealer, cookies: Callable[[], Cookies]) -> None:
        """`cookies` is called when they are known: on loopback their names have the port."""
        self.mode = mode
        self.links = OneTimeLinks()
        self.is_open_to_logout = mode is not AuthMode.HEADER
        self._users = users
        self._sealer = sealer
        self._cookies = cookies
        self._rates: dict[str, Rate] = {}

    async def find(self, request: web.Request) -> UserSession | None:
        """The session of a request; None without one. Raises ApiError while a token cannot be checked, and TooManySessions."""
        if self.mode is AuthMode.HEADER:
            return await self._by_header(request.headers.get("Authorization", ""))
        name = self._cookies().name
        sealed = join_parts(request.cookies, name)
        ticket = Ticket.load(self._sealer.open(sealed, name), time.time()) if sealed else None
        if ticket is None or self._users.has_ended(ticket.id):
            return None
        return self._users.get(ticket.id) or self._users.add(self._opened(ticket))

    async def _by_header(self, authorization: str) -> UserSession | None:
        kind, _, token = authorization.partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not is_token(token):
            return None
        identity = self._sealer.mark("token", token)
        if found := self._users.get(identity):
            found.expires = time.time() + SESSION_SECONDS  # the proxy has sent the token again
            return found
        client = self._users.client_of(token)
        user = await _checked(client)
        return self._users.add(UserSession(identity, user, client, f"user {user.name}", time.time() + SESSION_SECONDS))

    def _opened(self, ticket: Ticket) -> UserSession:
        client = self._users.client_of(ticket.token if self.mode is AuthMode.TOKEN else None)
        return UserSession(ticket.id, User(ticket.user, ticket.groups), client, ticket.id, ticket.expires)

    async def log_in(self, token: str, address: str) -> Ticket:
        """The ticket for a pasted token. Raises LoginRefused, and ApiError if the API server cannot be asked."""
        if not self._rate(address).take():
            raise LoginRefused("There were too many attempts. Try again in a minute.")
        token = token.strip().removeprefix("Bearer ").strip()
        if not token:
            raise LoginRefused("Paste a token.")
        if len(token) > MAX_TOKEN_LENGTH:
            raise LoginRefused(f"The token is longer than {MAX_TOKEN_LENGTH} characters. Use one of a ServiceAccount.")
        if not is_token(token):
            raise LoginRefused("The text is not a token: a token has no blanks and no line ends.")
        try:
            user = await _checked(self._users.client_of(token))
        except Forbidden as error:
            raise LoginRefused(
                "The API server does not accept the token: it is not valid, or it has expired."
            ) from error
        latest = int(time.time()) + SESSION_SECONDS
        return Ticket(new_id(), user.name, min(latest, token_expiry(token) or latest), token, user.groups)

    async def log_in_once(self, link: str) -> Ticket | None:
        """The ticket for a link of `olm console`; None if it is not valid any more. Raises ApiError."""
        if self.mode is not AuthMode.KUBECONFIG or not self.links.use(link):
            return None
        user = await who_is(self._users.client_of(None))
        return Ticket(new_id(), user.name, int(time.time()) + SESSION_SECONDS, groups=user.groups)

    def keep(self, response: web.StreamResponse, ticket: Ticket) -> None:
        """Put the session into the cookies of a response. Raises LoginRefused if it is too long for them."""
        cookies = self._cookies()
        # Groups are for display only: they are the first to go.
        for groups in (ticket.groups, ()):
            kept = Ticket(ticket.id, ticket.user, ticket.expires, ticket.token, groups)
            try:
                parts = split_parts(self._sealer.seal(kept.dump(), cookies.name), cookies.name)
                break
            except OlmError as error:
                if not groups:
                    raise LoginRefused(error.message) from error
        for name, value in parts.items():
            if value:
                cookies.set(response, name, value, max(int(ticket.expires - time.time()), 1))
            else:
                cookies.delete(response, name)

    def forget(self, response: web.StreamResponse, session: UserSession | None) -> None:
        """End a session."""
        if session is not None:
            self._users.end(session.id)
        for name in part_names(self._cookies().name):
            self._cookies().delete(response, name)

    def mark_of(self, session: UserSession) -> str:
        """The mark that the forms of a session carry."""
        return self._sealer.mark("form", session.form_id)

    def is_mark(self, mark: str, session: UserSession) -> bool:
        """Report whether a form is of the session."""
        return self._sealer.is_mark(mark, "form", session.form_id)

    def _rate(self, address: str) -> Rate:
        if len(self._rates) >= MAX_ADDRESSES and address not in self._rates:
            self._rates.clear()
        return self._rates.setdefault(address, Rate(LOGINS_PER_SECOND, LOGIN_BURST))


async def _checked(client: Client) -> User:
    """The user of a client. Raises Forbidden also for nobody."""
    user = await who_is(client)
    if not user.name or user.name == ANONYMOUS:
        raise Forbidden(401, "Unauthorized", "the API server does not know the token")
    return user


def is_token(token: str) -> bool:
    """Report whether the text can be sent as a token: printable ASCII without blanks."""
    return 0 < len(token) <= MAX_TOKEN_LENGTH * 4 and token.isascii() and token.isprintable() and " " not in token


def is_unauthorized(error: ApiError) -> bool:
    """Report whether the API server no longer accepts the credentials of a session."""
    return error.status == 401
