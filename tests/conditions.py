"""The conditions of an object as tests compare them. Asks no cluster."""

from __future__ import annotations

from typing import Any

Triple = tuple[str, str, str]


def triple(raw: dict[str, Any] | None, type_: str) -> Triple:
    """Status, reason and message of a condition; all "" where it has none of that type, or there is no object."""
    for each in ((raw or {}).get("status") or {}).get("conditions") or ():
        if each["type"] == type_:
            return each["status"], each["reason"], each["message"]
    return "", "", ""
