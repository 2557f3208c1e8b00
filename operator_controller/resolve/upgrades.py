"""The upgrade edges of a package: which bundle may follow which, and the ways through them.

An entry may follow what runs when it replaces it, skips it, or has a skipRange that its version lies in; only the entries that
are handed in count (those of the chosen channels). That the same bundle may always stay is for candidates.py to say. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from olmkit.versions import BadRange, BlangRange, Version
from operator_controller.resolve.package import Channel, Entry


@dataclass(frozen=True)
class Place:
    """Where an upgrade starts: a bundle by name and, when it is known, its version."""

    name: str
    version: Version | None


class Graph:
    """The edges among some channels' entries. Bundles without a known version can be passed by name only."""

    def __init__(self, channels: Iterable[Channel], versions: Mapping[str, Version | None]) -> None:
        self._versions = versions
        self._named: dict[str, set[str]] = {}
        self._ranged: list[tuple[BlangRange, str]] = []
        for entry in dict.fromkeys(entry for channel in channels for entry in channel.entries):
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        for name in (entry.replaces, *entry.skips):
            if name:
                self._named.setdefault(name, set()).add(entry.name)
        if entry.skip_range:
            try:
                self._ranged.append((BlangRange.parse(entry.skip_range), entry.name))
            except BadRange:  # leads nowhere; catalogd names it in the Catalog's Valid condition
                return

    def next_from(self, place: Place) -> frozenset[str]:
        """Names of all bundles that may follow directly."""
        found = set(self._named.get(place.name, ()))
        if place.version is not None:
            found.update(name for skipped, name in self._ranged if skipped.matches(place.version))
        return frozenset(found - {place.name})

    def reachable(self, place: Place, among: Collection[str]) -> frozenset[str]:
        """Names that can be reached over bundles of `among` only, in any number of steps."""
        return frozenset(self._ways(place, among))

    def path(self, place: Place, goal: str, among: Collection[str]) -> tuple[str, ...]:
        """The shortest way to `goal`, which it ends with; of several that with the highest first step. () if there is none."""
        came_from = self._ways(place, among)
        if goal not in came_from:
            return ()
        steps = [goal]
        while (before := came_from[steps[-1]]) is not None:
            steps.append(before)
        return tuple(reversed(steps))

    def _ways(self, place: Place, among: Collection[str]) -> dict[str, str | None]:
        """For each name in reach the one before it; None for a direct step."""
        came_from: dict[str, str | None] = {}
        frontier: list[tuple[str | None, Place]] = [(None, place)]
        while frontier:
            found: list[tuple[str | None, Place]] = []
            for before, here in frontier:
                for name in self._highest_first(self.next_from(here)):
                    if name in among and name not in came_from and name != place.name:
                        came_from[name] = before
                        found.append((name, Place(name, self._versions.get(name))))
            frontier = found
        return came_from

    def _highest_first(self, names: Collection[str]) -> list[str]:
        known = [(version, name) for name in names if (version := self._versions.get(name)) is not None]
        unknown = sorted(name for name in names if self._versions.get(name) is None)
        return [name for _, name in sorted(known, reverse=True)] + unknown
