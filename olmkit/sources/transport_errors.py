"""Messages for errors of aiohttp, to follow the name of the server: "registry X ...".

Never includes the text of the error itself, which may contain addresses, ports or credentials.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import aiohttp

from olmkit.sources.network import Timeouts
from olmkit.sources.proxies import Proxy

REGISTRY_TLS_HINT = " (a registry without TLS must be insecure in the registries.conf of --registries-conf)"
"""Part of the message about a server that does not speak TLS; it is right for registries alone."""

UNKNOWN_AUTHORITY_CODES = frozenset({18, 19, 20, 21})
"""OpenSSL's verify codes for certificates of an unknown authority: self-signed, or without the issuer."""


def describe_error(error: Exception, timeouts: Timeouts, proxy: Proxy | None, *, is_tls: bool = False) -> str:
    """The message for an error. `proxy` is the one that the request was sent to, if any; `is_tls`: the server has to speak TLS,
    and its handshake is part of the time for a connection."""
    proxy_error = _describe_proxy_error(error, proxy) if proxy is not None else None
    if proxy_error is not None:
        return f"cannot be reached: {proxy_error}"
    match error:
        case aiohttp.ClientSSLError():
            return _describe_tls_error(error)
        case aiohttp.ClientConnectorDNSError():
            return "cannot be resolved: no such host"
        case aiohttp.ConnectionTimeoutError():
            what = "connection with a TLS handshake" if is_tls else "connection"
            return f"does not answer: no {what} within {timeouts.connect:g} s"
        case TimeoutError():
            return f"does not answer: nothing within {timeouts.read:g} s"
        case aiohttp.ClientConnectorError():
            return f"does not answer: {_strerror(error.os_error)}"
        case aiohttp.ClientResponseError():
            return "does not answer with HTTP"
        case _:
            return "closed the connection in the middle of a response"


def proxy_authentication_hint(proxy: Proxy) -> str:
    """The message for status 407."""
    if proxy.authorization:
        return f"{_display_name(proxy)} refuses the user and password of its variable (407)"
    return f"{_display_name(proxy)} requires a user and a password (407): write http://user:password@host:port"


def _describe_proxy_error(error: Exception, proxy: Proxy) -> str | None:
    """None when the error is not the proxy's."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return f"{_display_name(proxy)} cannot be resolved: no such host"
        case aiohttp.ClientProxyConnectionError():
            return f"{_display_name(proxy)} does not answer: {_strerror(error.os_error)}"
        case aiohttp.ClientHttpProxyError(status=407):
            return proxy_authentication_hint(proxy)
        case aiohttp.ClientHttpProxyError():
            return f"{_display_name(proxy)} refuses the connection ({error.status})"
        case _:
            return None


def _describe_tls_error(error: aiohttp.ClientSSLError) -> str:
    if not isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"does not speak TLS{REGISTRY_TLS_HINT}"
    certificate = error.certificate_error
    reason = getattr(certificate, "verify_message", "") or "it does not verify"
    hint = (
        "; put the authority's certificate into the directory of --pull-cas-dir"
        if getattr(certificate, "verify_code", 0) in UNKNOWN_AUTHORITY_CODES
        else ""
    )
    return f"presents a certificate that is not trusted: {reason}{hint}"


def _display_name(proxy: Proxy) -> str:
    return f"the proxy {urlsplit(proxy.url).netloc}"


def _strerror(error: OSError) -> str:
    # By number: the text of asyncio contains the address and the port.
    return os.strerror(error.errno).lower() if error.errno else "no connection"
