"""The versions that one package may have in the end state, ascending by preference, and why there are no others.

The bundle that runs is index 0, as it is; then come the bundles that may be installed: of an Operator's package as its spec
and the upgrade edges permit, of a package without an Operator as one without channel and version would get. What approval, a
pause or a deletion keeps out is not a version; the best of it is `pending`. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from olmkit.gocompat.versions import BlangRange, Precedence
from operator_controller.resolve.package.package_content import (
    Bundle,
    GroupVersionKind,
)
from operator_controller.resolve.requirements.bundle_constraints import are_requirements_known, recorded_properties_of
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.selection.catalog_and_bundle_choice import Permitted, is_same_bundle, permitted
from operator_controller.resolve.selection.dependency_versions import DependencyVersions, dependency_versions
from operator_controller.resolve.selection.package_resolution import Chosen, PackageVersion
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest, RecordedBundle, parsed_version
from operator_controller.resolve.snapshot.package_snapshot import PackageSnapshot
from operator_controller.resolve.solver.solver_problem import Interval, VersionSet


@dataclass(frozen=True)
class PackageDomain:
    """The versions of one package. `operator` is None if it has no Operator."""

    package: str
    operator: OperatorRequest | None
    snapshot: PackageSnapshot
    versions: Sequence[PackageVersion] = ()
    pending: Chosen | None = None
    """The best that could be installed if it were approved, or if the Operator were not paused; None if that is a version."""
    known_permitted: Permitted | None = None
    """The permitted bundles, if they were needed to make the versions."""

    @cached_property
    def permitted(self) -> Permitted:
        """The bundles that are permitted for the Snapshot."""
        return self.known_permitted or permitted(self.snapshot)

    @cached_property
    def is_requiring_known(self) -> bool:
        """True if all that the recorded bundles of the Operator require can be read."""
        return self.operator is None or all(are_requirements_known(each.properties) for each in self.operator.recorded)

    @property
    def first(self) -> int:
        """The index of the first version that satisfies the request."""
        return 1 if self.runs else 0

    @property
    def runs(self) -> bool:
        """True if a bundle of the package is installed."""
        return bool(self.versions) and self.versions[0].choice is None

    @property
    def highest_priority(self) -> int:
        """The highest priority of the catalogs that offer a version."""
        if isinstance(self.versions, DependencyVersions):
            return self.versions.highest_priority
        return max((each.choice.candidate.priority for each in self.versions if each.choice), default=0)

    def intervals_in(self, versions: BlangRange) -> tuple[Interval, ...]:
        """The versions in a range; both bundles of an upgrade in progress have to be in it."""
        found = self._intervals.get(versions.text)
        if found is None:
            found = self._intervals[versions.text] = self._find_intervals(versions)
        return found

    def sets_in(self, versions: BlangRange) -> tuple[VersionSet, ...]:
        """The versions in a range as alternatives of a requirement: none or one set."""
        found = self._sets.get(versions.text)
        if found is None:
            intervals = self.intervals_in(versions)
            found = self._sets[versions.text] = (VersionSet(self.package, intervals),) if intervals else ()
        return found

    def _find_intervals(self, versions: BlangRange) -> tuple[Interval, ...]:
        if isinstance(self.versions, DependencyVersions) and self.versions.is_ascending:
            slices = list(versions.slices(self.versions.precedences))
            if len(slices) <= 1:
                return tuple((start, end - 1) for start, end in slices if start < end)
        return intervals_of(self._indices_in(versions))

    @cached_property
    def _intervals(self) -> dict[str, tuple[Interval, ...]]:
        """Those that were requested before, by range."""
        return {}

    @cached_property
    def _sets(self) -> dict[str, tuple[VersionSet, ...]]:
        """Those that were requested before, by range."""
        return {}

    def _indices_in(self, versions: BlangRange) -> list[int]:
        points, indices = self._by_precedence
        found = {
            index for start, end in versions.slices(points) for place in range(start, end) for index in indices[place]
        }
        if 0 in found and self.runs and not _are_in(self.versions[0], versions):
            found.discard(0)
        return sorted(found)

    @cached_property
    def _by_precedence(self) -> tuple[Sequence[Precedence], list[list[int]]]:
        by_point: defaultdict[Precedence, list[int]] = defaultdict(list)
        for index, precedence in enumerate(self._precedences()):
            if precedence is not None:
                by_point[precedence].append(index)
        points = sorted(by_point)
        return points, [by_point[point] for point in points]

    def _precedences(self) -> Iterable[Precedence | None]:
        if isinstance(self.versions, DependencyVersions):
            return self.versions.precedences
        return (each.version.precedence if each.version is not None else None for each in self.versions)

    @cached_property
    def indices_by_kind(self) -> dict[GroupVersionKind, list[int]]:
        """The versions that provide a kind, ascending."""
        found: defaultdict[GroupVersionKind, list[int]] = defaultdict(list)
        for index, each in enumerate(self.versions):
            for kind in each.provided_kinds:
                found[kind].append(index)
        return dict(found)


def _are_in(version: PackageVersion, versions: BlangRange) -> bool:
    return all(one.version is not None and versions.matches(one.version) for one in version.bundles)


def intervals_of(indices: Iterable[int]) -> tuple[Interval, ...]:
    """The intervals of ascending indices."""
    found: list[Interval] = []
    for index in indices:
        if found and found[-1][1] == index - 1:
            found[-1] = found[-1][0], index
        else:
            found.append((index, index))
    return tuple(found)


def make_domain(package: str, operator: OperatorRequest | None, snapshot: PackageSnapshot) -> PackageDomain:
    """The domain of a package. An upgrade that has begun is the only choice."""
    if operator is None and (found := dependency_versions(snapshot)) is not None:
        return PackageDomain(package, None, snapshot, found)
    running = operator.running if operator else None
    versions: list[PackageVersion] = []
    if operator is not None and running is not None:
        both = (running, operator.installing) if operator.installing else (running,)
        versions.append(PackageVersion(tuple(recorded_bundle(each) for each in both), None, is_running=True))
    found_permitted = permitted(snapshot)
    is_open = operator is None or (operator.is_resolvable and not operator.is_deleting)
    choices = found_permitted.choices if is_open else ()
    begun = [choice for choice in choices if choice.candidate.bundle.name == snapshot.installing_bundle]
    usable = begun or [choice for choice in choices if operator is None or _is_released(operator, snapshot, choice)]
    for choice in usable:
        is_running = snapshot.running is not None and is_same_bundle(choice.candidate, snapshot.running)
        versions.append(PackageVersion((choice.candidate.bundle,), choice, is_running))
    pending = choices[-1] if choices and (not usable or usable[-1] != choices[-1]) else None
    return PackageDomain(package, operator, snapshot, tuple(versions), pending, found_permitted)


def _is_released(operator: OperatorRequest, snapshot: PackageSnapshot, choice: Chosen) -> bool:
    """Report whether neither a pause nor a missing approval keeps the candidate out. What runs is never kept out."""
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
        properties=recorded_properties_of(recorded.properties),
    )


class DomainCache:
    """The domains of packages from one solve to the next, as long as what they were made from is the same."""

    def __init__(self) -> None:
        self._known: dict[str, PackageDomain] = {}
        self._facts = ClusterFacts()

    def retain_only(self, packages: Collection[str]) -> None:
        """Drop the domains of all other packages."""
        self._known = {package: domain for package, domain in self._known.items() if package in packages}

    def same_facts(self, facts: ClusterFacts) -> ClusterFacts:
        """The same facts; equal ones are the same object, so that comparing them costs nothing."""
        if facts != self._facts:
            self._facts = facts
        return self._facts

    def domain(self, package: str, operator: OperatorRequest | None, snapshot: PackageSnapshot) -> PackageDomain:
        """As make_domain."""
        known = self._known.get(package)
        if known is None or known.operator != operator or known.snapshot != snapshot:
            known = self._known[package] = make_domain(package, operator, snapshot)
        return known
