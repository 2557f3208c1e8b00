"""Names that Kubernetes accepts, digests as names of content, safe names made of parts, and nouns with their number. Pure.

Used by decisions, API edges, sources and the store.
"""

from __future__ import annotations

import hashlib
import re

from olmkit.api.patterns import DIGEST, DNS_LABEL, DNS_SUBDOMAIN

_LABEL = re.compile(DNS_LABEL)
_SUBDOMAIN = re.compile(DNS_SUBDOMAIN)
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DIGEST = re.compile(DIGEST)
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


def is_label_value(text: str) -> bool:
    """Whether a label may have it as its value, and a selector may ask for it."""
    return 0 < len(text) <= LABEL_LIMIT and _LABEL_VALUE.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    """Whether text is a digest in a form that this suite computes: sha256, sha384 or sha512, in lower-case hex."""
    return _DIGEST.fullmatch(text) is not None


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """`1 replica`, `2 replicas`; `plural` where it is not the noun with an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def safe_name(name: str, identity: str, limit: int = SUBDOMAIN_LIMIT) -> str:
    """`name` in lower case with foreign characters as `-`, cut, plus `-` and 8 hex digits of sha256(identity).

    For a name that is no DNS-1123 subdomain, is too long or is taken by something else; the same identity gives the same name.
    """
    suffix = hashlib.sha256(identity.encode()).hexdigest()[:8]
    base = _FOREIGN.sub("-", name.lower())[: limit - len(suffix) - 1]
    base = _SEAMS.sub(".", _EDGES.sub("", base))
    return f"{base}-{suffix}" if base else f"x-{suffix}"
