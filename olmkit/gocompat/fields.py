"""Fields of a blob as Go's decoder finds and reads them, once it is known that it does. Pure.

Called by olmkit.fbc.catalog and object_faults. Refuses nothing: what is wrong go_types has said before.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any


def field(value: Mapping[str, Any], key: str) -> Any:
    """A field, by its name or, as Go's decoder does, by its name in another case."""
    if key in value:
        return value[key]
    fold, length = key.casefold(), len(key)
    for name in value:  # as nearly all names have another length, they need not be folded
        if len(name) == length and name.casefold() == fold:
            return value[name]
    return None


def text_field(value: Mapping[str, Any], key: str) -> str:
    """A field that is a string by now; "" when it is absent or null."""
    text: str | None = value.get(key) or field(value, key)
    return text or ""


def items_field(value: Mapping[str, Any], key: str) -> Iterable[Mapping[str, Any]]:
    """A list of mappings; null stands for an empty one."""
    return [each or {} for each in field(value, key) or ()]


def decode_bytes(data: str | list[int | None] | None) -> bytes:
    """What Go reads bytes from besides plain base64: base64 with line ends, numbers, null."""
    return base64.b64decode(data) if isinstance(data, str) else bytes(number or 0 for number in data or ())
