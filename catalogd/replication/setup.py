"""How a replica takes its part: it says on the lease where it is asked, and follows whoever holds the lease otherwise.

Called by catalogd.setup; catalogd.replication.server gives, catalogd.replication.follower takes.
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


def setup(manager: Manager, shelf: CatalogStore, known: Informer, address: str, peers: PeerRequestOptions) -> None:
    """Have the shelf filled from the leader while another replica leads; `known` are the Catalogs."""

    def leader() -> Leader | None:
        if manager.is_leading:
            return None
        return Leader(manager.leader_annotations.get(ADDRESS_ANNOTATION, ""), manager.lease_term)

    manager.lease_annotations[ADDRESS_ANNOTATION] = netloc(address)
    manager.add_runnable(Follower(shelf, leader, lambda: served_catalogs(known), peers).run)


def served_catalogs(known: Informer) -> Mapping[str, str] | None:
    """The Catalogs that are to be served, uid by name; None as long as the API server has not been asked."""
    if not known.synced.is_set():
        return None
    return {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in known.objects.values() if _is_wanted(obj)}


def _is_wanted(obj: dict[str, object]) -> bool:
    metadata, spec = obj.get("metadata"), obj.get("spec")
    leaves = isinstance(metadata, dict) and "deletionTimestamp" in metadata
    return not leaves and isinstance(spec, dict) and spec.get("availability") != Availability.UNAVAILABLE
