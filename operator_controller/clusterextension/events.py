"""Maps watch events to keys: which ClusterExtensions a change of a ClusterExtension, an Operator, a Catalog, a ClusterCatalog or
a leader of OLM v1 enqueues.

Also the informers that are watched, and their index. Reads only informers; never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from olmkit.api.catalogs import Catalog, is_first_unpacked
from olmkit.api.clustercatalogs import ClusterCatalog, is_untranslated
from olmkit.api.clusterextensions import operator_name
from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer

OPERATOR_INDEX = "operator"
"""Index of ClusterExtensions by the name of their Operator, which several may have: their names are shortened."""


@dataclass(frozen=True)
class Informers:
    """One informer for each kind that is watched. Those of Operators and Catalogs are shared with the controller
    of Operators."""

    extensions: Informer
    operators: Informer
    catalogs: Informer
    cluster_catalogs: Informer

    def __post_init__(self) -> None:
        self.extensions.add_index(OPERATOR_INDEX, lambda raw: [operator_name(raw["metadata"]["name"])])

    def keys_of_extension(self, change: Change) -> Iterable[str]:
        """The ClusterExtension itself, unless this process has written its status: the pass that did so has decided already."""
        if change.is_own_write and _without_status(change.old) == _without_status(change.new):
            return ()
        return {raw["metadata"]["name"] for raw in (change.new, change.old) if raw is not None}

    def keys_of_operator(self, change: Change) -> Iterable[str]:
        """The ClusterExtensions whose Operator has the name, whether it belongs to one of them or is in the way."""
        names = {raw["metadata"]["name"] for raw in (change.new, change.old) if raw is not None}
        found = (raw for name in names for raw in self.extensions.by_index(OPERATOR_INDEX, name))
        return {raw["metadata"]["name"] for raw in found}

    def unpacking(self) -> tuple[Catalog, ...]:
        """The Catalogs whose first content is being unpacked: they have neither served nor failed."""
        return tuple(filter(is_first_unpacked, map(Catalog.load, self.catalogs.objects.values())))

    def untranslated(self) -> tuple[ClusterCatalog, ...]:
        """The ClusterCatalogs that are about to get a Catalog."""
        without = (
            raw for raw in self.cluster_catalogs.objects.values() if self.catalogs.get(raw["metadata"]["name"]) is None
        )
        return tuple(filter(is_untranslated, map(ClusterCatalog.load, without)))

    def keys_of_catalog(self, change: Change) -> Iterable[str]:
        """The ClusterExtensions without an Operator: they may have waited for the content of the Catalog or ClusterCatalog."""
        names = (raw["metadata"]["name"] for raw in self.extensions.objects.values())
        return {name for name in names if self.operators.get(operator_name(name)) is None}

    def enqueue_all(self, enqueue: Callable[[str], None]) -> None:
        """Enqueue all ClusterExtensions: a controller of OLM v1 leads no more."""
        for raw in list(self.extensions.objects.values()):
            enqueue(raw["metadata"]["name"])


def _without_status(extension: Object | None) -> tuple[object, ...] | None:
    if extension is None:
        return None
    metadata = {key: value for key, value in extension["metadata"].items() if key != "resourceVersion"}
    return metadata, extension.get("spec")
