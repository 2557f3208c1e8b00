"""The place of a new version in the upgrade graph of its package: what it replaces and skips, from a catalog. Pure.

| if | then |
|---|---|
| the version is in the channel | its edges are those of the catalog, which are published |
| the head of the channel is older | it is replaced |
| the head is deprecated, as a bundle | it is skipped, and what it replaces comes in its place |
| there are other heads that are older | they are skipped: otherwise nothing would lead away from them |
| the head is newer | the highest older version of the channel is replaced |
| the package or an older version is not there | nothing is replaced |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.fbc import catalog
from olmkit.fbc.blobs import Blob
from olmkit.fbc.channel_graph import heads
from olmkit.fbc.errors import BadBlob
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version


@dataclass
class PackageGraph:
    """One package in a catalog."""

    default_channel: str = ""
    channels: dict[str, tuple[catalog.Entry, ...]] = field(default_factory=dict)
    versions: dict[str, Version] = field(default_factory=dict)
    """By bundle."""
    deprecated: set[str] = field(default_factory=set)
    """The bundles that are deprecated."""


@dataclass(frozen=True)
class Edge:
    """The bundles that a version replaces and skips, and sentences about it."""

    replaces: str = ""
    skips: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_graph(blobs: Iterable[Blob], package: str) -> PackageGraph:
    """The package in the blobs of a catalog. Raises BadBlob."""
    graph = PackageGraph()
    for blob in blobs:
        if blob.schema == catalog.PACKAGE and blob.name == package:
            graph.default_channel = catalog.package(blob.value).default_channel
        elif blob.package != package:
            continue
        elif blob.schema == catalog.CHANNEL:
            channel = catalog.channel(blob.value)
            graph.channels[channel.name] = channel.entries
        elif blob.schema == catalog.BUNDLE:
            _add_bundle(graph, blob.value)
        elif blob.schema == catalog.DEPRECATIONS:
            entries = catalog.deprecations(blob.value).entries
            graph.deprecated |= {each.name for each in entries if each.schema == catalog.BUNDLE}
    return graph


def _add_bundle(graph: PackageGraph, value: Mapping[str, Any]) -> None:
    bundle = catalog.bundle(value)
    try:
        version, release = bundle.checked_version()
        graph.versions[bundle.name] = parse_bundle_version(version, release or None)
    except (BadBlob, BadVersion):
        return  # an entry without a readable version is neither older nor newer


def upgrade_edge(graph: PackageGraph, name: str, version: Version, channels: Sequence[str], default: str) -> Edge:
    """The edges of the bundle `name`, which is added to these channels."""
    wanted = [each for each in (default, *channels) if each]
    there = [each for each in wanted if each in graph.channels]
    chosen = next(iter(there), graph.default_channel)
    if chosen not in graph.channels:
        return Edge(notes=("the catalog has no version of the package in these channels: nothing is replaced",))
    notes = (
        ()
        if there
        else (f"the channel {wanted[0] if wanted else ''} is new: the upgrade is from the channel {chosen}",)
    )
    entries = {entry.name: entry for entry in graph.channels[chosen]}
    if name in entries:
        published = entries[name]
        return Edge(
            published.replaces, published.skips, (*notes, f"{name} is in the catalog: its upgrade edges are kept")
        )
    older = {each for each in entries if each in graph.versions and graph.versions[each] < version}
    if not older:
        return Edge(notes=(*notes, f"the channel {chosen} has no version before {version}: nothing is replaced"))
    return _edge(graph, entries, older, chosen, notes)


def _edge(
    graph: PackageGraph, entries: Mapping[str, catalog.Entry], older: set[str], channel: str, notes: tuple[str, ...]
) -> Edge:
    def order(each: str) -> Version:
        return graph.versions[each]

    tops = sorted((each for each in heads(entries) if each in older), key=order)
    if not tops:
        tops = [max(older, key=order)]
        notes = (*notes, f"the channel {channel} has newer versions: {tops[0]} is the highest one before this one")
    *others, top = tops
    skips: list[str] = []
    replaced = top
    while replaced in graph.deprecated and (below := entries[replaced].replaces) in older and below not in skips:
        skips.append(replaced)
        replaced = below
    if skips:
        notes = (*notes, f"deprecated and therefore skipped: {', '.join(skips)}")
    if others:
        notes = (*notes, f"skipped, because nothing replaces them in the channel {channel}: {', '.join(others)}")
    return Edge(replaced, (*skips, *others), notes)


def apply_edge(spec: dict[str, Any], edge: Edge) -> list[str]:
    """Write the edges into the spec of a ClusterServiceVersion; skips of the base stay. Returns notes."""
    before, notes = str(spec.get("replaces") or ""), list(edge.notes)
    if edge.replaces:
        if before and before != edge.replaces:
            notes.append(f"replaces is {edge.replaces}, as the catalog has it, and not {before} of the base")
        spec["replaces"] = edge.replaces
    skips = list(dict.fromkeys((*(spec.get("skips") or []), *edge.skips)))
    if skips := [each for each in skips if each != spec.get("replaces")]:
        spec["skips"] = skips
    return notes
