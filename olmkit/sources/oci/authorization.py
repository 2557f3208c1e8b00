"""Who we are to a registry: from its challenge to the header that answers it, anonymously or with the login of a Secret.

Used by registry.py, one value per registry and repository. Nothing is sent before the registry asks for it, and a login goes only
to the host that its Secret names, and to the token service that this host itself names, if both are asked over verified TLS (why:
docs/decisions/0008-where-logins-go.md). What a redirect leads to is neither. Tokens are kept for the job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import orjson
from yarl import URL

from olmkit.errors import Waiting
from olmkit.sources.credentials import Login
from olmkit.sources.errors import RETRY_DELAY, SourceReason, unavailable
from olmkit.sources.network import Endpoint
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.transport import HttpResponse, Transport, authority

MAX_TOKEN_RESPONSE_BYTES = 1024**2
DENIED_STATUSES = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
CLIENT_ID = "olm-suite"
_SCHEME = re.compile(r"(?:^|,)\s*(bearer|basic|digest|negotiate|ntlm)(?=\s|$|,)", re.IGNORECASE)
_PARAMETER = re.compile(r'([a-zA-Z_]+)\s*=\s*"((?:[^"\\]|\\.)*)"|([a-zA-Z_]+)\s*=\s*([^\s",]+)')


@dataclass(frozen=True)
class _Service:
    """Where a token is asked for, and for what."""

    realm: URL
    query: Mapping[str, str]


class Authorization:
    """The header for one repository at one registry. `image` is what sentences name."""

    def __init__(self, transport: Transport, registries: Registries, endpoint: Endpoint, image: str) -> None:
        self._transport = transport
        self._credentials = registries.credentials
        self._login = registries.credentials.for_registry(endpoint.host, endpoint.repository)
        self._endpoint = endpoint
        self._image = image
        self._kept = registries.tokens
        self._sent = False
        """Whether the login went out."""
        self._service_host = ""
        self._key = (endpoint.host, endpoint.repository, self._login)

    @property
    def headers(self) -> dict[str, str]:
        """What earlier challenges taught; empty before the first."""
        known = self._kept.get(self._key)
        return {"Authorization": known} if known is not None else {}

    async def learn(self, asked: URL, answer: HttpResponse) -> bool:
        """Take the challenges of a 401. False when there is nothing to say to them, or it was said and did not help.

        Raises Waiting when a token cannot be had.
        """
        if answer.url.origin() != asked.origin():
            # What a redirect led to is not the registry: it is told nothing, and nothing is learned from it.
            return False
        before, login = self._kept.get(self._key), self._login
        wanted = challenges(answer.headers("WWW-Authenticate"))
        if "bearer" in wanted:
            header = await self._bearer(wanted["bearer"], login)
        elif "basic" in wanted and login is not None and login.basic:
            self._sent, header = True, login.basic
        else:
            return False
        self._kept[self._key] = header
        return header != before

    def refusal(self, answer: HttpResponse) -> Waiting:
        """The sentence for an answer that says no: 401, 403, or 400 of a token service."""
        secret, status = self._login.secret if self._login else "", answer.status
        told = self._sent or (self._login is not None and self._key in self._kept)
        if status == HTTPStatus.FORBIDDEN:
            whose = f" to the login of Secret {secret}" if told else ""
            return _unauthorized(f'{answer.server} denies access to "{self._image}"{whose} (403)')
        if authority(answer.url) not in (self._endpoint.host, self._service_host):
            return _unauthorized(
                f'{answer.server} wants credentials for "{self._image}" ({status}): none are sent there'
            )
        if told:
            return _unauthorized(f'{answer.server} refuses the login of Secret {secret} for "{self._image}" ({status})')
        wants = f'{answer.server} wants credentials for "{self._image}"'
        if secret:
            return _unauthorized(f"{wants} of a kind that Secret {secret} does not hold ({status})")
        host = self._endpoint.host
        give = f"no pull secret has a login for {host}; give one of the type kubernetes.io/dockerconfigjson that has"
        return _unauthorized(
            f"{wants} or has no such repository ({status}): {give}{self._credentials.common_secret_hint}"
        )

    async def _bearer(self, parameters: Mapping[str, str], login: Login | None) -> str:
        if login is not None and login.registry_token:
            self._sent = True
            return f"Bearer {login.registry_token}"
        service = self._service(parameters)
        self._service_host = authority(service.realm)
        if login is not None:
            self._check_may_hear(service.realm, login)
            self._sent = True
        if login is not None and login.identity_token:
            form = {
                "grant_type": "refresh_token",
                "client_id": CLIENT_ID,
                "refresh_token": login.identity_token,
                **service.query,
            }
            return await self._token("POST", service.realm, {}, form)
        headers = {"Authorization": login.basic} if login is not None and login.basic else {}
        return await self._token("GET", service.realm.update_query(service.query), headers, None)

    def _service(self, parameters: Mapping[str, str]) -> _Service:
        try:
            realm = URL(parameters.get("realm", "")).with_user(None).with_fragment(None)
        except ValueError:
            realm = URL()
        if realm.scheme not in ("http", "https") or not realm.host:
            raise unavailable(f"{self._endpoint.display_name} wants a token, but does not say where to get one")
        scope = parameters.get("scope") or f"repository:{self._endpoint.repository}:pull"
        service = {"service": parameters["service"]} if "service" in parameters else {}
        return _Service(realm, {"scope": scope, **service})

    def _check_may_hear(self, realm: URL, login: Login) -> None:
        """Raises Waiting when the login must not go to the token service."""
        host, insecure = authority(realm), self._endpoint.insecure
        sends = f"{self._endpoint.display_name} sends us to {host} for a token"
        if realm.scheme == "http" and not insecure:
            raise _unauthorized(f"{sends} by plain HTTP, where the login of Secret {login.secret} is not sent")
        if insecure and self._credentials.for_registry(host, self._endpoint.repository) != login:
            only = f"where the login of Secret {login.secret} is sent only if the Secret has the same entry for {host}"
            raise _unauthorized(f"{sends}, {only}: a registry that is insecure in registries.conf is not believed")

    async def _token(self, method: str, url: URL, headers: Mapping[str, str], form: Mapping[str, str] | None) -> str:
        called = self._endpoint.display_name
        async with self._transport.open(method, url, self._endpoint, headers, form) as answer:
            # RFC 6749 says 400 for a refresh token that does not count any more.
            refused = DENIED_STATUSES if form is None else DENIED_STATUSES | {HTTPStatus.BAD_REQUEST}
            if answer.status in refused:
                raise self.refusal(answer)
            if answer.status != HTTPStatus.OK:
                raise answer.unexpected()
            data = await answer.read(MAX_TOKEN_RESPONSE_BYTES)
        try:
            document = orjson.loads(data or b"")
            token = document.get("token") or document.get("access_token")
        except (orjson.JSONDecodeError, AttributeError):
            token = None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise unavailable(f"{called} wants a token, and what it answers when asked for one holds none")
        return f"Bearer {token}"


def challenges(values: Sequence[str]) -> dict[str, dict[str, str]]:
    """Parameters by scheme in lower case. Several may come in one header or in several; the first of a scheme counts."""
    found: dict[str, dict[str, str]] = {}
    for value in values:
        starts = list(_SCHEME.finditer(value))
        ends = [start.start() for start in starts[1:]] + [len(value)]
        for start, end in zip(starts, ends, strict=False):
            text = value[start.end() : end]
            parameters = {
                (one or other).lower(): (quoted.replace('\\"', '"') if one else bare)
                for one, quoted, other, bare in _PARAMETER.findall(text)
            }
            found.setdefault(start.group(1).lower(), parameters)
    return found


def _unauthorized(text: str) -> Waiting:
    return Waiting(SourceReason.UNAUTHORIZED, text, RETRY_DELAY)
