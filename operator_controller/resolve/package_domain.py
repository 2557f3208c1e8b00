"""The versions that one package may have in the end state, ascending by preference, and why there are no others.

Called by universe.py, lazily. The bundle that runs is index 0, as it is; then come the bundles that may be installed: of an
Operator's package as its spec and the upgrade edges permit, of a package without an Operator as one without channel and version
would get. What approval, a pause or a deletion keeps out is not a version; the best of it is `pending`. Pure.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from olmkit.gocompat.versions import BlangRange, Precedence, Version
from operator_controller.resolve.candidates import is_same_bundle
from operator_controller.resolve.cluster_snapshot import OperatorRequest, RecordedBundle
from operator_controller.resolve.package import Bundle, GroupKind, GroupVersionKind, Property
from operator_controller.resolve.problem import Interval
from operator_controller.resolve.requests import parsed_version
from operator_controller.resolve.resolution import Chosen
from operator_controller.resolve.resolver import Permitted
from operator_controller.resolve.snapshot import Snapshot


@dataclass(frozen=True)
class PackageVersion:
    """One version of a domain. While an upgrade is in progress, what runs is two bundles.

    A kind counts as provided if all of `bundles` provide it, a requirement as required if one of them has it.
    """

    bundles: tuple[Bundle, ...]
    choice: Chosen | None = None
    """None: what runs stays as it is."""
    is_running: bool = False

    @property
    def version(self) -> Version | None:
        """The version of the bundle; while an upgrade is in progress, that of the old one."""
        return self.bundles[0].version

    @cached_property
    def owned_kinds(self) -> frozenset[GroupKind]:
        """The kinds that it owns, in whatever version."""
        return frozenset(kind.group_kind for bundle in self.bundles for kind in bundle.provided_kinds)

    @cached_property
    def provided_kinds(self) -> frozenset[GroupVersionKind]:
        """The kinds that all its bundles provide."""
        return frozenset.intersection(*(bundle.provided_kinds for bundle in self.bundles))


@dataclass(frozen=True)
class PackageDomain:
    """The versions of one package. `operator` is None if it has no Operator."""

    package: str
    operator: OperatorRequest | None
    snapshot: Snapshot
    permitted: Permitted
    versions: tuple[PackageVersion, ...] = ()
    pending: Chosen | None = None
    """The best that could be installed if it were approved, or if the Operator were not paused; None if that is a version."""

    @property
    def first(self) -> int:
        """The index of the first version that satisfies the request."""
        return 1 if self.runs else 0

    @property
    def runs(self) -> bool:
        """Whether a bundle of the package is installed."""
        return bool(self.versions) and self.versions[0].choice is None

    def indices_in(self, versions: BlangRange) -> list[int]:
        """The versions in a range, ascending; both bundles of an upgrade in progress have to be in it."""
        points, indices = self._by_precedence
        found = {
            index for start, end in versions.slices(points) for place in range(start, end) for index in indices[place]
        }
        if 0 in found and any(
            one.version is None or not versions.matches(one.version) for one in self.versions[0].bundles
        ):
            found.discard(0)
        return sorted(found)

    @cached_property
    def _by_precedence(self) -> tuple[Sequence[Precedence], list[list[int]]]:
        by_point: defaultdict[Precedence, list[int]] = defaultdict(list)
        for index, each in enumerate(self.versions):
            if each.version is not None:
                by_point[each.version.precedence].append(index)
        points = sorted(by_point)
        return points, [by_point[point] for point in points]

    @cached_property
    def indices_by_kind(self) -> dict[GroupVersionKind, list[int]]:
        """The versions that provide a kind, ascending."""
        found: defaultdict[GroupVersionKind, list[int]] = defaultdict(list)
        for index, each in enumerate(self.versions):
            for kind in each.provided_kinds:
                found[kind].append(index)
        return dict(found)


def intervals_of(indices: Iterable[int]) -> tuple[Interval, ...]:
    """The intervals of ascending indices."""
    found: list[Interval] = []
    for index in indices:
        if found and found[-1][1] == index - 1:
            found[-1] = found[-1][0], index
        else:
            found.append((index, index))
    return tuple(found)


def make_domain(
    package: str, operator: OperatorRequest | None, snapshot: Snapshot, permitted: Permitted
) -> PackageDomain:
    """The domain of a package; `permitted` is the result for `snapshot`. An upgrade that has begun is the only choice."""
    running = operator.running if operator else None
    versions: list[PackageVersion] = []
    if operator is not None and running is not None:
        both = (running, operator.installing) if operator.installing else (running,)
        versions.append(PackageVersion(tuple(recorded_bundle(each) for each in both), None, is_running=True))
    choices = permitted.choices if operator is None or (operator.is_resolvable and not operator.is_deleting) else ()
    begun = [choice for choice in choices if choice.candidate.bundle.name == snapshot.installing_bundle]
    usable = begun or [choice for choice in choices if operator is None or _is_released(operator, snapshot, choice)]
    for choice in usable:
        is_running = snapshot.running is not None and is_same_bundle(choice.candidate, snapshot.running)
        versions.append(PackageVersion((choice.candidate.bundle,), choice, is_running))
    pending = choices[-1] if choices and (not usable or usable[-1] != choices[-1]) else None
    return PackageDomain(package, operator, snapshot, permitted, tuple(versions), pending)


def _is_released(operator: OperatorRequest, snapshot: Snapshot, choice: Chosen) -> bool:
    """Whether neither a pause nor a missing approval keeps it out. What runs is never kept out."""
    candidate = choice.candidate
    if snapshot.running is not None and is_same_bundle(candidate, snapshot.running):
        return True
    if operator.is_paused:
        return False
    return not operator.is_manual or str(candidate.version) == operator.approved_version


def recorded_bundle(recorded: RecordedBundle) -> Bundle:
    """The bundle that annotations describe. They may contain anything, because a person can edit them."""
    return Bundle(
        name=recorded.name,
        image=recorded.image,
        version=parsed_version(recorded.version),
        properties=tuple(_properties(recorded.properties)),
    )


def _properties(text: str) -> Iterable[Property]:
    try:
        found: Any = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return
    for entry in found if isinstance(found, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("type"), str):
            yield Property(entry["type"], entry.get("value"))
