"""Event mapping of the controller of Bundles: which keys a change in an informer enqueues. Registered by rukpak.setup."""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.content import Phase
from olmkit.api.meta import Object
from olmkit.runtime.informer import Informer
from olmkit.runtime.informer_store import Change
from rukpak.bundle.decide import conflict_message


def keys_of_bundle(change: Change) -> Iterable[str]:
    """A Bundle that was created, deleted, or whose spec changed. Progress in its own status does not enqueue it."""
    old, new = change.old, change.new
    if (
        old is not None
        and new is not None
        and _version(old) == _version(new)
        and (new.get("status") or {}).get("conditions")
    ):
        return
    obj = new or old
    if obj is not None:
        yield obj["metadata"]["name"]


def keys_of_conflicting_bundles(change: Change, informer: Informer) -> Iterable[str]:
    """The Bundles that report that another Bundle keeps them from being unpacked, when that one is deleted or its spec
    changes."""
    old, new = change.old, change.new
    if old is None or (new is not None and _version(old) == _version(new)):
        return
    message = conflict_message(old["metadata"]["name"])
    for (_, name), raw in informer.objects.items():
        status = raw.get("status") or {}
        if status.get("phase") == Phase.FAILING and any(
            message in condition["message"] for condition in status.get("conditions") or ()
        ):
            yield name


def keys_of_deployment(change: Change) -> Iterable[str]:
    """The Bundle whose record in the status of its BundleDeployment changed: a Bundle that was recreated may exist before its
    record."""
    record = _record(change.new)
    if record is not None and record != _record(change.old):
        yield record["bundle"]


def _record(raw: Object | None) -> Object | None:
    record: Object | None = ((raw or {}).get("status") or {}).get("installed")
    return record


def _version(raw: Object) -> tuple[object, ...]:
    metadata = raw["metadata"]
    return metadata.get("uid"), metadata.get("generation"), metadata.get("deletionTimestamp")
