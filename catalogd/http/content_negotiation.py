"""Content negotiation: which media type and encoding a client accepts (RFC 9110 sections 12.4.2, 12.5.1 and 12.5.3).

Invalid members of a header are ignored. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

IDENTITY = "identity"
_ALIASES = {"x-gzip": "gzip"}
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


def select_encoding(accept_encoding: str | None, offered: Sequence[str]) -> str | None:
    """Select one of `offered` (best first, without identity) or IDENTITY; None when the client accepts none of them.

    Without the header, IDENTITY is selected: such clients seldom decompress. Another encoding with the same weight is
    preferred to identity. Identity is excluded only by `identity;q=0`, or by `*;q=0` without a member for identity.
    """
    if accept_encoding is None:
        return IDENTITY
    weights = {_ALIASES.get(name, name): weight for name, weight in _members(accept_encoding)}
    others = weights.get("*", 0.0)
    best, most = None, 0.0
    for each in offered:
        if (weight := weights.get(each, others)) > most:
            best, most = each, weight
    plain = weights.get(IDENTITY, weights.get("*"))
    if best is not None and (plain is None or most >= plain):
        return best
    return None if plain == 0 else IDENTITY


def accepts_media_type(accept: str | None, media_type: str) -> bool:
    """Whether this Accept header allows the media type. The most specific range decides."""
    if accept is None or not accept.strip():
        return True
    kind = media_type.partition("/")[0]
    weights = {name: weight for name, weight in _members(accept)}
    for range_ in (media_type, f"{kind}/*", "*/*"):
        if range_ in weights:
            return weights[range_] > 0
    return False


def _members(header: str) -> Iterator[tuple[str, float]]:
    """Yields each member in lower case without its parameters, and its weight (default 1)."""
    for member in header.lower().split(","):
        name, *parameters = (part.strip() for part in member.split(";"))
        weights = [
            value.strip() for key, _, value in (each.partition("=") for each in parameters) if key.strip() == "q"
        ]
        if name and all(_QUALITY.fullmatch(weight) for weight in weights):
            yield name, float(weights[0]) if weights else 1.0
