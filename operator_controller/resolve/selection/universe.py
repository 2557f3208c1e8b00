"""One component as a problem for the solver: packages with versions in order of preference, and what each requires.

Implements problem.Universe lazily: a document is parsed when the solver, or an alternative of a requirement, first reaches its
package. The hard rules of DESIGN 4 are here, and only here:

- What runs is index 0, as it is. Its recorded requirements count as far as they hold among what runs, so that the present state
  is always a solution; bundles that run may go on owning the same kind.
- A bundle satisfies its own requirements, and the cluster those for kinds that no bundle of the component owns.
- What is being deleted satisfies the requirements of what runs, and no others.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from operator_controller.resolve.package.package_content import Bundle, GroupKind, GroupVersionKind
from operator_controller.resolve.requirements.bundle_constraints import constraints_of
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.requirements.constraints import (
    AllConstraint,
    AnyConstraint,
    Constraint,
    KindConstraint,
    NotConstraint,
    PackageConstraint,
    holds,
    rules_of,
    scope_of,
)
from operator_controller.resolve.requirements.rule_evaluations import WHAT_RUNS, RuleEvaluations, RulesTooCostly
from operator_controller.resolve.selection.package_domain import (
    PackageDomain,
    intervals_of,
    recorded_bundle,
)
from operator_controller.resolve.selection.package_resolution import PackageVersion
from operator_controller.resolve.selection.withheld_packages import WithheldPackages
from operator_controller.resolve.solver.solver_problem import Asked, Exclusion, Goal, Interval, Requirement, VersionSet

MAX_EVALUATIONS = 200_000
"""Versions for which the expressions of one component are evaluated. What is not evaluated satisfies no requirement, and is
excluded by each exclusion; the same applies beyond the limits of rule_evaluations.py."""
_EVERYTHING = AllConstraint(())
"""Stands for all constraints that are not evaluated and may hold for bundles of any package."""


class _ComponentRequirement(Requirement):
    """A requirement whose alternatives are found when the solver needs them: most are only compared with those of neighbours.

    The same constraint has the same alternatives for all versions of a package that run, and for all others.
    """

    __slots__ = ("_found", "_is_running", "_package", "_universe")
    _found: tuple[VersionSet, ...] | None
    _is_running: bool
    _package: str
    _universe: ComponentUniverse

    def __init__(self, universe: ComponentUniverse, package: str, constraint: Constraint, is_running: bool) -> None:
        keep = object.__setattr__  # the base is frozen
        keep(self, "_universe", universe)
        keep(self, "_package", package)
        keep(self, "source", constraint)
        keep(self, "_is_running", is_running)
        keep(self, "_found", None)

    @property
    def alternatives(self) -> tuple[VersionSet, ...]:
        """The versions that satisfy it."""
        found = self._found
        if found is None:
            constraint = ComponentUniverse.constraint(self)
            found = self._universe.alternatives(self._package, constraint, is_running=self._is_running)
            object.__setattr__(self, "_found", found)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ComponentRequirement):
            return NotImplemented
        if self.source != other.source:
            return False
        is_same = self._package == other._package and self._is_running == other._is_running
        return is_same or self.alternatives == other.alternatives

    def __hash__(self) -> int:
        return hash(self.source)


@dataclass
class ComponentUniverse:
    """The packages of one component. `domain_of` makes the domain of a package, which may be empty; called once for each."""

    domain_of: Callable[[str], PackageDomain]
    running: tuple[str, ...]
    """Packages that run, in order of seniority."""
    providers: Mapping[GroupKind, Collection[str]]
    """Packages that may provide a kind."""
    packages: frozenset[str]
    facts: ClusterFacts
    begun_kinds: frozenset[GroupKind]
    """The kinds on the cluster of bundles whose installation has begun."""
    home_catalogs: Callable[[str], int]
    """The place of a package's catalog among the catalogs of those that may require it."""
    why_not_created: Callable[[str], str]
    """The reason why no Operator can be created for a package that has none; "" if it can."""
    withheld: WithheldPackages
    rules: RuleEvaluations = field(default_factory=RuleEvaluations)
    """Evaluates rules in CEL. What runs is evaluated always: its methods raise RulesTooCostly."""
    _domains: dict[str, PackageDomain] = field(default_factory=dict)
    _alternatives: dict[tuple[str, Constraint, bool], tuple[VersionSet, ...]] = field(default_factory=dict)
    _exclusions: dict[tuple[str, Constraint, bool], tuple[VersionSet, ...]] = field(default_factory=dict)
    _preferences: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    _requirements: dict[tuple[str, int], Sequence[Requirement]] = field(default_factory=dict)
    _evaluations: int = 0
    _unevaluated: set[tuple[str, Constraint]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._runs = frozenset(self.running)
        self._cluster_kinds = {
            GroupVersionKind(each.group, version, each.kind)
            for each in self.facts.custom_kinds
            for version in each.versions
        }
        self._owned_now = self.begun_kinds.union(*(self.version(each, 0).owned_kinds for each in self.running))

    def domain(self, package: str) -> PackageDomain:
        """The domain of a package."""
        known = self._domains.get(package)
        if known is None:
            known = self._domains[package] = self.domain_of(package)
        return known

    def version(self, package: str, index: int) -> PackageVersion:
        """One version of a package."""
        return self.domain(package).versions[index]

    # --- problem.Universe

    def size(self, package: str) -> int:
        """The number of versions."""
        return len(self.domain(package).versions)

    def requirements(self, package: str, index: int) -> Sequence[Requirement]:
        """The requirements that this version has of other packages. `source` is the constraint."""
        known = self._requirements.get((package, index))
        if known is None:
            this = self.version(package, index)
            known = self._requirements[package, index] = [
                _ComponentRequirement(self, package, each, this.is_running)
                for each in self.required(package, index)
                if this.choice is not None or self.holds_now(package, each)
            ]
        return known

    def exclusions(self, package: str, index: int) -> Sequence[Exclusion]:
        """The exclusions of this version. `source` is the constraint."""
        this = self.version(package, index)
        found: list[Exclusion] = []
        for each in dict.fromkeys(
            constraint for bundle in this.bundles for constraint in constraints_of(bundle).exclusions
        ):
            if this.choice is None and not self._is_excluding_nothing_now(package, each):
                continue
            excluded = self._excluded(package, AnyConstraint(each.constraints), runs=this.choice is None)
            is_new = not any(one.excluded is excluded for one in found)  # all that are not evaluated exclude the same
            found += [Exclusion(excluded, each)] if excluded and is_new else []
        return found

    def _excluded(self, package: str, constraint: Constraint, *, runs: bool) -> tuple[VersionSet, ...]:
        """The versions of other packages for which the constraint holds, and those for which that is not evaluated.

        What runs excludes nothing that runs.
        """
        if self._is_used_up(package, constraint) and scope_of([constraint]).any_package:
            constraint = _EVERYTHING
        key = package, constraint, runs
        known = self._exclusions.get(key)
        if known is None:
            found = []
            for other in sorted(self._scope(constraint) - {package}, key=self.preference):
                intervals = None
                if constraint is not _EVERYTHING:
                    intervals = self._intervals(package, other, constraint)
                if intervals is None:
                    intervals = intervals_of(range(1 if runs and other in self._runs else 0, self.size(other)))
                found += [VersionSet(other, intervals)] if intervals else []
            known = self._exclusions[key] = tuple(found)
        return known

    def owned(self, package: str, index: int) -> Collection[Hashable]:
        """The kinds that this version owns."""
        return self.version(package, index).owned_kinds

    def shares(self, package: str, index: int, other: str, other_index: int) -> bool:
        """Report whether what runs of both packages owns already all kinds that both versions own."""
        if not (package in self._runs and other in self._runs):
            return False
        common = self.version(package, index).owned_kinds & self.version(other, other_index).owned_kinds
        return common <= self.version(package, 0).owned_kinds & self.version(other, 0).owned_kinds

    def preference(self, package: str) -> tuple[Any, ...]:
        """The rank of a package among providers: first what runs, then what a person asked for, then what has an Operator, then
        the requiring package's catalog, then the priority of the catalog, then the name."""
        known = self._preferences.get(package)
        if known is None:
            known = self._preferences[package] = self._new_preference(package)
        return known

    def _new_preference(self, package: str) -> tuple[Any, ...]:
        domain = self.domain(package)
        operator = domain.operator
        best = domain.highest_priority
        is_asked = operator is not None and not operator.is_dependency
        return package not in self._runs, not is_asked, operator is None, self.home_catalogs(package), -best, package

    # --- constraints

    def required(self, package: str, index: int) -> list[Constraint]:
        """The requirements of a version that neither itself nor the cluster satisfies."""
        bundles = self.version(package, index).bundles
        return [
            each
            for each in dict.fromkeys(
                constraint for bundle in bundles for constraint in constraints_of(bundle).required
            )
            if (isinstance(each, PackageConstraint) and each.package != package)
            or (not self._satisfies_itself(each, package, index) and not self._cluster_satisfies(each))
        ]

    def required_by_request(self, package: str) -> list[Constraint]:
        """The requirements of the bundle that its BundleDeployment requests, if neither that nor a part of it is known to run."""
        operator = self.domain(package).operator
        requested = operator.requested if operator is not None else None
        found = constraints_of(recorded_bundle(requested)).required if requested is not None else ()
        return [each for each in found if not self._cluster_satisfies(each)]

    def _satisfies_itself(self, constraint: Constraint, package: str, index: int) -> bool:
        if index == 0 and package in self._runs:
            return self.holds_for(constraint, package, 0)
        return self._is_held_by(constraint, package, self.version(package, index), package) is True

    def holds_for(self, constraint: Constraint, package: str, index: int) -> bool:
        """Report whether a constraint of what runs, or of what is selected, holds for a version. Raises RulesTooCostly."""
        return self._holds(constraint, package, self.version(package, index), WHAT_RUNS)

    def _holds(self, constraint: Constraint, package: str, version: PackageVersion, dependant: str) -> bool:
        def rule_holds(rule: str, package: str, bundle: Bundle) -> bool:
            return self.rules.holds(rule, package, bundle, dependant)

        return all(holds(constraint, package, bundle, rule_holds) for bundle in version.bundles)

    def _is_held_by(self, constraint: Constraint, package: str, version: PackageVersion, dependant: str) -> bool | None:
        """Report whether a constraint of a version of `dependant` holds for a version; None if that is not evaluated."""
        try:
            return self._holds(constraint, package, version, dependant)
        except RulesTooCostly:
            self._unevaluated.add((dependant, constraint))
            return None

    def _is_used_up(self, dependant: str, constraint: Constraint) -> bool:
        """Report whether the constraint is not evaluated for any further version."""
        if isinstance(constraint, PackageConstraint | KindConstraint):
            return False
        if self._evaluations >= MAX_EVALUATIONS:
            return True
        return self.rules.is_used_up(dependant) and any(rules_of([constraint]))

    def is_unevaluated(self, package: str, constraint: Constraint) -> bool:
        """Report whether a constraint of the package was not evaluated for every version, because its rules cost too much."""
        return (package, constraint) in self._unevaluated

    def alternatives(self, package: str, constraint: Constraint, *, is_running: bool) -> tuple[VersionSet, ...]:
        """The versions of other packages for which the constraint holds, the preferred package first.

        Packages that are being deleted count only for a version that runs.
        """
        if isinstance(constraint, PackageConstraint):  # nearly all: found at once, and kept with the domain
            other = constraint.package
            if other == package or (not is_running and self.is_deleting(other)):
                return ()
            return self.domain(other).sets_in(constraint.versions)
        key = package, constraint, is_running
        known = self._alternatives.get(key)
        if known is None:
            scope: Collection[str] = self._scope(constraint) - {package}
            if self._is_used_up(package, constraint):
                self._unevaluated.add((package, constraint))
                scope = self.holders(package, constraint) if is_running else ()
            found: list[VersionSet] = []
            for other in sorted(scope, key=self.preference) if len(scope) > 1 else scope:
                if not is_running and self.is_deleting(other):
                    continue
                intervals = self._intervals(package, other, constraint)
                if intervals is None and is_running and other in self.holders(package, constraint):
                    intervals = ((0, 0),)
                found += [VersionSet(other, intervals)] if intervals else []
            known = self._alternatives[key] = tuple(found)
        return known

    def holds_now(self, package: str, constraint: Constraint) -> bool:
        """Report whether what runs of another package satisfies the constraint."""
        return bool(self.holders(package, constraint))

    def holders(self, package: str, constraint: Constraint) -> list[str]:
        """The other packages that run and satisfy the constraint."""
        among: Iterable[str] = self.running
        match constraint:
            case PackageConstraint(package=name):
                among = (name,) if name in self._runs else ()
            case KindConstraint(kind=kind):
                among = self._providers_now.get(kind, ())
        return [other for other in among if other != package and self.holds_for(constraint, other, 0)]

    @cached_property
    def _providers_now(self) -> dict[GroupVersionKind, list[str]]:
        """By kind: the packages of which what runs provides it."""
        found: dict[GroupVersionKind, list[str]] = {}
        for package in self.running:
            for kind in self.version(package, 0).provided_kinds:
                found.setdefault(kind, []).append(package)
        return found

    @staticmethod
    def constraint(requirement: Requirement) -> Constraint:
        """The constraint that a requirement was made from."""
        return cast("Constraint", requirement.source)

    def _is_excluding_nothing_now(self, package: str, constraint: NotConstraint) -> bool:
        return all(self.holds_for(constraint, other, 0) for other in self.running if other != package)

    def is_deleting(self, package: str) -> bool:
        """Report whether the Operator of the package is being deleted."""
        operator = self.domain(package).operator
        return operator is not None and operator.is_deleting

    def is_kept_only_by_dependants(self, package: str) -> bool:
        """Report whether the package has no Operator of a person that stays: it was installed for others, or is being deleted."""
        operator = self.domain(package).operator
        return operator is None or operator.is_dependency or operator.is_deleting

    def _scope(self, constraint: Constraint) -> frozenset[str]:
        """The packages that may have a version for which the constraint holds."""
        scope = scope_of([constraint])
        if scope.any_package:
            return self.packages
        return scope.packages.union(*(self.providers.get(kind, ()) for kind in scope.kinds))

    def _intervals(self, dependant: str, package: str, constraint: Constraint) -> tuple[Interval, ...] | None:
        """The versions of a package for which a constraint of `dependant` holds; None if they are not evaluated."""
        domain = self.domain(package)
        match constraint:
            case PackageConstraint(package=name, versions=versions):
                return domain.intervals_in(versions) if name == package else ()
            case KindConstraint(kind=kind):
                return intervals_of(domain.indices_by_kind.get(kind, ()))
        if self._evaluations + len(domain.versions) > MAX_EVALUATIONS:
            self._evaluations = MAX_EVALUATIONS
            self._unevaluated.add((dependant, constraint))
            return None
        self._evaluations += len(domain.versions)
        found: list[int] = []
        for index, each in enumerate(domain.versions):
            is_held = self._is_held_by(constraint, package, each, dependant)
            if is_held is None:
                return None
            found += [index] if is_held else []
        return intervals_of(found)

    def _cluster_satisfies(self, constraint: Constraint) -> bool:
        """Report whether the cluster has the kind, and no bundle of the component owns it: such a kind may go with its bundle."""
        match constraint:
            case KindConstraint(kind=kind):
                return kind in self._cluster_kinds and kind.group_kind not in self._owned_now
            case AllConstraint(constraints=children):
                return bool(children) and all(self._cluster_satisfies(child) for child in children)
            case AnyConstraint(constraints=children):
                return any(self._cluster_satisfies(child) for child in children)
        return False


def make_goal(universe: ComponentUniverse, requested: Sequence[str]) -> Goal:
    """The goal of the solver: the packages with an Operator, in order of seniority; those that persons asked for come first.

    Asked for are those that have a version besides what runs. What is not asked for and runs is present.
    """
    asked = [
        package for package in requested if len(universe.domain(package).versions) > universe.domain(package).first
    ]
    by_persons = [package for package in asked if not _is_dependency(universe, package)]
    running = [package for package in asked if _is_dependency(universe, package) and package in universe.running]
    return Goal(
        asked=tuple(Asked(package, universe.domain(package).first) for package in [*by_persons, *running]),
        present=universe.running,
    )


def _is_dependency(universe: ComponentUniverse, package: str) -> bool:
    operator = universe.domain(package).operator
    return operator is not None and operator.is_dependency
