"""Wrong usage of a command, as it is printed: the usage, how to get help, and the error."""

from __future__ import annotations


def error_of(text: str) -> str:
    """The error of a text in this form, with its line end."""
    usage, separator, error = text.partition("\n\nError: ")
    assert separator
    assert usage.startswith("Usage: olm ")
    assert usage.endswith(" --help' for help.")
    return error
