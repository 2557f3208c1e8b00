"""The upgrade edges of a package: which bundle may replace which, and the paths through the graph.

An entry is an upgrade of a bundle if it `replaces` it, lists it in `skips`, or has a `skipRange` that contains its version. Only
the entries passed in are considered (those of the selected channels); catalog_and_bundle_choice.py adds that a bundle may always
stay. The cost is linear in entries and edges, with a logarithmic factor for each skipRange. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from olmkit.gocompat.versions import BadRange, BlangRange, Precedence, Version
from operator_controller.resolve.package.package_content import Channel, Entry


@dataclass(frozen=True)
class UpgradeStart:
    """The start of an upgrade: a bundle by its name and, if known, its version."""

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


@dataclass(frozen=True)
class UpgradeTarget:
    """The best bundle that can be reached from another one, and the number of upgrades to it: 0 for the bundle itself."""

    name: str
    steps: int


class UpgradeGraph:
    """The edges among the entries of some channels. Bundles without a known version are only reached by name."""

    def __init__(self, channels: Iterable[Channel], versions: Mapping[str, Version | None]) -> None:
        named: defaultdict[str, list[str]] = defaultdict(list)
        by_range: defaultdict[str, list[str]] = defaultdict(list)
        entries: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in chain.from_iterable(channel.entries for channel in channels):
            name = entry.name
            entries[name].append(entry)
            for before in entry.skips:
                named[before].append(name)
            named[entry.replaces].append(name)
            by_range[entry.skip_range].append(name)
        named.pop("", None)
        by_range.pop("", None)
        self._versions, self._named, self._by_range, self._entries = versions, named, by_range, entries

    def _ranges(self) -> Iterator[tuple[BlangRange, list[str]]]:
        """Yields each skipRange once, without those that cannot be read: unreadable_ranges() names them."""
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

    def targets(self, best_first: Sequence[str]) -> dict[str, UpgradeTarget]:
        """For each of the bundles that can be reached over bundles of the sequence, in any number of steps, the best one.

        `best_first` are the possible targets and the only bundles that paths lead over; a bundle that leads nowhere is its own
        target. Searches backward from each target, best first, and visits each entry, edge and skipRange once.
        """
        found: dict[str, UpgradeTarget] = {}
        pending = _PendingBundles(best_first, self._versions)
        for target in best_first:
            if target in found:
                continue
            found[target] = UpgradeTarget(target, 0)
            queue = [target]
            for name in queue:  # the loop body appends to the queue
                here = UpgradeTarget(target, found[name].steps + 1)
                for before in pending.before(self._entries.get(name, ())):
                    if before not in found:
                        found[before] = here
                        queue.append(before)
        return found

    def leading_to(self, goal: str, among: Collection[str]) -> frozenset[str]:
        """The bundles of `among` from which upgrades over bundles of `among` lead to the goal."""
        pending, found, queue = _PendingBundles(among, self._versions), {goal}, [goal]
        for name in queue:  # the loop body appends to the queue
            for before in pending.before(self._entries.get(name, ())):
                if before not in found:
                    found.add(before)
                    queue.append(before)
        return frozenset(found - {goal})

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


def unreadable_ranges(channels: Iterable[Channel]) -> dict[str, str]:
    """The skipRanges that cannot be read, by the names of their entries. They permit no upgrade, whatever was meant."""
    found: dict[str, str] = {}
    for entry in chain.from_iterable(channel.entries for channel in channels):
        try:
            if entry.skip_range:
                BlangRange.parse(entry.skip_range)
        except BadRange:
            found[entry.name] = entry.skip_range
    return found


def _range_contains(text: str, version: Version | None) -> bool:
    """Report whether a skipRange contains the version. One that cannot be read contains nothing: unreadable_ranges() names it."""
    try:
        return version is not None and BlangRange.parse(text).matches(version)
    except BadRange:
        return False


class _PendingBundles:
    """The bundles that a backward search has not reached through a skipRange yet, by version."""

    def __init__(self, names: Iterable[str], versions: Mapping[str, Version | None]) -> None:
        by_version: defaultdict[Precedence, list[str]] = defaultdict(list)
        self._names = frozenset(names)
        for name in self._names:
            version = versions.get(name)
            if version is not None:
                by_version[version.precedence].append(name)
        self._points = sorted(by_version)
        self._bundles = [sorted(by_version[point]) for point in self._points]
        self._next = list(range(len(self._points) + 1))
        """For each point, itself, or if it was returned, one that is closer to the next point that was not."""

    def before(self, entries: Iterable[Entry]) -> Iterator[str]:
        """The bundles that the entries upgrade. Each is returned for one skipRange at most; named ones may be returned again."""
        for entry in entries:
            for name in (entry.replaces, *entry.skips):
                if name in self._names:
                    yield name
            if entry.skip_range:
                yield from self._take(entry.skip_range)

    def _take(self, skip_range: str) -> Iterator[str]:
        try:
            slices = list(BlangRange.parse(skip_range).slices(self._points))
        except BadRange:
            return
        for start, end in slices:
            place = self._pending_from(start)
            while place < end:
                yield from self._bundles[place]
                self._next[place] = place + 1
                place = self._pending_from(place)

    def _pending_from(self, place: int) -> int:
        while self._next[place] != place:
            self._next[place] = self._next[self._next[place]]
            place = self._next[place]
        return place


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
