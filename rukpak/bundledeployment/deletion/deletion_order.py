"""The order in which the objects of a BundleDeployment that is being deleted are deleted, in waves: each is waited for.

    webhooks without endpoints: they block every deletion that they match
    custom resources of its CRDs, until they are deleted: their operator still runs
    webhooks and APIServices, workloads, RBAC, configuration
    CRDs

Namespaces follow when all objects are deleted (finalize.py). Of objects that are no longer in the bundle, CRDs and Namespaces are
the last ones too (prune.py). Never decides what is deleted. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from rukpak.bundledeployment.world import CustomResource, LabeledObject
from rukpak.format.objects import ObjectKey
from rukpak.render.phases import ACCESS, ADMISSION, CONFIGURATION, CRDS, CUSTOM_RESOURCES, WORKLOADS, phase_of

DELETE_BATCH = 500
"""Objects that are deleted in one pass."""

Entry = LabeledObject | CustomResource

_ORDER = (CUSTOM_RESOURCES, ADMISSION, WORKLOADS, ACCESS, CONFIGURATION, CRDS)
_WAVES = (
    ("custom resources", range(1)),
    ("objects", range(1, _ORDER.index(CRDS))),
    ("CustomResourceDefinitions", range(_ORDER.index(CRDS), len(_ORDER))),
)


class Wave(NamedTuple):
    """Objects that are deleted before the next wave begins. The name is that of messages."""

    name: str
    entries: Sequence[Entry]


def waves(entries: Sequence[Entry], webhooks_without_endpoints: Collection[ObjectKey]) -> Iterator[Wave]:
    """The entries in the order above; the objects of a wave may be none."""
    yield Wave("webhooks", [entry for entry in entries if entry.key in webhooks_without_endpoints])
    for name, ranks in _WAVES:
        yield Wave(name, [entry for entry in entries if _rank(entry) in ranks])


def in_order(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], ...]:
    """The first DELETE_BATCH entries of a wave, in groups that are deleted one after the other."""
    ranks = sorted({_rank(entry) for entry in entries})
    batch = sorted(entries, key=lambda entry: (_rank(entry), entry.key))[:DELETE_BATCH]
    groups = (tuple(entry for entry in batch if _rank(entry) == rank) for rank in ranks)
    return tuple(group for group in groups if group)


def _rank(entry: Entry) -> int:
    """The place in the order above, from 0 for custom resources to 5 for CRDs."""
    return 0 if isinstance(entry, CustomResource) else _ORDER.index(phase_of(entry.key))
