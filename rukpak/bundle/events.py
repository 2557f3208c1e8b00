"""Maps watch events to keys: which Bundles a change of a Bundle, BundleDeployment, Secret or ConfigMap enqueues.

Reads only the informer; never decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.api.content import Phase
from olmkit.api.meta import Object
from olmkit.runtime.informer import Informer
from olmkit.runtime.informer_store import Change
from rukpak.bundle.named_inputs import named_config_maps, named_secret, verification_inputs
from rukpak.bundle.recorded_sources import changed_records, resolved_digest
from rukpak.bundle.uploads.stored_upload import INDEX, owner_of, role_of


@dataclass(frozen=True)
class EventMapper:
    """One method for each watched kind: from a change to the names of Bundles."""

    bundles: Informer
    pull_secret: str = ""
    """The Secret for all Bundles, "" for none."""

    def keys_of_bundle(self, change: Change) -> Iterator[str]:
        """The Bundle itself, if it was created or deleted, its spec changed, or another client wrote its status. Writes of this
        process do not enqueue it, because a pass reads the whole content. If the Bundle is deleted or its spec changes, also the
        Bundles that report that it prevents their unpacking.
        """
        old, new = change.old, change.new
        is_same = old is not None and new is not None and _version(old) == _version(new)
        obj = new or old
        if obj is not None and not (is_same and (change.is_own_write or _status(old) == _status(new))):
            yield obj["metadata"]["name"]
        if old is not None and not is_same:
            yield from self._conflicting_with(old)

    def keys_of_deployment(self, change: Change) -> Iterator[str]:
        """The Bundles whose records in the status of their BundleDeployment changed: a recreated Bundle may exist before its
        record. Of records that are gone, only those of Bundles that do not exist: their content is not needed any more.
        """
        for name, is_recorded in changed_records(change.old, change.new):
            if is_recorded or ("", name) not in self.bundles.objects:
                yield name

    def keys_of_secret(self, change: Change) -> Iterator[str]:
        """The Bundles that name the Secret, and for the Secret for all Bundles also the Bundles that are not unpacked."""
        secret = _name(change)
        for (_, name), raw in self.bundles.objects.items():
            is_unpacked = (raw.get("status") or {}).get("phase") == Phase.UNPACKED
            source = raw["spec"]["source"]
            is_named = named_secret(source) == secret or ("Secret", secret) in verification_inputs(source)
            if is_named or (secret == self.pull_secret and not is_unpacked):
                yield name

    def keys_of_config_map(self, change: Change) -> Iterator[str]:
        """The Bundles that name the ConfigMap: also those that are unpacked, as their status may be older than the pass that has
        found neither their content nor the ConfigMap. Of an upload, the Bundle of its index; nobody waits for a part."""
        config_map = _name(change)
        yield from {owner_of(each)[0] for each in (change.old, change.new) if each and role_of(each) == INDEX} - {""}
        for (_, name), raw in self.bundles.objects.items():
            source = raw["spec"]["source"]
            if config_map in named_config_maps(source) or ("ConfigMap", config_map) in verification_inputs(source):
                yield name

    def _conflicting_with(self, old: Object) -> Iterator[str]:
        """The Bundles that cannot be unpacked because their content is already unpacked as the type of this Bundle's
        provisioner."""
        digest, provisioner = resolved_digest(old), old["spec"]["provisionerClassName"]
        for (_, name), raw in self.bundles.objects.items():
            is_same_content = digest != "" and resolved_digest(raw) == digest
            is_failing = (raw.get("status") or {}).get("phase") == Phase.FAILING
            if is_same_content and is_failing and raw["spec"]["provisionerClassName"] != provisioner:
                yield name


def _name(change: Change) -> str:
    return next(str(obj["metadata"]["name"]) for obj in (change.new, change.old) if obj is not None)


def _status(raw: Object | None) -> Object | None:
    return (raw or {}).get("status")


def _version(raw: Object) -> tuple[object, ...]:
    metadata = raw["metadata"]
    return metadata.get("uid"), metadata.get("generation"), metadata.get("deletionTimestamp")
