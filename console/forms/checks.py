"""Checks one text of a form against the limits that the schema sets for its field. Pure.

The API server has the last word, by a dry run: what cannot be decided here passes. Patterns are the publisher's, so they run in
RE2, which reads each character once: it is the syntax of Go, which the API server uses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import re2

from olmctl.terminal import clean, shorten
from olmkit.api.names import MAX_SUBDOMAIN_LENGTH
from olmkit.api.patterns import OBJECT_NAME

MAX_PATTERN: Final = 2_000
MAX_MATCHED: Final = 65_536
"""Characters of a text that is compared with a pattern."""
_NAME: Final = re.compile(OBJECT_NAME)
_PATTERN_MEMORY: Final = 2 * 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """The limits of a field; None where there is none."""

    minimum: float | None = None
    maximum: float | None = None
    is_above: bool = False
    is_below: bool = False
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""


NO_LIMITS: Final = Limits()


def number_problem(limits: Limits, value: float) -> str:
    """The reason why a number is refused; empty if it is not."""
    low, high = limits.minimum, limits.maximum
    if low is not None and (value < low or (limits.is_above and value == low)):
        return f"must be {'more than' if limits.is_above else 'at least'} {low:g}"
    if high is not None and (value > high or (limits.is_below and value == high)):
        return f"must be {'less than' if limits.is_below else 'at most'} {high:g}"
    return ""


def text_problem(limits: Limits, text: str) -> str:
    """The reason why a text is refused; empty if it is not."""
    if limits.min_length is not None and len(text) < limits.min_length:
        return f"must have at least {limits.min_length} characters"
    if limits.max_length is not None and len(text) > limits.max_length:
        return f"must have at most {limits.max_length} characters, and has {len(text)}"
    if limits.pattern and len(text) <= MAX_MATCHED and is_unlike(limits.pattern, text):
        return f"must match {shorten(clean(limits.pattern), 200)}"
    return ""


def is_unlike(pattern: str, text: str) -> bool:
    """Report whether a pattern certainly has no match in a text."""
    compiled = _compiled(pattern)
    return compiled is not None and compiled.search(text) is None


def name_problem(name: str) -> str:
    """The reason why an object cannot have a name; empty if it can. The rule of most kinds, and of all custom resources."""
    if not name:
        return "is required"
    if len(name) > MAX_SUBDOMAIN_LENGTH or not _NAME.fullmatch(name):
        return "a name has lower-case letters, digits, '-' and '.', and begins and ends with a letter or digit"
    return ""


def words_of(message: str) -> str:
    """The words of the API server about a field, without the value if that is the whole object."""
    return message.removeprefix('Invalid value: "object": ').removeprefix("Invalid value: ")


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    """The pattern; None if it is not understood, or too long."""
    if len(pattern) > MAX_PATTERN:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None
