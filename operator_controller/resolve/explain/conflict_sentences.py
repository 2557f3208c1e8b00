"""Sentences about the clauses of a conflict: who requires what, which versions exist, and what keeps them out.

The sentence of the guide is `A v0.1.0 requires C v0.1.0, which conflicts with B latest requiring C v0.2.0`: "latest" stands for a
package whose version is not requested and of which every version is ruled out. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import Version
from operator_controller.resolve.explain.near_misses import NearMisses, named_parts, subject_of, why_not
from operator_controller.resolve.explain.statements import Statement, StatementKind
from operator_controller.resolve.formatting import format_versions, join_names, join_sentences
from operator_controller.resolve.requirements.constraints import Constraint, KindConstraint, PackageConstraint, describe
from operator_controller.resolve.selection.package_domain import PackageDomain
from operator_controller.resolve.selection.package_graph import reachable
from operator_controller.resolve.selection.package_resolution import PreferredCatalogUnread
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.solver.clauses import (
    AbsentClause,
    AskedClause,
    Clause,
    ExclusionClause,
    KeptClause,
    OwnershipClause,
    PresentClause,
    RequirementClause,
    SelectedClause,
    VersionsClause,
    intervals_of,
)
from operator_controller.resolve.solver.solver_problem import Interval, VersionSet

MAX_CLAUSE_BYTES = 1024
"""UTF-8 bytes of one clause with what exists."""
MAX_REASONS = 2
"""Further reasons in one sentence, and other versions of the package in question that are explained."""
TOO_COSTLY = "rules in CEL cost more than resolution permits; ask its publisher for fewer or simpler rules"
MAX_DETAILS = 5
"""Sentences about what exists."""


class ConflictSentences:
    """Sentences about one conflict. The first clause is about the package in question."""

    def __init__(self, universe: ComponentUniverse, clauses: Sequence[Clause], near_misses: NearMisses) -> None:
        self._universe, self.clauses, self._near_misses = universe, clauses, near_misses
        self._requirements = [each for each in clauses if isinstance(each, RequirementClause)]
        self._wanted = next(each for each in clauses if isinstance(each, AskedClause))
        self._covered: defaultdict[str, set[int]] = defaultdict(set)
        for clause in clauses:
            for package, (low, high) in intervals_of(clause):
                self._covered[package] |= set(range(low, high + 1))

    def sentence(self) -> str:
        """The conflict in one sentence."""
        text = (
            self._unsatisfiable()
            or self._between_two()
            or self._within_one()
            or self._about_wanted()
            or self._fixed()
            or self._owned()
            or self._listed()
        )
        others = [each for each in self._reasons_of_alternatives() if each not in text]
        more = [f"{len(others) - MAX_REASONS} more reasons"] if len(others) > MAX_REASONS else []
        return ", and ".join([text, *others[:MAX_REASONS], *more])

    def details(self) -> list[str]:
        """Name the existing versions of what is required, the nearest that would fit, and what keeps it out."""
        tops = self._tops
        others = [
            f"{self._requires(each, is_exact=True)}{self._continued(each)}"
            for each in self._requirements
            if each.package == self._wanted.package and each not in tops
        ]
        existing = [text for texts in self._existing().values() for text in texts]
        return [*others[:MAX_REASONS], *existing[:MAX_DETAILS]]

    def listed(self) -> tuple[Statement, ...]:
        """Every clause by itself; that of a requirement with what exists."""
        existing, found = self._existing(), list[Statement]()
        for clause in self.clauses:
            listed, details = self._listed_clause(clause), existing.get(clause, [])
            found.append(replace(listed, sentence=join_sentences([listed.sentence, *details], MAX_CLAUSE_BYTES)))
        return tuple(found)

    def _existing(self) -> dict[Clause, list[str]]:
        """Name the existing versions of what is required, by the requirement that names it first."""
        found: dict[Clause, list[str]] = {}
        described: set[str] = set()
        for each in sorted(self._requirements, key=self._tops.__contains__, reverse=True):
            parts = named_parts(_constraint(each))
            new = [part for part in parts if subject_of(part) not in described]
            described.update(map(subject_of, new))
            found[each] = [text for part in new for text in self._near_misses.of(part)]
        return found

    def _reasons_of_alternatives(self) -> list[str]:
        """If one of several packages is required: why each of them cannot be had."""
        found: list[str] = []
        for each in self._tops:
            targets = _targets(each)
            for clause in self.clauses if len(targets) > 1 else ():
                if isinstance(clause, RequirementClause) and clause.package in targets:
                    found.append(f"{self._requires(clause)}{self._continued(clause)}")
                elif isinstance(clause, OwnershipClause) and targets & {clause.first.package, clause.second.package}:
                    found.append(self._listed_clause(clause).sentence)
        return list(dict.fromkeys(found))

    def _continued(self, clause: RequirementClause) -> str:
        return "" if clause.requirement.alternatives else f", which {self._why_nothing_satisfies(clause)}"

    # --- the forms of a conflict

    def _unsatisfiable(self) -> str:
        """Nothing satisfies a requirement."""
        for each in self._requirements:
            if not each.requirement.alternatives:
                return f"{self._chain(each.package)}{self._requires(each)}{self._continued(each)}"
        return ""

    def _between_two(self) -> str:
        """Two requirements meet in one package, and no version of it satisfies both."""
        own = self._reached_from_wanted()
        tops = self._tops
        for ours in sorted(tops, key=lambda each: each.package not in own):
            for theirs in sorted(tops, key=lambda each: each.package in own):
                if theirs.package != ours.package and _targets(theirs) & _targets(ours):
                    last = self._chain(ours.package)
                    addition = f", and {last.removesuffix(', ')}" if last else ""
                    return (
                        f"{self._chain(theirs.package)}{self._requires(theirs)}, which conflicts with "
                        f"{self._label(ours.package, ours.interval)} requiring {describe(_constraint(ours))}{addition}"
                    )
        return ""

    def _within_one(self) -> str:
        """Two requirements of one version meet in one package, and no version of it satisfies both."""
        tops = self._tops
        for number, first in enumerate(tops):
            for second in tops[number + 1 :]:
                if second.package == first.package and _targets(first) & _targets(second):
                    both = f"{self._requires(first)} and {describe(_constraint(second))}, which exclude each other"
                    return f"{self._chain(first.package)}{both}"
        return ""

    def _about_wanted(self) -> str:
        """Another package requires other versions of the package in question."""
        for each in self._tops:
            if self._wanted.package in _targets(each):
                label = self._label(self._wanted.package, self._wanted.interval)
                return f"{self._chain(each.package)}{self._requires(each)}, which conflicts with {label}"
        return ""

    def _fixed(self) -> str:
        """A requirement meets a package whose version is requested, decided or installed."""
        for each in self._tops:
            for clause in self.clauses:
                if isinstance(clause, OwnershipClause | ExclusionClause | RequirementClause) or clause is self._wanted:
                    continue
                if clause.package in _targets(each):
                    return (
                        f"{self._chain(each.package)}{self._requires(each)}, which conflicts with {self._given(clause)}"
                    )
        return ""

    def _given(self, clause: Clause) -> str:
        """A statement about one package as the object of a sentence."""
        match clause:
            case SelectedClause(package=package, index=index):
                return f"{self._label(package, (index, index))}, which has precedence"
            case AskedClause(package=package, interval=interval):
                return f"{self._label(package, interval)}, which is requested"
        return self._listed_clause(clause).sentence

    def _owned(self) -> str:
        """Two bundles own the same kind, or one excludes another."""
        for clause in self.clauses:
            if isinstance(clause, ExclusionClause):
                return self._excluded(clause)
            if isinstance(clause, OwnershipClause):
                roots = [self._chain(package) for package, _ in intervals_of(clause)]
                return f"{''.join(dict.fromkeys(roots))}{self._listed_clause(clause).sentence}"
        return ""

    def _excluded(self, clause: ExclusionClause) -> str:
        """A package excludes what another one requires, what is requested or what runs."""
        excluded = {each.package for each in clause.exclusion.excluded}
        for each in self._tops:
            if each.package != clause.package and _targets(each) & excluded:
                label = self._label(each.package, each.interval)
                chain = self._chain(clause.package) + self._chain(each.package)
                return f"{chain}{self._excludes(clause)}, which conflicts with {label} requiring {describe(_constraint(each))}"
        what = [self.existing(package) for package in sorted(excluded)]
        return f"{self._chain(clause.package)}{self._excludes(clause)}, which conflicts with {join_names(what, 'or')}"

    def _excludes(self, clause: ExclusionClause) -> str:
        excluded = describe(clause.exclusion.source) if clause.exclusion.source is not None else ""  # type: ignore[arg-type]
        return f"{self._label(clause.package, clause.interval)} requires {excluded}"

    def _listed(self) -> str:
        return "; ".join(dict.fromkeys(self._listed_clause(each).sentence for each in self.clauses))

    @cached_property
    def _tops(self) -> list[RequirementClause]:
        """The requirements, of each package only those of its most preferred version."""
        top: dict[str, int] = {}
        for each in self._requirements:
            top[each.package] = max(each.interval[1], top.get(each.package, -1))
        return [each for each in self._requirements if each.interval[1] == top[each.package]]

    def _reached_from_wanted(self) -> set[str]:
        targets: defaultdict[str, set[str]] = defaultdict(set)
        for each in self._requirements:
            targets[each.package] |= _targets(each)
        return {self._wanted.package, *reachable(targets, [self._wanted.package])}

    def _chain(self, package: str) -> str:
        """The requirements that lead from a package that is asked for or runs to this one, each with a comma behind it."""
        steps: list[str] = []
        while package in self._before:
            steps.append(self._requires(self._before[package]))
            package = self._before[package].package
        return "".join(f"{step}, " for step in reversed(steps))

    @cached_property
    def _before(self) -> dict[str, RequirementClause]:
        """By package that is not asked for and does not run: the requirement that leads to it first."""
        found: dict[str, RequirementClause] = {}
        given = AskedClause | PresentClause | SelectedClause
        roots = dict.fromkeys(each.package for each in self.clauses if isinstance(each, given))
        queue = list(roots)
        tops_of: defaultdict[str, list[RequirementClause]] = defaultdict(list)
        for each in self._tops:
            tops_of[each.package].append(each)
        for name in queue:  # the loop body appends to the queue
            for each in tops_of.get(name, ()):
                for target in sorted(_targets(each)):
                    if target not in found and target not in roots:
                        found[target] = each
                        queue.append(target)
        return found

    # --- parts of sentences

    def _requires(self, clause: RequirementClause, *, is_exact: bool = False) -> str:
        label = self._label(clause.package, clause.interval, is_exact=is_exact)
        return f"{label} requires {describe(_constraint(clause))}"

    def _label(self, package: str, interval: Interval, *, is_exact: bool = False) -> str:
        """The package with the versions that a statement is about. `is_exact`: "latest" only if it is about all of them."""
        domain = self._universe.domain(package)
        choices = set(range(domain.first, len(domain.versions)))
        is_pinned = domain.operator is not None and bool(domain.operator.version)
        covered = set(range(interval[0], interval[1] + 1)) if is_exact else self._covered[package]
        if choices and choices <= covered and not (is_pinned or domain.runs):
            return f"{package} latest"
        versions = sorted(self._versions(package, interval))
        if not versions:
            return package
        return f"{package} v{versions[0]}" if len(versions) == 1 else f"{package} v{versions[0]} to v{versions[-1]}"

    def _versions(self, package: str, interval: Interval) -> set[Version]:
        low, high = interval
        listed = self._universe.domain(package).versions[low : high + 1]
        return {each.version for each in listed if each.version is not None}

    def _why_nothing_satisfies(self, clause: RequirementClause) -> str:
        """Continues `which …`."""
        constraint = _constraint(clause)
        if self._universe.is_unevaluated(clause.package, constraint):
            return f"is not evaluated: {TOO_COSTLY}"
        if isinstance(constraint, KindConstraint):
            return self._why_no_provider(constraint)
        if isinstance(constraint, PackageConstraint):
            domain = self._universe.domain(constraint.package)
            if domain.operator is not None and domain.operator.is_deleting:
                return "is being deleted"
            if isinstance(domain.permitted.otherwise, PreferredCatalogUnread):
                return "cannot be read"
            for catalog in domain.permitted.catalogs:
                for each in catalog.ruled_out:
                    if constraint.versions.matches(each.candidate.version):
                        return f"cannot be installed: {each.reason}"
            withheld = self._universe.withheld.why_not_offered([constraint], _considered(domain))
            has_operator = domain.operator is not None
            return withheld or (
                f"conflicts with {self.existing(domain.package)}" if has_operator else "no catalog offers"
            )
        return self._universe.withheld.why_not_offered(named_parts(constraint)) or "no catalog offers"

    def providers_being_deleted(self) -> list[str]:
        """The packages that provide a required kind and whose Operators are being deleted: no alternative of the requirement."""
        constraints = [_constraint(each) for each in self._requirements]
        kinds = [each.kind for each in constraints if isinstance(each, KindConstraint)]
        domains = (domain for kind in kinds for domain, _ in self._near_misses.providers(kind))
        return [each.package for each in domains if each.operator is not None and each.operator.is_deleting]

    def _why_no_provider(self, constraint: KindConstraint) -> str:
        for domain, version in self._near_misses.providers(constraint.kind):
            if domain.operator is not None:
                return f"conflicts with {self.existing(domain.package)}"
            if reason := why_not(domain, version):
                return reason
        return self._universe.withheld.why_not_offered([constraint]) or "no catalog offers"

    def existing(self, package: str) -> str:
        """Name the versions of a package that may be selected, and why no others; for a package without an Operator all that
        exist."""
        domain = self._universe.domain(package)
        operator = domain.operator
        if operator is None:
            return self._near_misses.existing(package)
        if operator.is_deleting:
            return f"{package}, which is being deleted"
        if operator.running is not None and domain.pending is not None:
            waits = (
                " and paused"
                if operator.is_paused
                else f", and whose upgrade to {domain.pending.candidate.version} waits for approval"
            )
            return f"{package} v{operator.running.version}, which is installed{waits}"
        if operator.running is not None:
            versions = sorted({each.version for each in domain.versions if each.version is not None})
            more = [each for each in versions if str(each) != operator.running.version]
            to = f"can be upgraded to {format_versions(more, None)}" if more else "has no upgrade"
            return f"{package} v{operator.running.version}, which is installed and {to}"
        pinned = domain.snapshot.request.versions
        exact = pinned.pinned if pinned is not None else None
        requested = f"v{exact}" if exact is not None else quoted(operator.version) if operator.version else "latest"
        if domain.pending is not None and not domain.versions:
            return f"{package} {requested}, which {'is paused' if operator.is_paused else 'waits for approval'}"
        return f"{package} {requested}, which is requested"

    # --- clauses by themselves

    def _listed_clause(self, clause: Clause) -> Statement:
        match clause:
            case AskedClause(package=package, interval=interval):
                return Statement(package, StatementKind.REQUEST, f"{self._label(package, interval)} is requested")
            case SelectedClause(package=package, index=index):
                label = self._label(package, (index, index))
                return Statement(package, StatementKind.REQUEST, f"{label} has precedence")
            case PresentClause(package=package) | KeptClause(package=package):
                return Statement(package, StatementKind.INSTALLED, self._installed(package))
            case AbsentClause(package=package):
                return Statement(package, StatementKind.INSTALLED, f"{package} is not needed otherwise")
            case VersionsClause(package=package):
                return Statement(
                    package, StatementKind.INSTALLED, self.existing(package) or f"no catalog offers {package}"
                )
            case RequirementClause(package=package):
                return Statement(package, StatementKind.REQUIREMENT, self._requires(clause, is_exact=True))
            case ExclusionClause(package=package):
                return Statement(package, StatementKind.EXCLUSION, self._excludes(clause))
            case OwnershipClause(key=key, first=first, second=second):
                text = f"{self._sets([first])} and {self._sets([second])} both own {_kind(key)}"
                return Statement(first.package, StatementKind.OWNERSHIP, text)

    def _installed(self, package: str) -> str:
        operator = self._universe.domain(package).operator
        version = operator.running.version if operator and operator.running else ""
        return f"{package} v{version} is installed"

    def _sets(self, sets: Iterable[VersionSet]) -> str:
        labels = [self._label(each.package, (each.intervals[0][0], each.intervals[-1][1])) for each in sets]
        return join_names(labels, "or")


def _considered(domain: PackageDomain) -> Collection[str] | None:
    """The catalogs that count for the package of an Operator; None for all."""
    if domain.operator is None:
        return None
    return {each.offer.catalog for each in domain.permitted.catalogs}


def _constraint(clause: RequirementClause) -> Constraint:
    return ComponentUniverse.constraint(clause.requirement)


def _targets(clause: RequirementClause) -> set[str]:
    return {each.package for each in clause.requirement.alternatives}


def _kind(key: object) -> str:
    group, kind = key if isinstance(key, tuple) else ("", str(key))
    return f"kind {kind} of group {group}" if group else f"kind {kind}"
