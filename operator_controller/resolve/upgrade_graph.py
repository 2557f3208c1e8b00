"""The upgrade edges of a package: which bundle may replace which, and the paths through the graph.

Called by resolver.py. An entry is an upgrade of a bundle if it `replaces` it, lists it in `skips`, or has a `skipRange` that
contains its version. Only the entries passed in are considered (those of the selected channels); resolver.py adds that a bundle
may always stay. The cost is linear in entries and edges, with a logarithmic factor for each skipRange. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from olmkit.gocompat.versions import BadRange, BlangRange, Precedence, Version
from operator_controller.resolve.package import Channel


@dataclass(frozen=True)
class UpgradeStart:
    """Where an upgrade starts: a bundle by its name and, if known, its version."""

    name: str
    version: Version | None


@dataclass(frozen=True)
class UpgradePaths:
    """The bundles that can be reached from a start. `previous`: for each of them the one before it; None for a direct upgrade."""

    previous: Mapping[str, str | None]

    def path_to(self, goal: str) -> tuple[str, ...]:
        """The shortest path, which ends with `goal`; of several the one with the highest first step. () if there is none."""
        if goal not in self.previous:
            return ()
        steps = [goal]
        while (before := self.previous[steps[-1]]) is not None:
            steps.append(before)
        return tuple(reversed(steps))

    @property
    def direct(self) -> frozenset[str]:
        """The names that one upgrade leads to."""
        return frozenset(name for name, before in self.previous.items() if before is None)


class UpgradeGraph:
    """The edges among the entries of some channels. Bundles without a known version are only reached by name."""

    def __init__(self, channels: Iterable[Channel], versions: Mapping[str, Version | None]) -> None:
        named: defaultdict[str, list[str]] = defaultdict(list)
        by_range: defaultdict[str, list[str]] = defaultdict(list)
        for entry in chain.from_iterable(channel.entries for channel in channels):
            name = entry.name
            for before in entry.skips:
                named[before].append(name)
            named[entry.replaces].append(name)
            by_range[entry.skip_range].append(name)
        named.pop("", None)
        by_range.pop("", None)
        self._versions, self._named, self._by_range = versions, named, by_range

    def _ranges(self) -> Iterator[tuple[BlangRange, list[str]]]:
        """Yields each skipRange once. Invalid ranges are left out; catalogd reports them in the Catalog's Valid condition."""
        for text, names in self._by_range.items():
            try:
                yield BlangRange.parse(text), names
            except BadRange:
                continue

    def paths_from(self, start: UpgradeStart, among: Collection[str]) -> UpgradePaths:
        """The paths over bundles of `among` alone, in any number of steps, the shortest and then the highest first.

        A breadth-first search: it visits each entry, each named edge and each skipRange once.
        """
        rank = {name: index for index, name in enumerate(self._highest_first(among)) if name != start.name}
        skip_ranges, pending = self._skip_range_index(start, rank), set(rank)
        previous: dict[str, str | None] = {}
        queue: list[tuple[str | None, UpgradeStart]] = [(None, start)]
        for before, here in queue:  # the loop body appends to the queue
            found = pending.intersection(self._named.get(here.name, ()))
            if here.version is not None:
                found |= pending.intersection(skip_ranges.take(here.version.precedence))
            pending -= found
            for name in sorted(found, key=rank.__getitem__):
                previous[name] = before
                queue.append((name, UpgradeStart(name, self._versions.get(name))))
        return UpgradePaths(previous)

    def _highest_first(self, names: Iterable[str]) -> list[str]:
        known: list[tuple[tuple[object, ...], str]] = []
        unknown: list[str] = []
        for name in names:
            version = self._versions.get(name)
            if version is None:
                unknown.append(name)
            else:
                known.append((version.order, name))
        return [name for _, name in sorted(known, reverse=True)] + sorted(unknown)

    def _skip_range_index(self, start: UpgradeStart, among: Collection[str]) -> _SkipRangeIndex:
        """The skipRanges that lead to bundles of `among`, over the versions that a search from `start` may reach."""
        versions = [start.version, *(self._versions.get(name) for name in among)]
        index = _SkipRangeIndex(sorted({version.precedence for version in versions if version is not None}))
        for skip_range, names in self._ranges():
            wanted = [name for name in names if name in among]
            if wanted:
                index.add(skip_range, wanted)
        return index


def direct_upgrades(channels: Iterable[Channel], start: UpgradeStart) -> dict[str, frozenset[str]]:
    """The names of all bundles that the entries of a channel permit as the next upgrade, by channel."""
    contains = {"": False}
    steps: dict[str, frozenset[str]] = {}
    for channel in channels:
        names: set[str] = set()
        for entry in channel.entries:
            if entry.skip_range not in contains:
                contains[entry.skip_range] = _range_contains(entry.skip_range, start.version)
            is_named = start.name and (entry.replaces == start.name or start.name in entry.skips)
            if is_named or contains[entry.skip_range]:
                names.add(entry.name)
        steps[channel.name] = frozenset(names - {start.name})
    return steps


def _range_contains(text: str, version: Version | None) -> bool:
    """Whether a skipRange contains the version. An invalid range contains nothing."""
    try:
        return version is not None and BlangRange.parse(text).matches(version)
    except BadRange:
        return False


class _SkipRangeIndex:
    """Names by the versions that their skipRanges contain: a segment tree whose leaves are the versions, ascending."""

    def __init__(self, points: Sequence[Precedence]) -> None:
        self._points = points
        self._nodes: list[list[list[str]]] = [[] for _ in range(2 * len(points))]

    def add(self, skip_range: BlangRange, names: list[str]) -> None:
        """Store `names` under every version of the range. take() empties the list."""
        for start, end in skip_range.slices(self._points):
            low, high = start + len(self._points), end + len(self._points)
            while low < high:
                if low & 1:
                    self._nodes[low].append(names)
                    low += 1
                if high & 1:
                    high -= 1
                    self._nodes[high].append(names)
                low, high = low // 2, high // 2

    def take(self, version: Precedence) -> Iterator[str]:
        """The names whose ranges contain this version (one of the points), each returned by the first call only."""
        nodes, node = self._nodes, bisect_left(self._points, version) + len(self._points)
        while node:
            for names in nodes[node]:
                yield from names
                names.clear()
            nodes[node].clear()
            node //= 2
