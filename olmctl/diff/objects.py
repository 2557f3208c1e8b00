"""The objects that two rendered bundles do not have in common. Values of Secrets are never part of the result.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rukpak.format.bundle import Body
from rukpak.format.objects import BundleObject, ObjectKey, mapping

MASK, BEFORE, AFTER = "***", "*** (before)", "*** (after)"
"""Stand for the value of a Secret: one that both have, and one that differs."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Change(StrEnum):
    """The changes of an object."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True)
class ObjectChange:
    """An object that differs; `old` and `new` are its bodies without secrets, None where it does not exist."""

    key: ObjectKey
    change: Change
    old: Body | None
    new: Body | None


def object_changes(old: Sequence[BundleObject], new: Sequence[BundleObject]) -> list[ObjectChange]:
    """The differences, in the order of the new bundle; then what is removed, in the order of the old one."""
    before = {item.key: item.body for item in old}
    after = {item.key: item.body for item in new}
    changes = [_change(key, before.get(key), body) for key, body in after.items() if before.get(key) != body]
    return changes + [_change(key, body, None) for key, body in before.items() if key not in after]


def _change(key: ObjectKey, old: Body | None, new: Body | None) -> ObjectChange:
    change = Change.ADDED if old is None else Change.REMOVED if new is None else Change.CHANGED
    if key[:2] == ("", "Secret"):
        return ObjectChange(key, change, _masked(old, new, BEFORE), _masked(new, old, AFTER))
    return ObjectChange(key, change, old, new)


def _masked(body: Body | None, other: Body | None, different: str) -> Body | None:
    """The Secret without its values. `other`: the same one in the other bundle."""
    if body is None:
        return None
    values: dict[str, Any] = {}
    for field in ("data", "stringData"):
        known = mapping((other or {}).get(field))
        found = body.get(field)
        if found is not None:
            values[field] = {
                name: _mask(value, name, known, other, different) for name, value in mapping(found).items()
            }
    metadata = mapping(body.get("metadata"))
    annotations = mapping(metadata.get("annotations"))
    if LAST_APPLIED in annotations:  # a copy of the Secret
        values["metadata"] = {**metadata, "annotations": {**annotations, LAST_APPLIED: MASK}}
    return {**body, **values}


def _mask(value: Any, name: str, known: Mapping[str, Any], other: Body | None, different: str) -> str:
    return MASK if other is None or known.get(name) == value else different
