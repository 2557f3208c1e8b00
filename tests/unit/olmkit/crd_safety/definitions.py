"""CustomResourceDefinitions for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]


def schema(size: Schema | None = None, **spec: Any) -> Schema:
    """A schema with spec.size of that schema; `spec` are other keys of the schema of spec."""
    fields = {"size": dict(size)} if size is not None else {}
    extra = dict(spec.pop("properties", {}))
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {**fields, **extra}, **spec}},
    }


def definition(
    versions: Mapping[str, Schema],
    *,
    stored: Sequence[str] = (),
    scope: str = "Namespaced",
    kind: str = "Boat",
    conversion: str = "None",
    unserved: Sequence[str] = (),
    subresources: Sequence[str] = (),
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A CRD with these versions; the last one is that of the storage."""
    names = list(versions)
    return {
        "metadata": {"name": "boats.example.com", "annotations": dict(annotations or {})},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"kind": kind, "plural": "boats"},
            "conversion": {"strategy": conversion},
            "versions": [
                {
                    "name": name,
                    "served": name not in unserved,
                    "storage": name == names[-1],
                    "subresources": {each: {} for each in subresources},
                    "schema": {"openAPIV3Schema": dict(entry)},
                }
                for name, entry in versions.items()
            ],
        },
        "status": {"storedVersions": list(stored) or names[-1:]},
    }
