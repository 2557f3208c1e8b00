"""The error that Go's url.ParseRequestURI has for a text. Pure."""

from __future__ import annotations

import re
from typing import Final

from olmkit.gocompat.text import quoted

_SCHEME = re.compile("([a-zA-Z][a-zA-Z0-9+.-]*):(.*)", re.DOTALL)
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_ESCAPE = re.compile("%([0-9a-fA-F]{2})")
_PORT = re.compile("(:[0-9]*)?")
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_HOST: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~!$&'()*+,;=:[]<>\"")
_FIRST_BYTE_OF_TEXT: Final = 0x80
"""An escape in a host name stands for such a byte or a higher one."""


class _BadUri(ValueError):
    """The text is no URI; the message is Go's."""


def request_uri_error(text: str) -> str:
    """Go's error for a text that is no URI of a request; "" when it is one."""
    try:
        _check(text)
    except _BadUri as error:
        return f"parse {quoted(text)}: {error}"
    return ""


def _check(text: str) -> None:
    if _CONTROL.search(text):
        raise _BadUri("net/url: invalid control character in URL")
    if not text:
        raise _BadUri("empty url")
    if text == "*":
        return
    if text.startswith(":"):
        raise _BadUri("missing protocol scheme")
    scheme = _SCHEME.fullmatch(text)
    rest = (scheme[2] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        if not scheme:
            raise _BadUri("invalid URI for request")
        return
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        _check_authority(authority)
        rest = slash + path
    _check_escapes(rest)


def _check_authority(authority: str) -> None:
    user, at, host = authority.rpartition("@")
    _check_host(host)
    if at:
        if not _USER.fullmatch(user):
            raise _BadUri("net/url: invalid userinfo")
        _check_escapes(user)


def _check_host(host: str) -> None:
    if host.startswith("["):
        if "]" not in host:
            raise _BadUri("missing ']' in host")
        port = host[host.rindex("]") + 1 :]
    else:
        port = host[host.rindex(":") :] if ":" in host else ""
    if not _PORT.fullmatch(port):
        raise _BadUri(f"invalid port {quoted(port)} after host")
    at = 0
    while at < len(host):
        if host[at] == "%":
            escape = _ESCAPE.match(host, at)
            if not escape or (int(escape[1], 16) < _FIRST_BYTE_OF_TEXT and escape[0] != "%25"):
                raise _BadUri(f"invalid URL escape {quoted(host[at : at + 3])}")
            at += 3
            continue
        if host[at] < "\x80" and host[at] not in _HOST:
            raise _BadUri(f"invalid character {quoted(host[at])} in host name")
        at += 1


def _check_escapes(text: str) -> None:
    at = text.find("%")
    while at >= 0:
        if not _ESCAPE.match(text, at):
            raise _BadUri(f"invalid URL escape {quoted(text[at : at + 3])}")
        at = text.find("%", at + 3)
