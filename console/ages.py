"""The age of what has a time of the API server, in words."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def age(timestamp: str) -> str:
    """The time since then, as `olm list` and frame.js write it; the text itself if it is no time."""
    try:
        seconds = int((datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds())
    except (ValueError, TypeError):
        return timestamp
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
