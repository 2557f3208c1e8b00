"""Objects as the status of a BundleDeployment names them. Its reports call it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.api.bundledeployment_status import MAX_REFERENCES
from olmkit.api.deployed_objects import ObjectReference
from rukpak.format.objects import ObjectKey


def references(keys: Sequence[ObjectKey]) -> tuple[list[ObjectReference] | None, bool | None]:
    """The first objects as a list of the status, and True if there are more of them."""
    return [reference(key) for key in keys[:MAX_REFERENCES]] or None, len(keys) > MAX_REFERENCES or None


def reference(key: ObjectKey) -> ObjectReference:
    """The object as an item of such a list."""
    return ObjectReference(group=key.group, kind=key.kind, namespace=key.namespace or None, name=key.name)


def key_of(one: ObjectReference) -> ObjectKey:
    """The key of an object that the status names."""
    return ObjectKey(one.group, one.kind, one.namespace or "", one.name)
