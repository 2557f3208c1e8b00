"""Sets up replication on this replica: publishes its address on the lease, and runs the follower.

The routes are catalogd.replication.server's, and are mounted by catalogd.setup.
"""

from __future__ import annotations

from collections.abc import Mapping

from catalogd.replication.client import PeerRequestOptions
from catalogd.replication.follower import Follower, Leader
from catalogd.replication.server import ADDRESS_ANNOTATION
from catalogd.storage.catalog_store import CatalogStore
from olmkit.api.catalogs import Availability
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager
from olmkit.tls.service import netloc


def setup(
    manager: Manager, catalog_store: CatalogStore, catalogs: Informer, address: str, peers: PeerRequestOptions
) -> None:
    """Fill the store from the leader while another replica leads. `catalogs` is the informer of Catalogs."""

    def leader() -> Leader | None:
        if manager.is_leading:
            return None
        return Leader(manager.leader_annotations.get(ADDRESS_ANNOTATION, ""), manager.lease_term)

    manager.lease_annotations[ADDRESS_ANNOTATION] = netloc(address)
    manager.add_runnable(Follower(catalog_store, leader, lambda: served_catalogs(catalogs), peers).run)


def served_catalogs(catalogs: Informer) -> Mapping[str, str] | None:
    """The uids of the Catalogs that should be served, by name; None until the informer has synced."""
    if not catalogs.synced.is_set():
        return None
    return {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in catalogs.objects.values() if _is_desired(obj)}


def _is_desired(obj: dict[str, object]) -> bool:
    metadata, spec = obj.get("metadata"), obj.get("spec")
    is_deleting = isinstance(metadata, dict) and "deletionTimestamp" in metadata
    return not is_deleting and isinstance(spec, dict) and spec.get("availability") != Availability.UNAVAILABLE
