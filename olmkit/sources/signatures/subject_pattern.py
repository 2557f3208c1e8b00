"""Patterns for the subjects of certificates, in the syntax of RE2, as cosign and Flux read them. Pure.

RE2 reads each character of a subject once, whatever the pattern is. Who may have a certificate chooses its subject, and Python's
own expressions would not end for some of them.
"""

from __future__ import annotations

from typing import Any

import re2


class InvalidPattern(ValueError):
    """The message says what is wrong with the pattern."""


def matches(pattern: str, subject: str) -> bool:
    """Report whether the pattern matches the whole subject. Raises InvalidPattern."""
    return _compiled(pattern).fullmatch(subject) is not None


def check_pattern(pattern: str) -> None:
    """Raises InvalidPattern."""
    _compiled(pattern)


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = error.args[0]
        raise InvalidPattern(words.decode(errors="replace") if isinstance(words, bytes) else str(words)) from None
