"""The channels that a semver template makes of versions: one for each major version, or for each minor one, and their edges.

    bundle                                  entry
    the last one of its minor version       replaces the last one of the minor version before, and skips all others below it
    any other one                           no edge
    of another major version                nothing leads from one major version to the next

The default channel is of the most stable archetype, there the one that begins with the highest version. As opm makes them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final

from olmkit.fbc.catalog import CHANNEL
from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import Version

ARCHETYPES: Final = ("candidate", "fast", "stable")
"""The lists of a template, the least stable one first."""
MAJOR: Final = "major"
MINOR: Final = "minor"


class BadVersions(ValueError):
    """The versions cannot be put in an order."""


@dataclass(frozen=True)
class VersionedBundle:
    """A bundle of a list."""

    name: str
    version: Version


@dataclass(frozen=True)
class Channels:
    """The blobs of the channels by name, and the name of the default channel."""

    blobs: Sequence[Mapping[str, Any]]
    default: str


def channels_of(
    package: str, lists: Mapping[str, Sequence[VersionedBundle]], kinds: Sequence[str], preferred: str
) -> Channels:
    """The channels of these lists by archetype, of these kinds. At least one list has a bundle. Raises BadVersions."""
    made: dict[str, list[Mapping[str, Any]]] = {}
    ranks: dict[str, tuple[Any, ...]] = {}
    for rank, archetype in enumerate(ARCHETYPES):
        ordered = _ordered(lists.get(archetype) or ())
        for bundle, entry in zip(ordered, _entries(ordered), strict=True):
            for kind in kinds:
                name = _channel_name(archetype, kind, bundle.version)
                made.setdefault(name, []).append(entry)
                order = (rank, bundle.version.order, kind == preferred, kind == MINOR)
                ranks.setdefault(name, order)
    blobs = [{"schema": CHANNEL, "name": name, "package": package, "entries": made[name]} for name in sorted(made)]
    return Channels(blobs, max(ranks, key=lambda name: ranks[name]))


def _ordered(bundles: Iterable[VersionedBundle]) -> list[VersionedBundle]:
    """The bundles of a list, the lowest version first. Raises BadVersions."""
    found = sorted(bundles, key=lambda each: each.version)
    names: set[str] = set()
    for each in found:
        if each.name in names:
            raise BadVersions(f"duplicate bundle name {quoted(each.name)}")
        names.add(each.name)
    for lower, higher in pairwise(found):
        if lower.version == higher.version:
            shown = f"{lower.name} {lower.version}, {higher.name} {higher.version}"
            raise BadVersions(
                f"encountered bundle versions which differ only by build metadata, which cannot be ordered: {shown}"
            )
    return found


def _entries(ordered: Sequence[VersionedBundle]) -> Iterator[Mapping[str, Any]]:
    """The entries of all bundles of a list, in their order."""
    for _, of_major in groupby(ordered, key=lambda each: each.version.major):
        below: list[str] = []
        replaced = ""
        for _, of_minor in groupby(of_major, key=lambda each: each.version.minor):
            *others, last = (each.name for each in of_minor)
            yield from ({"name": name} for name in others)
            skips = sorted({*below, *others} - {replaced})
            edges = {"replaces": replaced} if replaced else {}
            yield {"name": last, **edges, **({"skips": skips} if skips else {})}
            below += [*others, last]
            replaced = last


def _channel_name(archetype: str, kind: str, version: Version) -> str:
    return f"{archetype}-v{version.major}{f'.{version.minor}' if kind == MINOR else ''}"
