"""Which Catalogs a change in an informer enqueues: one function for each kind that is watched. Used by catalogd.setup.

Never decides, and sends no request.
"""

from __future__ import annotations

from collections.abc import Callable

from catalogd.catalog.desired_source import SECRET, references
from catalogd.catalog.package_sync import catalog_of
from catalogd.catalog.source_inputs import SourceInputs
from olmkit.api.catalogs import Catalog
from olmkit.runtime.informer import Change, Informer


def keys_of_catalog(change: Change) -> list[str]:
    """The Catalog itself."""
    return [obj["metadata"]["name"] for obj in (change.new or change.old,) if obj]


def keys_of_package(catalogs: Informer) -> Callable[[Change], list[str]]:
    """The Catalog that a Package or BundleMetadata object names, before and after; when it is deleted, also the Catalogs that may
    now use its name: those whose own name it starts with.
    """

    def keys(change: Change) -> list[str]:
        found = {name for obj in (change.old, change.new) if obj for name in catalog_of(obj)}
        if change.old is not None and change.new is None:
            free_name = change.old["metadata"]["name"]
            names = (obj["metadata"]["name"] for obj in catalogs.objects.values())
            found.update(name for name in names if free_name.startswith(f"{name}-"))
        return sorted(found)

    return keys


def keys_of_input(kind: str, inputs: SourceInputs, catalogs: Informer) -> Callable[[Change], list[str]]:
    """The Catalogs that refer to a Secret or ConfigMap; all of them if it is the cluster-wide pull secret."""

    def keys(change: Change) -> list[str]:
        name = next(obj["metadata"]["name"] for obj in (change.new, change.old) if obj)
        is_for_all = kind == SECRET and name == inputs.pull_secret
        found = (obj for obj in catalogs.objects.values() if is_for_all or references(Catalog.load(obj), kind, name))
        return [obj["metadata"]["name"] for obj in found]

    return keys
