"""Names that Kubernetes accepts: checks, and safe names made of parts. Used by decisions and API edges. Pure."""

from __future__ import annotations

import hashlib
import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_FOREIGN = re.compile(r"[^-.a-z0-9]")
_EDGES = re.compile(r"(^[-.]+|[-.]+$)")
_SEAMS = re.compile(r"[-.]*\.[-.]*")

SUBDOMAIN_LIMIT = 253
LABEL_LIMIT = 63


def is_dns1123_label(name: str) -> bool:
    """Lower-case letters, digits and `-`, at most 63, starting and ending with a letter or digit."""
    return len(name) <= LABEL_LIMIT and _LABEL.fullmatch(name) is not None


def is_dns1123_subdomain(name: str) -> bool:
    """Labels joined by dots, at most 253 characters in all."""
    return len(name) <= SUBDOMAIN_LIMIT and _SUBDOMAIN.fullmatch(name) is not None


def safe_name(name: str, identity: str, limit: int = SUBDOMAIN_LIMIT) -> str:
    """`name` in lower case with foreign characters as `-`, cut, plus `-` and 8 hex digits of sha256(identity).

    For a name that is no DNS-1123 subdomain, is too long or is taken by something else; the same identity gives the same name.
    """
    suffix = hashlib.sha256(identity.encode()).hexdigest()[:8]
    base = _FOREIGN.sub("-", name.lower())[: limit - len(suffix) - 1]
    base = _SEAMS.sub(".", _EDGES.sub("", base))
    return f"{base}-{suffix}" if base else f"x-{suffix}"
