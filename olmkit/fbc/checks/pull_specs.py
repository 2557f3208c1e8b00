"""The check of image references in catalogs, with the messages of the Go library that opm uses.

It accepts other references than olmkit.sources.oci.reference, the grammar of the images that this suite pulls. Pure.
"""

from __future__ import annotations

import re

_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?"
_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?"
    r"(?:@(?P<algorithm>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):(?P<hex>[0-9a-fA-F]{32,}))?"
)
_PLAIN = re.compile(
    rf"(?:[a-z0-9]+[.])+[a-z0-9]+/{_COMPONENT}(?:/{_COMPONENT})*(?:@sha256:[0-9a-f]{{64}}|:[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}})"
)
"""Nearly all pull specs: a host, a path, and a digest or a tag."""
_IDENTIFIER = re.compile("[a-f0-9]{64}")
_HEX_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_MAX_NAME_CHARACTERS = 255
_MAX_CHECKED_CHARACTERS = 64 * 1024
"""A longer text is no pull spec, and regular expressions would take memory for each character."""
_TOO_LONG = f"repository name must not be more than {_MAX_NAME_CHARACTERS} characters"
_DOCKER_HUB = "docker.io"


def pull_spec_error(text: str) -> str:
    """The Go library's error for this pull spec; "" when it is valid."""
    return "" if len(text) <= _MAX_NAME_CHARACTERS and _PLAIN.fullmatch(text) else _error(text)


def _error(text: str) -> str:
    if len(text) > _MAX_CHECKED_CHARACTERS:
        return _TOO_LONG
    if _IDENTIFIER.fullmatch(text):
        return f"invalid repository name ({text}), cannot specify 64-byte hexadecimal strings"
    domain, remainder = _split_domain(text)
    name = remainder.partition(":")[0]
    if name != name.lower():
        return "invalid reference format: repository name must be lowercase"
    match = _REFERENCE.fullmatch(f"{domain}/{remainder}")
    if match is None:
        if _REFERENCE.fullmatch(f"{domain}/{remainder}".lower()):
            return "repository name must be lowercase"
        return "invalid reference format"
    if len(match["name"]) > _MAX_NAME_CHARACTERS:
        return _TOO_LONG
    return _digest_error(match["algorithm"], match["hex"]) if match["algorithm"] else ""


def _split_domain(text: str) -> tuple[str, str]:
    first, slash, rest = text.partition("/")
    has_domain = slash and ("." in first or ":" in first or first == "localhost")
    domain, remainder = (first, rest) if has_domain else (_DOCKER_HUB, text)
    if domain == f"index.{_DOCKER_HUB}":
        domain = _DOCKER_HUB
    if domain == _DOCKER_HUB and "/" not in remainder:
        remainder = f"library/{remainder}"
    return domain, remainder


def _digest_error(algorithm: str, digits: str) -> str:
    if algorithm not in _HEX_LENGTHS:
        return "unsupported digest algorithm"
    if len(digits) != _HEX_LENGTHS[algorithm]:
        return "invalid checksum digest length"
    return "" if digits == digits.lower() else "invalid checksum digest format"
