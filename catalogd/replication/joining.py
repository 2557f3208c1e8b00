"""How a replica takes its part: it says on the lease where it is asked, and follows whoever holds the lease otherwise.

Called by catalogd.wiring; catalogd.replication.protocol gives, catalogd.replication.follower takes.
"""

from __future__ import annotations

from collections.abc import Collection

from catalogd.keeping.shelf import Shelf
from catalogd.replication.follower import Follower
from catalogd.replication.protocol import ADDRESS
from catalogd.replication.source import Peers
from olmkit.api.catalogs import Availability
from olmkit.informer import Informer
from olmkit.manager import Manager
from olmkit.serving.names import netloc


def join(manager: Manager, shelf: Shelf, known: Informer, address: str, peers: Peers) -> None:
    """Have the shelf kept tidy, and filled from the leader while another replica leads; `known` are the Catalogs."""

    def leader() -> str | None:
        return None if manager.is_leading else manager.leader_annotations.get(ADDRESS, "")

    manager.lease_annotations[ADDRESS] = netloc(address)
    manager.serve(shelf.run)
    manager.serve(Follower(shelf, leader, lambda: wanted(known), peers).run)


def wanted(known: Informer) -> Collection[str] | None:
    """Names of the Catalogs that are to be served; None as long as the API server has not been asked."""
    if not known.synced.is_set():
        return None
    return {obj["metadata"]["name"] for obj in known.objects.values() if _is_wanted(obj)}


def _is_wanted(obj: dict[str, object]) -> bool:
    metadata, spec = obj.get("metadata"), obj.get("spec")
    leaves = isinstance(metadata, dict) and "deletionTimestamp" in metadata
    return not leaves and isinstance(spec, dict) and spec.get("availability") != Availability.UNAVAILABLE
