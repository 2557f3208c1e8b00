"""The fields of an object that `olm` has applied, which a command applies again so that they stay when others change. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from olmctl.questions.session import FIELD_MANAGER
from olmkit.api.meta import Object


def own_spec(found: Object) -> Object:
    """The spec of an object without the fields that only others have applied."""
    return _owned(found["spec"], own_fields(found))


def own_fields(found: Object) -> Object:
    """The fields of the spec that `olm` has applied, as `f:<field>`."""
    for entry in found["metadata"].get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation")) == (FIELD_MANAGER, "Apply"):
            fields: Object = entry.get("fieldsV1", {}).get("f:spec", {})
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
