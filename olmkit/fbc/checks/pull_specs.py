"""What may stand where a catalog names an image, in the words of the library that opm asks. Called by
olmkit.fbc.checks.load_checks. Pure.

Not the grammar of what this suite pulls (olmkit.sources.oci.reference): it differs in what it lets pass.
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
_NAME_LIMIT = 255
_LENGTH_LIMIT = 64 * 1024
"""Characters that are looked at: nothing that long is a pull spec, and regular expressions take memory for each."""
_TOO_LONG = f"repository name must not be more than {_NAME_LIMIT} characters"
_HUB = "docker.io"


def pull_spec_error(text: str) -> str:
    """Why this is no pull spec; "" when it is one."""
    return "" if len(text) <= _NAME_LIMIT and _PLAIN.fullmatch(text) else _fault(text)


def _fault(text: str) -> str:
    if len(text) > _LENGTH_LIMIT:
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
    if len(match["name"]) > _NAME_LIMIT:
        return _TOO_LONG
    return _digest_fault(match["algorithm"], match["hex"]) if match["algorithm"] else ""


def _split_domain(text: str) -> tuple[str, str]:
    first, slash, rest = text.partition("/")
    has_domain = slash and ("." in first or ":" in first or first == "localhost")
    domain, remainder = (first, rest) if has_domain else (_HUB, text)
    if domain == f"index.{_HUB}":
        domain = _HUB
    if domain == _HUB and "/" not in remainder:
        remainder = f"library/{remainder}"
    return domain, remainder


def _digest_fault(algorithm: str, digits: str) -> str:
    if algorithm not in _HEX_LENGTHS:
        return "unsupported digest algorithm"
    if len(digits) != _HEX_LENGTHS[algorithm]:
        return "invalid checksum digest length"
    return "" if digits == digits.lower() else "invalid checksum digest format"
