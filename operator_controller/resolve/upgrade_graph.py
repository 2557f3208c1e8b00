"""The upgrade edges of a package: which bundle may follow which, and the ways through them.

An entry may follow what runs when it replaces it, skips it, or has a skipRange that its version lies in; only the entries that
are handed in count (those of the chosen channels). That the same bundle may always stay is for candidates.py to say. A walk
costs as much as there are entries and edges, and a logarithm of that for each skipRange. Pure.
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
    """Where an upgrade starts: a bundle by name and, when it is known, its version."""

    name: str
    version: Version | None


@dataclass(frozen=True)
class UpgradePaths:
    """What can be reached from a place. `came_from`: for each name the one before it; None for a direct step."""

    previous: Mapping[str, str | None]

    def path_to(self, goal: str) -> tuple[str, ...]:
        """The shortest way to `goal`, which it ends with; of several that with the highest first step. () if there is none."""
        if goal not in self.previous:
            return ()
        steps = [goal]
        while (before := self.previous[steps[-1]]) is not None:
            steps.append(before)
        return tuple(reversed(steps))

    @property
    def direct(self) -> frozenset[str]:
        """The names that one step leads to."""
        return frozenset(name for name, before in self.previous.items() if before is None)


class UpgradeGraph:
    """The edges among some channels' entries. Bundles without a known version can be passed by name only."""

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
        """Each skipRange once. One that cannot be read leads nowhere; catalogd names it in the Catalog's Valid condition."""
        for text, names in self._by_range.items():
            try:
                yield BlangRange.parse(text), names
            except BadRange:
                continue

    def paths_from(self, place: UpgradeStart, among: Collection[str]) -> UpgradePaths:
        """The ways over bundles of `among` only, in any number of steps, the shortest and then the highest first.

        Each entry is found once, each named edge is walked once, and each skipRange is given out once.
        """
        rank = {name: index for index, name in enumerate(self._highest_first(among)) if name != place.name}
        skipped, pending = self._skipped(place, rank), set(rank)
        came_from: dict[str, str | None] = {}
        queue: list[tuple[str | None, UpgradeStart]] = [(None, place)]
        for before, here in queue:  # what is found is appended meanwhile
            found = pending.intersection(self._named.get(here.name, ()))
            if here.version is not None:
                found |= pending.intersection(skipped.take(here.version.precedence))
            pending -= found
            for name in sorted(found, key=rank.__getitem__):
                came_from[name] = before
                queue.append((name, UpgradeStart(name, self._versions.get(name))))
        return UpgradePaths(came_from)

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

    def _skipped(self, place: UpgradeStart, among: Collection[str]) -> _SkipRangeIndex:
        """The skipRanges that lead to bundles of `among`, over the versions that a walk from `place` may come to."""
        versions = [place.version, *(self._versions.get(name) for name in among)]
        skipped = _SkipRangeIndex(sorted({version.precedence for version in versions if version is not None}))
        for reach, names in self._ranges():
            wanted = [name for name in names if name in among]
            if wanted:
                skipped.add(reach, wanted)
        return skipped


def direct_upgrades(channels: Iterable[Channel], place: UpgradeStart) -> dict[str, frozenset[str]]:
    """By channel, the names of all bundles that its own entries let follow directly."""
    holds = {"": False}
    steps: dict[str, frozenset[str]] = {}
    for channel in channels:
        names: set[str] = set()
        for entry in channel.entries:
            if entry.skip_range not in holds:
                holds[entry.skip_range] = _range_contains(entry.skip_range, place.version)
            is_named = place.name and (entry.replaces == place.name or place.name in entry.skips)
            if is_named or holds[entry.skip_range]:
                names.add(entry.name)
        steps[channel.name] = frozenset(names - {place.name})
    return steps


def _range_contains(text: str, version: Version | None) -> bool:
    """Whether the version lies in a skipRange; a range that cannot be read holds nothing."""
    try:
        return version is not None and BlangRange.parse(text).matches(version)
    except BadRange:
        return False


class _SkipRangeIndex:
    """Names by the versions that their skipRanges hold: a segment tree whose leaves are the versions, ascending."""

    def __init__(self, points: Sequence[Precedence]) -> None:
        self._points = points
        self._nodes: list[list[list[str]]] = [[] for _ in range(2 * len(points))]

    def add(self, reach: BlangRange, names: list[str]) -> None:
        """File `names`, which is emptied when they are taken, under every version of the range."""
        for start, end in reach.slices(self._points):
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
        """The names whose ranges hold this version, one of the points, and that nobody took yet."""
        nodes, node = self._nodes, bisect_left(self._points, version) + len(self._points)
        while node:
            for names in nodes[node]:
                yield from names
                names.clear()
            nodes[node].clear()
            node //= 2
