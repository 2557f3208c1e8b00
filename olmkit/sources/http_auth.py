"""Requests to git and web servers: the network, the login that the server is sent, and errors for statuses.

The transport raises errors with the reasons of registries; they are translated here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from yarl import URL

from olmkit.api.source_annotations import INSECURE_HOSTS_ANNOTATION
from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.credentials import BASIC_AUTH, Login
from olmkit.sources.errors import RETRY_DELAY, SourceReason
from olmkit.sources.network import Endpoint, Network, Timeouts
from olmkit.sources.transport import HttpResponse, authority, status_phrase
from olmkit.sources.transport_errors import REGISTRY_TLS_HINT


def network(access: Access, timeouts: Timeouts | None = None) -> Network:
    """The Network for servers that are no registry: the rules of registries.conf do not apply. Raises Blocked."""
    return Network(
        addresses=access.addresses(),
        timeouts=timeouts or access.timeouts,
        ca_bundle=access.ca_bundle(),
        proxies=access.proxies(),
    )


def endpoint(url: URL, kind: str, *, insecure: bool) -> Endpoint:
    """The host of a URL; `kind` is what messages call it."""
    return Endpoint(authority(url), "", insecure, kind=kind)


@dataclass(frozen=True)
class HostLogin:
    """The user and password that a Secret has for a host: `sent`, or `withheld` because the connection is not verified TLS."""

    sent: Login | None
    withheld: Login | None = None


def host_login(url: URL, access: Access, *, insecure: bool) -> HostLogin:
    """The login for the host of a URL.

    Over plain HTTP, and when certificates are not verified (`insecure`), it is sent only if the Secret's annotation for insecure
    hosts names the host too, because the author of the URL may not own the Secret.
    """
    host = f"{url.host_subcomponent}:{url.port}"
    sent = access.credentials.basic_auth(host, verified=url.scheme == "https" and not insecure)
    return HostLogin(sent, access.credentials.basic_auth(host) if sent is None else None)


@contextmanager
def source_reasons() -> Iterator[None]:
    """Replace the reason RegistryUnavailable in errors of the transport by SourceUnavailable."""
    try:
        yield
    except Waiting as error:
        if error.reason == SourceReason.UNAVAILABLE:
            error.reason = SourceReason.SOURCE_UNAVAILABLE
            error.message = error.message.replace(REGISTRY_TLS_HINT, "")
        raise


def error_for_status(response: HttpResponse, what: str, login: HostLogin, access: Access) -> Waiting:
    """The error for a status other than success; `what` is the requested resource."""
    status, server = response.status, response.server
    if status == HTTPStatus.NOT_FOUND:
        words = f"{server} has no {what}, or does not allow access to it (404)"
        return Waiting(SourceReason.SOURCE_NOT_FOUND, words, RETRY_DELAY)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Waiting(
            SourceReason.UNAUTHORIZED,
            f"{server} {_denial(status, what, response.url.host_subcomponent or '', login, access)}",
            RETRY_DELAY,
            _secrets_in_question(login, access),
        )
    words = f"{server} answered {status_phrase(status)} when asked for {what}"
    return Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY)


def _secrets_in_question(login: HostLogin, access: Access) -> list[str]:
    """The Secret that is refused, is not sent, or is for other servers."""
    if login.sent is not None:
        return [login.sent.secret]
    return [f"not sent: {login.withheld.secret if login.withheld is not None else access.credentials.own_secret}"]


def _denial(status: int, what: str, host: str, login: HostLogin, access: Access) -> str:
    if login.sent is not None:
        return f"does not accept the user and password of Secret {login.sent.secret} for {what} ({status})"
    requires = f"requires a user and a password for {what} ({status})"
    if login.withheld is not None:
        secret, where = login.withheld.secret, f"its annotation {INSECURE_HOSTS_ANNOTATION}"
        return (
            f"{requires}, and those of Secret {secret} are sent neither by plain HTTP nor with insecureSkipVerify, where others"
            f" can read them: use https with a certificate that is trusted, or name the host in {where} too"
        )
    if key := access.credentials.key_at(host):
        return f"{requires}, and Secret {key.secret} has a key, which is for ssh: name a Secret of type {BASIC_AUTH} in auth"
    if hosts := access.credentials.hosts:
        return (
            f"{requires}, and the Secret is for other hosts: {', '.join(hosts)}{access.credentials.common_secret_hint}"
        )
    if secret := access.credentials.registry_only_secret:
        name_another = f"name a Secret of type {BASIC_AUTH} in auth{access.credentials.common_secret_hint}"
        return f"{requires}, and Secret {secret} has logins for registries, which are not sent to other servers: {name_another}"
    return f"{requires}: name a Secret in auth{access.credentials.common_secret_hint}"
