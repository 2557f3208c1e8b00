"""The informers that BundleDeployments are observed with, and deletions that they do not show yet.

Read by rukpak.bundledeployment.observe, applier, deleter and usage.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from olmkit.api.bundledeployments import OWNER_NAME_LABEL
from olmkit.api.meta import Object
from olmkit.api.ownership import apply_entries, manager_name
from olmkit.api.required_namespaces import required_namespaces
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.inventory import OWNER_INDEX
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.events import (
    CREATED_INDEX,
    REQUIRED_INDEX,
    controller_references,
    recorded_namespaces,
)
from rukpak.bundledeployment.world import LabeledObject

MEMBER_INDEX, ORPHAN_INDEX, RELEASED_INDEX = "member", "orphan", "released"
MAX_PENDING_DELETIONS = 4096
"""Deletions that are remembered; the informers show them within seconds."""

Deletable = TypeVar("Deletable", LabeledObject, NamespaceInfo)


class PendingDeletions:
    """Objects that the API server has accepted to delete. They are being deleted, though the informers may not show it yet."""

    def __init__(self) -> None:
        self._since: OrderedDict[str, datetime] = OrderedDict()

    def add(self, uid: str) -> None:
        """The API server accepted the deletion."""
        self._since[uid] = datetime.now(UTC)
        while len(self._since) > MAX_PENDING_DELETIONS:
            self._since.popitem(last=False)

    def __contains__(self, uid: str) -> bool:
        return uid in self._since

    def applied_to(self, entry: Deletable) -> Deletable:
        """The entry with a deletion timestamp, if its deletion was accepted."""
        since = entry.deletion_timestamp or self._since.get(entry.uid)
        return entry if since == entry.deletion_timestamp else replace(entry, deletion_timestamp=since)


@dataclass(frozen=True)
class Informers:
    """Namespaces and CRDs are transformed by rukpak.bundledeployment.cluster.transforms."""

    deployments: Informer
    bundles: Informer
    namespaces: Informer
    crds: Informer
    pending_deletions: PendingDeletions = field(default_factory=PendingDeletions)

    def __post_init__(self) -> None:
        self.bundles.add_index(OWNER_INDEX, lambda obj: [entry["uid"] for entry in controller_references(obj)])
        self.bundles.add_index(ORPHAN_INDEX, _orphan_of)
        self.deployments.add_index(CREATED_INDEX, recorded_namespaces)
        self.deployments.add_index(REQUIRED_INDEX, required_namespaces)
        self.namespaces.add_index(MEMBER_INDEX, _members)
        self.crds.add_index(OWNER_INDEX, transforms.owner_uid_index)
        for informer in (self.namespaces, self.crds):
            informer.add_index(RELEASED_INDEX, transforms.released_by_index)


def _orphan_of(bundle: Object) -> Iterable[str]:
    """The name of the BundleDeployment that made the Bundle, if the Bundle was left when that one was deleted."""
    metadata = bundle["metadata"]
    name = (metadata.get("labels") or {}).get(OWNER_NAME_LABEL, "")
    is_left = not metadata.get("ownerReferences") and "deletionTimestamp" not in metadata
    made = {entry["manager"] for entry in apply_entries(bundle)}
    return (name,) if is_left and manager_name(name) in made else ()


def _members(obj: Object) -> Iterable[str]:
    namespace = transforms.namespace_info_of(obj)
    return namespace.members if namespace is not None else ()
