"""What every Kubernetes object has around its content, under the names that Kubernetes gives it. Pure.

Called where manifests are read that people wrote: rukpak.format.files, olmkit.fbc.bundle_files. Go's JSON decoder finds the
fields of a type by their names in any case of the letters, so `ApiVersion: v1` is good enough for many tools; the API server
and everything behind these readers know one spelling. Never changes a value that it is given, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_ENVELOPE = ("apiVersion", "kind", "metadata")
_METADATA = (
    "annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName",
    "generation", "labels", "managedFields", "name", "namespace", "ownerReferences", "resourceVersion", "selfLink", "uid",
)  # fmt: skip


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
    """The object with apiVersion, kind, metadata and the fields of metadata under their names."""
    named = canonical_keys(body, _ENVELOPE)
    metadata = named.get("metadata")
    if not isinstance(metadata, dict):
        return named
    known = canonical_keys(metadata, _METADATA)
    return named if known is metadata else {**named, "metadata": known}
