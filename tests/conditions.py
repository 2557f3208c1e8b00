"""Conditions of objects, for comparisons in tests. Uses no cluster."""

from __future__ import annotations

from typing import Any

Triple = tuple[str, str, str]


def triple(raw: dict[str, Any] | None, type_: str) -> Triple:
    """Status, reason and message of a condition; all "" if there is none of that type, or no object."""
    for each in ((raw or {}).get("status") or {}).get("conditions") or ():
        if each["type"] == type_:
            return each["status"], each["reason"], each["message"]
    return "", "", ""
