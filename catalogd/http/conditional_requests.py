"""Evaluates preconditions and Range of a GET or HEAD for one representation of known size: RFC 9110 sections 13 and 14.

A request for several ranges gets the whole representation, as the RFC allows. The date of If-Modified-Since is compared for
equality, as clients send back the Last-Modified that they received: the clock of a leader may have been wrong, so that what is
newer has the earlier date. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_ETAG = re.compile(r'(W/)?"([^"]*)"')
_BYTES = re.compile(r"bytes=(.*)", re.IGNORECASE)
_RANGE = re.compile(r"([0-9]*)-([0-9]*)")
_MAX_NUMBER_LENGTH = 18


@dataclass(frozen=True)
class Representation:
    """A representation: its size in bytes, its strong entity tag without quotes, and its last change to the second."""

    size: int
    etag: str
    modified: datetime


@dataclass(frozen=True)
class PreconditionResult:
    """Status 200, 206, 304, 412 or 416, and the bytes to send."""

    status: int
    start: int = 0
    length: int = 0


def evaluate_preconditions(method: str, headers: Mapping[str, str], current: Representation) -> PreconditionResult:
    """Evaluate in the order of RFC 9110 13.2.2. Keys of `headers` are spelled as in the RFC; repeated lines are joined by
    commas."""
    if not _holds_if_match(headers, current):
        return PreconditionResult(412)
    if _is_unchanged(headers, current):
        return PreconditionResult(304)
    if method == "GET" and "Range" in headers and _range_applies(headers, current):
        return _ranged(headers["Range"], current.size)
    return PreconditionResult(200, 0, current.size)


def _holds_if_match(headers: Mapping[str, str], current: Representation) -> bool:
    if "If-Match" in headers:
        wanted = headers["If-Match"]
        return wanted.strip() == "*" or current.etag in (tag for weak, tag in _ETAG.findall(wanted) if not weak)
    since = _date(headers.get("If-Unmodified-Since"))
    return since is None or current.modified <= since


def _is_unchanged(headers: Mapping[str, str], current: Representation) -> bool:
    if "If-None-Match" in headers:
        tags = headers["If-None-Match"]
        return tags.strip() == "*" or current.etag in (tag for _, tag in _ETAG.findall(tags))
    since = _date(headers.get("If-Modified-Since"))
    return since is not None and current.modified == since


def _range_applies(headers: Mapping[str, str], current: Representation) -> bool:
    condition = headers.get("If-Range")
    if condition is None:
        return True
    if match := _ETAG.fullmatch(condition.strip()):
        return not match[1] and match[2] == current.etag
    return _date(condition) == current.modified


def _ranged(wanted: str, size: int) -> PreconditionResult:
    whole = PreconditionResult(200, 0, size)
    in_bytes = _BYTES.fullmatch(wanted.strip())
    if in_bytes is None:
        return whole
    ranges = [part for part in (part.strip(" \t") for part in in_bytes[1].split(",")) if part]
    match = _RANGE.fullmatch(ranges[0]) if len(ranges) == 1 else None
    if match is None or match.groups() == ("", ""):
        return whole
    first, last = (text if len(text) <= _MAX_NUMBER_LENGTH else "9" * _MAX_NUMBER_LENGTH for text in match.groups())
    if not first:
        start = max(size - int(last), 0)
        return PreconditionResult(206, start, size - start) if int(last) and size else PreconditionResult(416)
    if last and int(last) < int(first):
        return whole
    end = min(int(last), size - 1) if last else size - 1
    return PreconditionResult(206, int(first), end - int(first) + 1) if int(first) < size else PreconditionResult(416)


def _date(text: str | None) -> datetime | None:
    """Parse an HTTP date in any of its three forms. Invalid dates are ignored."""
    if text is None:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
