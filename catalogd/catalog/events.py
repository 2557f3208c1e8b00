"""Whose turn it is when something changes: objects on the cluster to names of Catalogs.

Used by catalogd.setup, one function for each kind that is watched. Decides nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from catalogd.catalog.desired_source import SECRET, references
from catalogd.catalog.package_sync import catalog_of
from catalogd.catalog.source_inputs import SourceInputs
from olmkit.api.catalogs import Catalog
from olmkit.runtime.informer import Change, Informer


def keys_of_catalog(change: Change) -> list[str]:
    """A Catalog's own key."""
    return [obj["metadata"]["name"] for obj in (change.new or change.old,) if obj]


def keys_of_package(known: Informer) -> Callable[[Change], list[str]]:
    """The Catalogs that a Package or BundleMetadata object speaks of, before and after; and when its name is free again, those
    that may have wanted it: their own name is the beginning of it.
    """

    def keys(change: Change) -> list[str]:
        found = {name for obj in (change.old, change.new) if obj for name in catalog_of(obj)}
        if change.old is not None and change.new is None:
            freed = change.old["metadata"]["name"]
            names = (obj["metadata"]["name"] for obj in known.objects.values())
            found.update(name for name in names if freed.startswith(f"{name}-"))
        return sorted(found)

    return keys


def keys_of_input(kind: str, reach: SourceInputs, known: Informer) -> Callable[[Change], list[str]]:
    """The Catalogs that a Secret or ConfigMap matters to: those that name it, and all when it is the cluster-wide pull secret."""

    def keys(change: Change) -> list[str]:
        name = next(obj["metadata"]["name"] for obj in (change.new, change.old) if obj)
        everyone = kind == SECRET and name == reach.pull_secret
        found = (obj for obj in known.objects.values() if everyone or references(Catalog.load(obj), kind, name))
        return [obj["metadata"]["name"] for obj in found]

    return keys
