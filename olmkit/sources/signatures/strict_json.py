"""JSON of signatures, refused where two readers could read it differently. Pure.

Go reads a key in any case, and the last of equal keys counts. So an object that has a key twice, in any case, is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any


class Unreadable(ValueError):
    """The message follows the name of the signature."""


def read_object(data: bytes | str, what: str) -> dict[str, Any]:
    """The object. Raises Unreadable."""
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_refuse)
    except Unreadable as error:
        raise Unreadable(f"has {what} with {error}") from None
    except (ValueError, RecursionError):
        raise Unreadable(f"has {what} that is not JSON") from None
    if not isinstance(value, dict):
        raise Unreadable(f"has {what} that is not a JSON object")
    return value


def member(value: Any, *path: str) -> Any:
    """The member at this path; None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value: Any, *path: str) -> str:
    """The text at this path; "" if there is none."""
    found = member(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Any, *path: str) -> int:
    """The integer at this path, which may be written as a text, as protobuf does. Raises Unreadable."""
    found = member(value, *path)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 20:
        return int(found)
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**63:
        return found
    raise Unreadable(f"has no number {'.'.join(path)}")


def items(value: Any, *path: str) -> Sequence[Any]:
    """The list at this path; empty if there is none."""
    found = member(value, *path)
    return found if isinstance(found, list) else ()


def decoded(value: Any, *path: str) -> bytes:
    """The bytes of the base64 text at this path; empty if there is none. Raises Unreadable."""
    try:
        return base64.b64decode(text(value, *path), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable(f"has no valid base64 in {'.'.join(path)}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = {name.casefold() for name, _ in pairs}
    if len(found) != len(pairs):
        names = sorted(name for name, _ in pairs)
        twice = next(name for name in names if sum(each.casefold() == name.casefold() for each in names) > 1)
        raise Unreadable(f"the key {json.dumps(twice[:64])} twice")
    return dict(pairs)


def _refuse(name: str) -> None:
    raise ValueError(name)
