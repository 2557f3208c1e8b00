"""The fields of an object that `olm` or the console has applied, and applies again so that they stay when others change. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from olmkit.api.meta import Object

FIELD_MANAGER = "olm"
"""The field manager of everything that the commands apply."""


def own_spec(found: Object, manager: str = FIELD_MANAGER) -> Object:
    """The spec of an object without the fields that only others have applied."""
    return _owned(found["spec"], own_fields(found, manager))


def own_metadata(found: Object, manager: str = FIELD_MANAGER) -> Object:
    """The labels and annotations that the manager has applied."""
    known = {key: found["metadata"][key] for key in ("labels", "annotations") if found["metadata"].get(key)}
    return {key: value for key, value in _owned(known, _applied(found, manager, "f:metadata")).items() if value}


def own_fields(found: Object, manager: str = FIELD_MANAGER) -> Object:
    """The fields of the spec that the manager has applied, as `f:<field>`."""
    return _applied(found, manager, "f:spec")


def _applied(found: Object, manager: str, part: str) -> Object:
    for entry in found["metadata"].get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation")) == (manager, "Apply") and not entry.get("subresource"):
            fields: Object = entry.get("fieldsV1", {}).get(part, {})
            return fields
    return {}


def merged(known: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with these changes, at any depth."""
    nested = {
        key: merged(known.get(key) or {}, value) if isinstance(value, Mapping) else value
        for key, value in changes.items()
    }
    return {**known, **nested}


def _owned(value: Object, fields: Object) -> Object:
    """The fields of an object that are among the managed ones, at any depth."""
    return {
        key: _owned_part(entry, fields[f"f:{key}"]) if fields[f"f:{key}"] else entry
        for key, entry in value.items()
        if f"f:{key}" in fields
    }


def _owned_part(value: Any, fields: Object) -> Any:
    if isinstance(value, dict):
        return _owned(value, fields)
    is_set = isinstance(value, list) and any(key.startswith("v:") for key in fields)
    return [each for each in value if member_field(each) in fields] if is_set else value


def member_field(member: object) -> str:
    """The managed field of a member of a set, such as a text of spec.excludedVersions."""
    return f"v:{json.dumps(member, ensure_ascii=False)}"
