"""JSON merge patches (RFC 7396): what an apply cannot do, which removes only the fields of its own field manager.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that turns `before` into `after`; empty if they are equal. Lists are replaced as a whole."""
    patch: dict[str, Any] = {}
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            patch |= {name: inner} if (inner := merge_patch(old, new)) else {}
        elif old != new:
            patch[name] = new
    return patch
