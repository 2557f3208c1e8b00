"""Links: those within the console, and those that a catalog gives.

A text of a catalog becomes a link only if it is an absolute address of a web page or a mail address. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

MAX_LINK_LENGTH = 2_000
_FORBIDDEN = re.compile(r'[\\<>"`{}|^]')
"""Characters that no address has, and that browsers read as others."""
_WEB = frozenset({"http", "https"})
_MAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True)
class External:
    """A link that leaves the console: its address, and the host that people are shown; for mail the address."""

    href: str
    host: str


def page_url(*segments: str, ns: str = "", **query: str) -> str:
    """The path of a page from its segments, with the namespace that pages pass on, and the parameters that are not empty."""
    path = "/" + "/".join(_segment(each) for each in segments)
    given = {key.rstrip("_"): value for key, value in query.items() if value}
    if ns:
        given["ns"] = ns
    return f"{path}?{urlencode(given)}" if given else path


def _segment(text: str) -> str:
    """One segment of a path. A browser would resolve `.` and `..`, however they are written."""
    return quote(text, safe="") if text.strip(".") else "-"


def external(text: object) -> External | None:
    """The link that a text is; None if it is not an absolute http, https or mailto address."""
    if not isinstance(text, str) or not 0 < len(text) <= MAX_LINK_LENGTH:
        return None
    if _FORBIDDEN.search(text) or not text.isprintable() or " " in text:
        return None
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        has_port = parts.port is not None
    except ValueError:
        return None
    scheme = parts.scheme.casefold()
    if scheme == "mailto" and not parts.netloc and _MAIL.fullmatch(parts.path):
        return External(f"mailto:{parts.path}", parts.path)
    if scheme not in _WEB or not host or "@" in parts.netloc or not text[len(scheme) :].startswith("://"):
        return None
    shown = _shown_host(host)
    return External(text, f"{shown}:{parts.port}" if has_port else shown) if shown else None


def _shown_host(host: str) -> str:
    """The host as ASCII, so that letters of other scripts do not imitate a known host; "" if it is none."""
    try:
        return host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        return ""


def mail_link(address: object) -> External | None:
    """The mailto link of a mail address; None if it is none."""
    return external(f"mailto:{address}") if isinstance(address, str) else None
