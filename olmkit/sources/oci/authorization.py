"""Authentication at a registry: the Authorization header that its challenge requires, with or without the login of a Secret.

Credentials are sent after a challenge only, to the host that the Secret names and to the token service that this host names, if
both use verified TLS: see docs/decisions/0008-where-logins-go.md. The target of a redirect is neither. Tokens are kept for one
job.
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
    """A token service and the parameters of the token request."""

    realm: URL
    query: Mapping[str, str]


class Authorization:
    """The header for one repository at one registry. `image` is what messages name."""

    def __init__(self, transport: Transport, registries: Registries, endpoint: Endpoint, image: str) -> None:
        self._transport = transport
        self._credentials = registries.credentials
        self._login = registries.credentials.for_registry(endpoint.host, endpoint.repository)
        self._endpoint = endpoint
        self._image = image
        self._tokens = registries.tokens
        self._login_sent = False
        """True if the login was sent."""
        self._service_host = ""
        self._token_key = (endpoint.host, endpoint.repository, self._login)

    @property
    def headers(self) -> dict[str, str]:
        """The header that earlier challenges led to; empty before the first."""
        known = self._tokens.get(self._token_key)
        return {"Authorization": known} if known is not None else {}

    async def answer_challenge(self, requested: URL, response: HttpResponse) -> bool:
        """Handle the challenges of a 401. False when there is no suitable login, or when it was sent already and did not help.

        Raises Waiting when the token service issues no token.
        """
        if response.url.origin() != requested.origin():
            # The target of a redirect is not the registry: it gets no credentials, and its challenges do not count.
            return False
        previous, login = self._tokens.get(self._token_key), self._login
        offered = challenges(response.headers("WWW-Authenticate"))
        if "bearer" in offered:
            header = await self._bearer_header(offered["bearer"], login)
        elif "basic" in offered and login is not None and login.basic:
            self._login_sent, header = True, login.basic
        else:
            return False
        self._tokens[self._token_key] = header
        return header != previous

    def refusal(self, response: HttpResponse) -> Waiting:
        """The error for a denial: 401, 403, or 400 of a token service."""
        secret, status = self._login.secret if self._login else "", response.status
        sent = self._login_sent or (self._login is not None and self._token_key in self._tokens)
        if status == HTTPStatus.FORBIDDEN:
            sent_login = f" to the login of Secret {secret}" if sent else ""
            text = f'{response.server} denies access to "{self._image}"{sent_login} (403)'
            return _unauthorized(text, f"forbidden {secret if sent else ''}")
        if authority(response.url) not in (self._endpoint.host, self._service_host):
            return _unauthorized(
                f'{response.server} requires credentials for "{self._image}" ({status}): credentials are not sent there',
                authority(response.url),
            )
        if sent:
            return _unauthorized(
                f'{response.server} refuses the login of Secret {secret} for "{self._image}" ({status})',
                f"refused {secret}",
            )
        requires = f'{response.server} requires credentials for "{self._image}"'
        if secret:
            return _unauthorized(
                f"{requires} of a kind that Secret {secret} does not hold ({status})", f"kind {secret}"
            )
        host = self._endpoint.host
        hint = f"no pull secret has a login for {host}; add a Secret of type kubernetes.io/dockerconfigjson with one"
        return _unauthorized(
            f"{requires} or has no such repository ({status}): {hint}{self._credentials.common_secret_hint}"
        )

    async def _bearer_header(self, parameters: Mapping[str, str], login: Login | None) -> str:
        if login is not None and login.registry_token:
            self._login_sent = True
            return f"Bearer {login.registry_token}"
        service = self._parse_service(parameters)
        self._service_host = authority(service.realm)
        if login is not None:
            self._check_token_service(service.realm, login)
            self._login_sent = True
        if login is not None and login.identity_token:
            form = {
                "grant_type": "refresh_token",
                "client_id": CLIENT_ID,
                "refresh_token": login.identity_token,
                **service.query,
            }
            return await self._request_token("POST", service.realm, {}, form)
        headers = {"Authorization": login.basic} if login is not None and login.basic else {}
        return await self._request_token("GET", service.realm.update_query(service.query), headers, None)

    def _parse_service(self, parameters: Mapping[str, str]) -> _Service:
        try:
            realm = URL(parameters.get("realm", "")).with_user(None).with_fragment(None)
        except ValueError:
            realm = URL()
        if realm.scheme not in ("http", "https") or not realm.host:
            raise unavailable(f"{self._endpoint.display_name} requires a token, but does not name a token service")
        scope = parameters.get("scope") or f"repository:{self._endpoint.repository}:pull"
        service = {"service": parameters["service"]} if "service" in parameters else {}
        return _Service(realm, {"scope": scope, **service})

    def _check_token_service(self, realm: URL, login: Login) -> None:
        """Raises Waiting when the login must not be sent to the token service."""
        host, insecure = authority(realm), self._endpoint.insecure
        names_service = f"{self._endpoint.display_name} names {host} as its token service"
        if realm.scheme == "http" and not insecure:
            raise _unauthorized(
                f"{names_service} over plain HTTP, where the login of Secret {login.secret} is not sent", host
            )
        if insecure and self._credentials.for_registry(host, self._endpoint.repository) != login:
            only = f"where the login of Secret {login.secret} is sent only if the Secret has the same entry for {host}"
            raise _unauthorized(
                f"{names_service}, {only}: a registry that is insecure in registries.conf is not trusted to choose it"
            )

    async def _request_token(
        self, method: str, url: URL, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> str:
        called = self._endpoint.display_name
        async with self._transport.open(method, url, self._endpoint, headers, form) as response:
            # RFC 6749: 400 for a refresh token that has expired or was revoked.
            refused = DENIED_STATUSES if form is None else DENIED_STATUSES | {HTTPStatus.BAD_REQUEST}
            if response.status in refused:
                raise self.refusal(response)
            if response.status != HTTPStatus.OK:
                raise response.unexpected()
            data = await response.read(MAX_TOKEN_RESPONSE_BYTES)
        try:
            document = orjson.loads(data or b"")
            token = document.get("token") or document.get("access_token")
        except (orjson.JSONDecodeError, AttributeError):
            token = None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise unavailable(f"{called} requires a token, and the response of its token service does not contain one")
        return f"Bearer {token}"


def challenges(values: Sequence[str]) -> dict[str, dict[str, str]]:
    """Parameters of challenges, by lower-case scheme. One header may contain several; the first of a scheme is used."""
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


def _unauthorized(text: str, *subject: str) -> Waiting:
    return Waiting(SourceReason.UNAUTHORIZED, text, RETRY_DELAY, subject)
