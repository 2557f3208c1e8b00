"""Which of the forms there are a client takes: RFC 9110 sections 12.4.2, 12.5.1 and 12.5.3, and which names a catalog can have.

Asked by catalogd.http.server for each request. Headers are anybody's text: a member that cannot be read counts as not
there. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

IDENTITY = "identity"
_SAME = {"x-gzip": "gzip"}
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
_LONGEST_NAME = 253


def select_encoding(accept_encoding: str | None, offered: Sequence[str]) -> str | None:
    """The one of `offered` (best first, without identity), or IDENTITY, to send; None when the client takes none of them.

    Without the header, identity: clients that say nothing seldom decompress. Identity loses to what has the same weight, and is
    refused only by `identity;q=0`, or by `*;q=0` with no word about identity.
    """
    if accept_encoding is None:
        return IDENTITY
    weights = {_SAME.get(name, name): weight for name, weight in _members(accept_encoding)}
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
    """Whether a client that sent this Accept takes that media type. The most specific range decides."""
    if accept is None or not accept.strip():
        return True
    kind = media_type.partition("/")[0]
    weights = {name: weight for name, weight in _members(accept)}
    for range_ in (media_type, f"{kind}/*", "*/*"):
        if range_ in weights:
            return weights[range_] > 0
    return False


def catalog_name_errors(name: str) -> list[str]:
    """Why that cannot be the name of a Catalog (a DNS-1123 subdomain); empty when it can."""
    faults = []
    if len(name) > _LONGEST_NAME:
        faults.append(f"it is longer than {_LONGEST_NAME} characters")
    if not re.fullmatch(r"[a-z0-9.-]*", name):
        faults.append('it holds other characters than lower-case letters, digits, "-" and "."')
    if not all(re.fullmatch(r"[^-](.*[^-])?", part, re.DOTALL) for part in name.split(".")):
        faults.append("it, or a part of it between dots, does not begin and end with a letter or digit")
    return faults


def _members(header: str) -> Iterator[tuple[str, float]]:
    """Each member in lower case without its parameters, and its weight: 1 unless given."""
    for member in header.lower().split(","):
        name, *parameters = (part.strip() for part in member.split(";"))
        weights = [
            value.strip() for key, _, value in (each.partition("=") for each in parameters) if key.strip() == "q"
        ]
        if name and all(_QUALITY.fullmatch(weight) for weight in weights):
            yield name, float(weights[0]) if weights else 1.0
