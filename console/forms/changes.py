"""The differences between versions of an object, and the body that changes only that. Pure.

Server-side apply removes a field that a manager applied before and leaves out, so a body has the own fields of the console too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.forms.places import MISSING, Place, api_field, value_at, with_value

MAX_SHOWN: Final = 200
_KEPT: Final = ("apiVersion", "kind")
_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion")
_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")
"""Fields of metadata that a person may change."""


@dataclass(frozen=True)
class Change:
    """A field, with its value before and after; MISSING for none."""

    place: Place
    before: Any
    after: Any

    @property
    def field(self) -> str:
        """The field as the API server names it."""
        return api_field(self.place)


def editable(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object as it is edited: without managedFields."""
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "managedFields"}
    return {key: metadata if key == "metadata" else value for key, value in obj.items()}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """The fields that differ, but for the status and metadata that the API server keeps. A list is one field."""
    return tuple(_changes(_comparable(before), _comparable(after), ()))


def _comparable(obj: Mapping[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    kept = {key: metadata[key] for key in _METADATA if key in metadata} if isinstance(metadata, dict) else {}
    return {key: kept if key == "metadata" else value for key, value in obj.items() if key != "status"}


def _changes(before: Any, after: Any, place: Place) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict) and (before or after or not place):
        for key in dict.fromkeys((*before, *after)):
            yield from _changes(before.get(key, MISSING), after.get(key, MISSING), (*place, key))
    elif type(before) is not type(after) or before != after:
        yield Change(place, before, after)


def merged(theirs: Mapping[str, Any], ours: tuple[Change, ...]) -> dict[str, Any]:
    """The object of others with our changes."""
    result: Any = dict(theirs)
    for each in ours:
        result = with_value(result, each.place, each.after)
    return dict(result)


def overlapping(ours: tuple[Change, ...], theirs: tuple[Change, ...]) -> tuple[Change, ...]:
    """Our changes of fields that others changed too, also above or below, to another value."""

    def meets(one: Change, other: Change) -> bool:
        shared = min(len(one.place), len(other.place))
        return one.place[:shared] == other.place[:shared] and (one.place != other.place or one.after != other.after)

    return tuple(one for one in ours if any(meets(one, other) for other in theirs))


def apply_body(found: Mapping[str, Any], ours: tuple[Change, ...], manager: str) -> dict[str, Any]:
    """The manifest to apply as `manager`: the fields that it applied before, with our changes. Only as the object is."""
    body: Any = _owned(dict(found), _own_fields(found, manager))
    for each in ours:
        body = with_value(body, each.place, each.after)
    metadata = {key: found["metadata"][key] for key in _IDENTITY if key in found["metadata"]}
    kept = body.get("metadata") if isinstance(body.get("metadata"), dict) else {}
    extra = {key: value for key, value in kept.items() if key in _METADATA}
    return {**{key: found[key] for key in _KEPT}, **body, "metadata": {**extra, **metadata}}


def foreign_removals(found: Mapping[str, Any], ours: tuple[Change, ...], manager: str) -> tuple[Change, ...]:
    """Our removals of fields that `manager` has not applied: an apply cannot remove these."""
    own = _owned(dict(found), _own_fields(found, manager))
    return tuple(each for each in ours if each.after is MISSING and value_at(own, each.place) is MISSING)


def are_of_others(found: Mapping[str, Any], ours: tuple[Change, ...], manager: str) -> bool:
    """Report whether a manager of another name manages a field of ours. `manager` created objects by an update, so that its own
    fields are in the way of its apply."""
    entries = [
        entry.get("fieldsV1") or {}
        for entry in found["metadata"].get("managedFields") or ()
        if entry.get("manager") != manager and not entry.get("subresource")
    ]
    theirs = [_owned(dict(found), fields) for fields in entries]
    return any(value_at(owned, each.place) is not MISSING for owned in theirs for each in ours)


def merge_patch(found: Mapping[str, Any], ours: tuple[Change, ...]) -> dict[str, Any]:
    """The same changes as a merge patch, which may remove any field. Only as the object is."""
    return dict(_patched({"metadata": {key: found["metadata"][key] for key in ("uid", "resourceVersion")}}, ours))


def removing_patch(ours: tuple[Change, ...]) -> dict[str, Any]:
    """The same changes as a merge patch, whatever the object is like by then; empty unless it removes a field, which an apply of
    another manager does not."""
    return dict(_patched({}, ours)) if any(each.after is MISSING for each in ours) else {}


def _patched(patch: Any, ours: tuple[Change, ...]) -> Any:
    for each in ours:
        patch = with_value(patch, each.place, None if each.after is MISSING else each.after)
    return patch


def _own_fields(found: Mapping[str, Any], manager: str) -> Mapping[str, Any]:
    for entry in found["metadata"].get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation")) == (manager, "Apply") and not entry.get("subresource"):
            fields: Mapping[str, Any] = entry.get("fieldsV1") or {}
            return fields
    return {}


def _owned(value: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object that are among the managed ones, at any depth; a list is kept whole."""
    return {
        key: _owned(entry, fields[f"f:{key}"]) if isinstance(entry, dict) and fields[f"f:{key}"] else entry
        for key, entry in value.items()
        if f"f:{key}" in fields
    }
