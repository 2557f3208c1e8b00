"""Maps watch events to keys: which ClusterCatalogs a change of a ClusterCatalog or of a Catalog enqueues. Never decides."""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.runtime.informer import Change


def keys_of_object(change: Change) -> Iterable[str]:
    """The ClusterCatalog itself, or the one with the name of the Catalog, which owns it or waits for its end."""
    return [obj["metadata"]["name"] for obj in (change.new or change.old,) if obj]
