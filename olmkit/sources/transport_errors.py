"""What a driver's error means, in words that fit "registry X ...".

Used by transport.py. Never the driver's own text, which may name what it should not.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import aiohttp

from olmkit.sources.network import Timeouts
from olmkit.sources.proxies import Proxy

UNKNOWN_AUTHORITY_CODES = frozenset({18, 19, 20, 21})
"""OpenSSL's numbers for a certificate by an authority that is not known: self-signed, or without its issuer."""


def describe_error(error: Exception, patience: Timeouts, proxy: Proxy | None) -> str:
    """What happened, for people. `proxy` is the one that was asked, if any."""
    about_proxy = _about_proxy(error, proxy) if proxy is not None else None
    if about_proxy is not None:
        return f"cannot be asked: {about_proxy}"
    match error:
        case aiohttp.ClientSSLError():
            return _about_tls(error)
        case aiohttp.ClientConnectorDNSError():
            return "cannot be looked up: no such host"
        case aiohttp.ConnectionTimeoutError():
            return f"does not answer: no connection within {patience.connect:g} s"
        case TimeoutError():
            return f"does not answer: nothing within {patience.read:g} s"
        case aiohttp.ClientConnectorError():
            return f"does not answer: {_strerror(error.os_error)}"
        case aiohttp.ClientResponseError():
            return "answers with what is no HTTP"
        case _:
            return "broke off in the middle of an answer"


def proxy_authentication_hint(proxy: Proxy) -> str:
    """What to do about 407."""
    if proxy.authorization:
        return f"{_called(proxy)} refuses the user and password of its variable (407)"
    return f"{_called(proxy)} wants a user and a password (407): write http://user:password@host:port"


def _about_proxy(error: Exception, proxy: Proxy) -> str | None:
    """None when it is not the proxy that failed."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return f"{_called(proxy)} cannot be looked up: no such host"
        case aiohttp.ClientProxyConnectionError():
            return f"{_called(proxy)} does not answer: {_strerror(error.os_error)}"
        case aiohttp.ClientHttpProxyError(status=407):
            return proxy_authentication_hint(proxy)
        case aiohttp.ClientHttpProxyError():
            return f"{_called(proxy)} does not let us through ({error.status})"
        case _:
            return None


def _about_tls(error: aiohttp.ClientSSLError) -> str:
    if not isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "does not speak TLS (a registry without TLS must be insecure in registries.conf)"
    certificate = error.certificate_error
    why = getattr(certificate, "verify_message", "") or "it does not verify"
    help_ = (
        "; put the authority's certificate into the folder of --pull-cas-dir"
        if getattr(certificate, "verify_code", 0) in UNKNOWN_AUTHORITY_CODES
        else ""
    )
    return f"shows a certificate that is not trusted: {why}{help_}"


def _called(proxy: Proxy) -> str:
    return f"the proxy {urlsplit(proxy.url).netloc}"


def _strerror(error: OSError) -> str:
    # By number: asyncio's own text names the address and the port it tried.
    return os.strerror(error.errno).lower() if error.errno else "no connection"
