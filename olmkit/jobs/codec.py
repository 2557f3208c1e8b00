"""Requests, results and errors of jobs as JSON values, and back.

Used on both ends of a pipe (scheduler, parser, worker and their children). Decoding checks every field against
its declared type and imports nothing: a child reads hostile input, so its answer is not trusted. Errors travel as the name of a
class and its arguments; only the classes that the Job declares, and the three basic ones, are ever made from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from olmkit.errors import Blocked, OlmError, Waiting

Value = TypeVar("Value")
ErrorClasses = Iterable[type[OlmError]]

BASIC_ERRORS = (OlmError, Blocked, Waiting)
"""The errors that cross a pipe whatever the Job declares."""


def encode(value: object) -> Any:
    """The JSON value of a dataclass, a Struct or anything that JSON holds. Raises TypeError for what has none."""
    return msgspec.to_builtins(value, enc_hook=_encode_other)


def from_json(kind: type[Value], text: bytes | msgspec.Raw) -> Value:
    """The value of that type from JSON text. Raises ValueError as decode() does."""
    return msgspec.json.decode(text, type=kind, dec_hook=_decode_other)


def decode(kind: type[Value], value: object) -> Value:
    """The value of that type. Raises ValueError when a field is missing or has another type."""
    return msgspec.convert(value, kind, dec_hook=_decode_other)


def to_json(value: object) -> bytes:
    """The JSON text of encode(value). Raises TypeError for what has none, ValueError for a text that UTF-8 cannot hold."""
    return msgspec.json.encode(value, enc_hook=_encode_other)


def encode_error(error: OlmError, classes: ErrorClasses) -> dict[str, Any]:
    """The error as the nearest of its classes that is one of `classes` or basic, with the arguments that make it again."""
    allowed = {*classes, *BASIC_ERRORS}
    kind: type[OlmError] = next(each for each in type(error).__mro__ if each in allowed)
    _, arguments = kind.__reduce__(error)[:2]
    return {"class": kind.__name__, "arguments": [_encode_argument(each) for each in arguments]}


def decode_error(value: dict[str, Any], classes: ErrorClasses) -> OlmError:
    """The error. Raises ValueError for anything that is not an error of `classes` or a basic one."""
    by_name = {each.__name__: each for each in (*BASIC_ERRORS, *classes)}
    try:
        kind = by_name[value["class"]]
        made: OlmError = kind(*[_decode_argument(each) for each in value["arguments"]])
    except (AttributeError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error
    is_sound = all(isinstance(each, str) for each in (made.reason, made.message, *made.subject))
    if not is_sound or not isinstance(getattr(made, "after", timedelta()), timedelta):
        raise ValueError(f"{value['class']} has arguments of other types")
    return made


def _encode_other(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _decode_other(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError(f"{value!r} is not a {kind.__name__}")


def _encode_argument(value: Any) -> Any:
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    if isinstance(value, list | tuple):
        return [_encode_argument(each) for each in value]
    return value


def _decode_argument(value: Any) -> Any:
    """The argument with its lists as tuples: errors are values."""
    if isinstance(value, dict) and value.keys() == {"seconds"}:
        return timedelta(seconds=value["seconds"])
    if isinstance(value, list):
        return tuple(_decode_argument(each) for each in value)
    return value
