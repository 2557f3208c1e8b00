"""Values of objects as Go's %v prints them in messages of upstream: integers whole, maps with sorted keys. Pure."""

from __future__ import annotations

from typing import Any

import orjson

from olmkit.gocompat.values import format_v


def format_value(value: Any) -> str:
    """The value as %v writes it."""
    match value:
        case str():
            return value
        case bool() | None | float():
            return format_v(value) if isinstance(value, orjson.Fragment) else str(value)
        case int():
            return str(value)
        case list():
            return f"[{' '.join(map(format_value, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{format_value(value[key])}' for key in sorted(value))}]"
    return format_v(value) if isinstance(value, orjson.Fragment) else str(value)
