"""Maps watch events to keys: which Catalogs a change of a Catalog, Package, Secret or ConfigMap enqueues.

Reads only informers; never decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from catalogd.catalog.package_sync import catalog_of
from olmkit.api.catalogs import Catalog
from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from olmkit.sources.spec_source import CONFIG_MAP, SECRET, InputReference, input_references


@dataclass(frozen=True)
class EventMapper:
    """One method for each watched kind: from a change to the names of Catalogs.

    `pull_secret` is the name of the cluster-wide pull secret, "" for none.
    """

    catalogs: Informer
    pull_secret: str = ""

    def keys_of_catalog(self, change: Change) -> Iterable[str]:
        """The Catalog itself."""
        return [obj["metadata"]["name"] for obj in (change.new or change.old,) if obj]

    def keys_of_package(self, change: Change) -> Iterable[str]:
        """The Catalogs that a Package names before and after the change. When it is deleted, also the Catalogs that may use its
        object name from then on: the Catalogs whose own name is its beginning.
        """
        found = {name for obj in (change.old, change.new) if obj for name in catalog_of(obj)}
        if change.old is not None and change.new is None:
            free_name = change.old["metadata"]["name"]
            names = (obj["metadata"]["name"] for obj in self.catalogs.objects.values())
            found.update(name for name in names if free_name.startswith(f"{name}-"))
        return sorted(found)

    def keys_of_secret(self, change: Change) -> Iterable[str]:
        """The Catalogs that refer to the Secret; all Catalogs if it is the cluster-wide pull secret."""
        return self._keys_of_input(SECRET, change)

    def keys_of_config_map(self, change: Change) -> Iterable[str]:
        """The Catalogs that refer to the ConfigMap."""
        return self._keys_of_input(CONFIG_MAP, change)

    def _keys_of_input(self, kind: str, change: Change) -> Iterable[str]:
        name = next(obj["metadata"]["name"] for obj in (change.new, change.old) if obj)
        is_for_all = kind == SECRET and name == self.pull_secret
        found = (obj for obj in self.catalogs.objects.values() if is_for_all or _refers_to(obj, kind, name))
        return [obj["metadata"]["name"] for obj in found]


def _refers_to(catalog: Object, kind: str, name: str) -> bool:
    """Report whether the Catalog's source refers to that Secret or ConfigMap."""
    return InputReference(kind, name) in input_references(Catalog.load(catalog).spec.source)
