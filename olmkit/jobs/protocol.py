"""Frames between a job's parent and its child: one JSON object per line, and how they are read.

The child reads hostile input, so the parent takes nothing from it but JSON of a bounded size: errors travel as a class name and
arguments, and only subclasses of OlmError are made from them.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson

from olmkit.errors import OlmError

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Bytes a child may send in all; results are small, content goes through the disk."""
READ_BYTES = 64 * 1024


def frame(kind: str, value: Any) -> bytes:
    """One line. Raises TypeError for what JSON cannot hold."""
    return orjson.dumps({kind: value}) + b"\n"


class AnswerTooLarge(ValueError):
    """More than ANSWER_LIMIT."""

    def __init__(self) -> None:
        super().__init__("the child says too much")


async def read_lines(channel: socket.socket, hear: Callable[[bytes], None], *, is_each: bool = False) -> None:
    """`hear` each line, until the other end hangs up; a line that it did not end is dropped.

    Raises TooMuch when they are more than ANSWER_LIMIT together, or each: for a child that answers many. Raises OSError, and
    what `hear` does.
    """
    loop = asyncio.get_running_loop()
    heard, rest = 0, b""
    while data := await loop.sock_recv(channel, READ_BYTES):
        heard += len(data)
        if heard > MAX_ANSWER_BYTES:
            raise AnswerTooLarge
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            hear(line)
        if is_each and lines:
            heard = len(rest)


def error_to_json(error: OlmError) -> dict[str, Any]:
    """The class and the arguments that make the error again, as its __reduce__ gives them."""
    kind, arguments = error.__reduce__()[:2]
    return {"class": f"{kind.__module__}:{kind.__qualname__}", "arguments": [_to_json(each) for each in arguments]}


def error_from_json(value: dict[str, Any]) -> OlmError:
    """The error. Raises ValueError for anything that is no OlmError."""
    try:
        kind = resolve(value["class"])
        arguments = [_from_json(each) for each in value["arguments"]]
        if not (isinstance(kind, type) and issubclass(kind, OlmError)):
            raise ValueError(f"{value['class']} is no OlmError")
        return kind(*arguments)
    except (KeyError, TypeError, ImportError, AttributeError) as error:
        raise ValueError(str(error)) from error


def resolve(name: str) -> Any:
    """What "module:name" means. Raises ValueError, ImportError or AttributeError."""
    module, separator, attribute = name.partition(":")
    if not separator:
        raise ValueError(f'"{name}" is not of the form module:name')
    return getattr(importlib.import_module(module), attribute)


def _to_json(value: Any) -> Any:
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    return value


def _from_json(value: Any) -> Any:
    """Lists become tuples: errors are values."""
    if isinstance(value, dict) and value.keys() == {"seconds"}:
        return timedelta(seconds=value["seconds"])
    if isinstance(value, list):
        return tuple(_from_json(each) for each in value)
    return value
