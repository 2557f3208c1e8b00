"""Fields of JSON objects by their names in upper or lower case, as Go's JSON decoder finds the fields of a type.

Many tools accept `ApiVersion: v1`; the API server, and all code after these readers, expect one spelling. Never changes its
arguments and validates nothing: olmkit.gocompat.go_decode_errors does. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_OBJECT = ("apiVersion", "kind", "metadata")
_METADATA = (
    "annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName",
    "generation", "labels", "managedFields", "name", "namespace", "ownerReferences", "resourceVersion", "selfLink", "uid",
)  # fmt: skip


def field(value: Mapping[str, Any], key: str) -> Any:
    """A field by its name, else by its name in another case."""
    if key in value:
        return value[key]
    fold, length = key.casefold(), len(key)
    for name in value:  # as nearly all names have another length, they need not be folded
        if len(name) == length and name.casefold() == fold:
            return value[name]
    return None


def text_field(value: Mapping[str, Any], key: str) -> str:
    """A field that is known to be a string; "" when it is absent or null."""
    text: str | None = value.get(key) or field(value, key)
    return text or ""


def items_field(value: Mapping[str, Any], key: str) -> Iterable[Mapping[str, Any]]:
    """A list of mappings; null stands for an empty one."""
    return [each or {} for each in field(value, key) or ()]


def canonical_keys(value: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The mapping with each key that is one of the names in another case under that name; the same mapping when none is.

    Of several spellings of a name the exact one counts, else the last; the others are left out.
    """
    folded = {name.casefold(): name for name in names}
    meant = {key: folded.get(key.casefold(), key) for key in value}
    if all(key == name for key, name in meant.items()):
        return value
    return {name: value[name] if name in value else value[key] for key, name in meant.items()}


def canonical_object(body: dict[str, Any]) -> dict[str, Any]:
    """The Kubernetes object with apiVersion, kind, metadata and the fields of metadata under their names."""
    named = canonical_keys(body, _OBJECT)
    metadata = named.get("metadata")
    if not isinstance(metadata, dict):
        return named
    known = canonical_keys(metadata, _METADATA)
    return named if known is metadata else {**named, "metadata": known}
