"""opm's errors for versions, releases and ranges.

Nearly all errors of olmkit.gocompat.versions are those of blang/semver, which opm prints. This module replaces the ones that are
worded more readably there, for authors of Operators. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import (
    MAX_LENGTH,
    MAX_RELEASE_LENGTH,
    BadRange,
    BadVersion,
    parse_comparator,
    parse_version,
    range_tokens,
    split_operator,
)

_PLAIN = re.compile("(?:0|[1-9][0-9]{0,17})(?:[.](?:0|[1-9][0-9]{0,17})){2}")
"""Nearly all versions."""
_TOO_LARGE = re.compile(r'(?:Major|Minor|Patch|Prerelease) number is too large ("[0-9]+")')
_NO_NUMBER = re.compile(r'Invalid character\(s\) found in (?:major|minor|patch) number ""')

_INTEGER = re.compile("[-+]?[0-9]+")
_NO_IDENTIFIER = "Invalid character(s) found in prerelease "


def version_error(text: str) -> str:
    """opm's error; "" for a semantic version."""
    if _PLAIN.fullmatch(text):
        return ""
    try:
        parse_version(text)
    except BadVersion as error:
        return _opm(str(error))
    return ""


def release_error(text: str) -> str:
    """opm's error, with a line for each invalid segment; "" for a valid release and for an empty one."""
    if len(text.encode(errors="replace")) > MAX_RELEASE_LENGTH:
        return f"invalid release {quoted(text)}: exceeds maximum length of {MAX_RELEASE_LENGTH} characters"
    segments = enumerate(text.split(".") if text else ())
    errors = [f"segment {index}: {error}" for index, segment in segments if (error := _segment_error(segment))]
    return f"invalid release {quoted(text)}: " + "\n".join(errors) if errors else ""


def _segment_error(segment: str) -> str:
    """A segment of a release has the grammar of a prerelease identifier."""
    if not segment:
        return "Prerelease is empty"
    return version_error(f"0.0.0-{segment}") if "+" not in segment else _NO_IDENTIFIER + quoted(segment)


@lru_cache(maxsize=4096)  # one catalog repeats its ranges
def range_error(text: str) -> str:
    """opm's error; "" for a range that blang/semver accepts. BlangRange.parse accepts fewer ranges, with errors of its own."""
    if len(text) > MAX_LENGTH:
        return f"range is longer than {MAX_LENGTH} characters"
    try:
        tokens = range_tokens(text)
        _check_alternatives(tokens)
        expanded = [plain for token in tokens if token != "||" for plain in _expanded(token)]
        for plain in expanded:  # blang expands all before it parses one
            parse_comparator(plain)
    except BadRange as error:
        return _opm(str(error))
    return ""


def _check_alternatives(tokens: list[str]) -> None:
    """blang accepts several `||` in a row."""
    if tokens[:1] == ["||"]:
        raise BadRange("First element in range is '||'")
    if not tokens or tokens[-1] == "||":
        raise BadRange("Last element in range is '||'")


def _expanded(token: str) -> list[str]:
    """A token with a wildcard as blang expands it before any other check, even if the result is no range."""
    if "x" not in token:
        return [token]
    operator, text = split_operator(token)
    floor = text.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
    floor += ".0" if floor.count(".") == 1 else ""
    match operator:
        case ">":
            return [f">={_above(text, floor)}"]
        case "<=":
            return [f"<{_above(text, floor)}"]
        case "" | "=" | "==":
            return [f">={floor}", f"<{_above(text, floor)}"]
        case "!" | "!=":
            return [f"<{floor}", f">={_above(text, floor)}"]
        case "<" | ">=":
            return [f"{operator}{floor}"]
    return [floor]


def _above(text: str, floor: str) -> str:
    """The first version above a wildcard; "" when the wildcard is not the last part."""
    parts, wild = floor.split("."), text.split(".")
    place = len(wild) - 2
    if wild[-1] != "x" or place not in (0, 1) or not _INTEGER.fullmatch(parts[place]):
        return ""
    parts[place] = str(int(parts[place]) + 1)
    return ".".join(parts)


def _opm(text: str) -> str:
    return _NO_NUMBER.sub(
        'strconv.ParseUint: parsing "": invalid syntax',
        _TOO_LARGE.sub(r"strconv.ParseUint: parsing \1: value out of range", text),
    )
