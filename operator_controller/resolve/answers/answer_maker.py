"""Makes the Answers for the Operators of one component from its solution. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from olmkit.api.failures import FailureReason
from olmkit.gocompat.text import truncate
from operator_controller.resolve.answers.answer import (
    Answer,
    AnswerKind,
    Dependency,
    FollowedCatalog,
    Member,
    PackageToInstall,
    RefusalFacts,
    SelectedBundle,
)
from operator_controller.resolve.answers.available_upgrade import available_upgrade
from operator_controller.resolve.answers.deprecations import find_deprecations
from operator_controller.resolve.answers.refusal_facts import find_refusal_facts
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES, explain
from operator_controller.resolve.explain.refusal import Refusals
from operator_controller.resolve.formatting import join_names, plain_value
from operator_controller.resolve.package.bundle_identity import is_same_image
from operator_controller.resolve.requirements.constraints import Constraint, describe
from operator_controller.resolve.selection.dependants import Dependants
from operator_controller.resolve.selection.move_order import MoveOrder, find_order
from operator_controller.resolve.selection.package_domain import PackageDomain
from operator_controller.resolve.selection.package_graph import reachable
from operator_controller.resolve.selection.package_resolution import (
    AmbiguousCatalogs,
    Candidate,
    Chosen,
    Kept,
    NoDirectUpgrade,
    NoMatchingBundle,
    NotInstallable,
    NoVersionLeft,
    PackageResolution,
    PreferredCatalogUnread,
    ResolutionOutcome,
    SourceCatalogMissing,
    SourceCatalogNotSelected,
    SuccessorCatalog,
    TooLargeToResolve,
)
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, OperatorRequest
from operator_controller.resolve.solver.optimum import Level, Solution
from operator_controller.resolve.solver.solver_problem import Goal

_REFUSALS = {
    AnswerKind.CONFLICT: RefusalFacts(FailureReason.CONFLICT),
    AnswerKind.UNDECIDED: RefusalFacts(FailureReason.RESOLUTION_FAILED),
}
"""The facts of answers that are about other packages too."""
_KINDS: dict[type[ResolutionOutcome], AnswerKind] = {
    Chosen: AnswerKind.CHOSEN,
    Kept: AnswerKind.KEPT,
    NoMatchingBundle: AnswerKind.NO_MATCHING_BUNDLE,
    NoVersionLeft: AnswerKind.NO_MATCHING_BUNDLE,
    TooLargeToResolve: AnswerKind.TOO_LARGE,
    NoDirectUpgrade: AnswerKind.NO_DIRECT_UPGRADE,
    NotInstallable: AnswerKind.NOT_INSTALLABLE,
    AmbiguousCatalogs: AnswerKind.AMBIGUOUS_CATALOGS,
    SourceCatalogMissing: AnswerKind.SOURCE_CATALOG_MISSING,
    PreferredCatalogUnread: AnswerKind.SOURCE_CATALOG_MISSING,
    SourceCatalogNotSelected: AnswerKind.SOURCE_CATALOG_NOT_SELECTED,
}


MAX_OPERATORS_SHOWN = 3


MAX_DEPENDENCIES_SHOWN = 5
"""Dependencies in one explanation."""
_NOT_PROVED = {
    Level.SATISFIED: "whether {who} can be installed or upgraded together with all others",
    Level.KEPT: "which installed packages stay",
    Level.ASKED_VERSIONS: "which versions are the best for {who}",
    Level.FEWEST: "which are the fewest packages that {who} requires",
    Level.OTHER_VERSIONS: "which versions are the best for the packages that {who} requires",
}
_FEWER_REQUESTED = "choose a version or a channel {of} to leave fewer choices"
_FEWER_REQUIRED = "request versions of some of these packages to leave fewer choices"


@dataclass(frozen=True)
class _Edge:
    """A requirement of a selected version, and the selected package that satisfies it."""

    constraint: Constraint
    satisfied_by: str


class ExplainedChoices:
    """The explanations of the versions of each package without regard to others, kept as long as its domain is the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[PackageDomain, dict[int, Answer]]] = {}

    def of(self, domain: PackageDomain) -> dict[int, Answer]:
        """The answers by index; AnswerMaker adds to them."""
        known = self._known.get(domain.package)
        if known is None or known[0] is not domain:
            known = self._known[domain.package] = domain, {}
        return known[1]

    def retain_only(self, packages: Collection[str]) -> None:
        """Drop what was explained of all other packages."""
        self._known = {package: known for package, known in self._known.items() if package in packages}


class AnswerMaker:
    """Answers for the Operators of one component."""

    def __init__(
        self,
        universe: ComponentUniverse,
        goal: Goal,
        solution: Solution,
        catalogs: Sequence[CatalogSource],
        explained: ExplainedChoices,
    ) -> None:
        self._universe, self._goal, self._solution, self._catalogs = universe, goal, solution, catalogs
        self._selected, self._choices = solution.selected, explained

    @cached_property
    def _refusals(self) -> Refusals:
        return Refusals(self._universe, self._goal, self._solution, self._catalogs)

    def answer(self, operator: OperatorRequest) -> Answer:
        """The answer for one Operator."""
        domain = self._universe.domain(operator.held_package)
        if operator.is_deleting:
            answer = self._plain(operator, domain, AnswerKind.DELETING, "the Operator is being deleted")
        elif len(domain.versions) <= domain.first:
            answer = self._explained(operator, domain, None)
        elif not self._solution.is_proved:
            answer = self._plain(operator, domain, AnswerKind.UNDECIDED, self._undecided())
        else:
            answer = self._decided(operator, domain)
        return replace(
            answer,
            members=self.members,
            needed_by=self._dependants.needed_by(domain.package),
            required_by_deleting=self._dependants.required_by_deleting(domain.package),
            removed_with=self._dependants.removed_with(domain.package),
        )

    # --- the kinds of answers

    def _decided(self, operator: OperatorRequest, domain: PackageDomain) -> Answer:
        index = self._selected.get(domain.package)
        if index is not None and index >= domain.first:
            return self._chosen(operator, domain, index)
        if operator.is_dependency and index is None:
            message = f"package {domain.package} is not required by what is installed or to be installed"
            return self._plain(operator, domain, AnswerKind.UNNEEDED, message)
        refusal = self._refusals.refusal(domain.package)
        unchanged = self._unchanged(domain)
        if unchanged is not None:
            answer = self._explained(operator, domain, unchanged)
            note = f"its requirements are not satisfied: {refusal.sentence}"
            return replace(answer, text=_limited(f"{answer.text}; {note}"), clauses=refusal.clauses)
        answer = self._plain(operator, domain, AnswerKind.CONFLICT, refusal.message)

        def is_required(package: str) -> bool:
            return bool(self._dependants.needed_by(package))

        awaited = awaited_operators(self._universe, self._selected, refusal.packages, is_required)
        deletions = awaited_deletions(self._universe, refusal.packages, is_required)
        text = _limited("; ".join([refusal.message, *awaited]) + refusal.text.removeprefix(refusal.message))
        answer = replace(answer, text=text, clauses=refusal.clauses, is_final=refusal.is_final)
        return replace(answer, awaited=awaited, awaited_deletions=deletions)

    def _unchanged(self, domain: PackageDomain) -> Chosen | None:
        """The running bundle as its catalog offers it: it is not refused again if its own requirements are not satisfied."""
        running = domain.snapshot.running
        for each in domain.versions[domain.first :]:
            if running is not None and each.choice is not None and each.is_running:
                image = each.choice.candidate.bundle.image
                if image == running.image or is_same_image(image, running.image):
                    return each.choice
        return None

    def _chosen(self, operator: OperatorRequest, domain: PackageDomain, index: int) -> Answer:
        choice = domain.versions[index].choice
        if choice is None:  # index 0 is what runs, and choices follow it
            raise ValueError(f"index {index} of {domain.package} is what runs")
        is_best = index == len(domain.versions) - 1
        explained = self._choices.of(domain)
        answer = explained.get(index)
        if answer is None:
            answer = explained[index] = self._explained(operator, domain, replace(choice, is_best=is_best))
        dependencies, conflict = self._dependencies(domain.package), ""
        notes = _dependency_notes(dependencies)
        if not is_best:
            better = self._refusals.better(domain.package)
            if domain.versions[-1].is_running:
                notes = [f"it does not stay at {better.version}, because {better.why}", *notes]
            else:
                conflict = better.reason
                answer = replace(answer, available_version=better.version, available_reason=conflict)
                notes = [better.reason, *notes]
        return replace(
            answer,
            text=_limited("; ".join([answer.text, *notes])),
            available=available_upgrade(domain, choice.candidate, conflict),
            dependencies=dependencies,
            to_install=self._to_install(operator, domain.package),
            after=self._order.after.get(domain.package, ()),
            moving_set=self._order.sets.get(domain.package),
        )

    def _plain(self, operator: OperatorRequest, domain: PackageDomain, kind: AnswerKind, message: str) -> Answer:
        return Answer(
            operator=operator.name,
            uid=operator.uid,
            digest="",
            kind=kind,
            is_resolved=False,
            message=message,
            text=_limited(message),
            refusal=_REFUSALS.get(kind),
            deprecations=find_deprecations(_resolution(domain, None)),
        )

    def _explained(self, operator: OperatorRequest, domain: PackageDomain, choice: Chosen | None) -> Answer:
        return make_answer(operator, _resolution(domain, choice))

    def _undecided(self) -> str:
        return undecided_message(self._solution.exhausted or Level.SATISFIED, len(self._goal.asked))

    # --- other packages

    @cached_property
    def _edges(self) -> dict[str, list[_Edge]]:
        """The requirements of each selected version, with the package that satisfies each; none if nothing is proved."""
        if not self._solution.is_proved:
            return {}
        return {package: list(self._edges_of(package, index)) for package, index in self._selected.items()}

    def _edges_of(self, package: str, index: int) -> Iterable[_Edge]:
        for requirement in self._universe.requirements(package, index):
            for each in requirement.alternatives:
                selected = self._selected.get(each.package, -1)
                if any(low <= selected <= high for low, high in each.intervals):
                    yield _Edge(self._universe.constraint(requirement), each.package)
                    break

    @cached_property
    def _required(self) -> dict[str, list[str]]:
        """By selected package: the packages that satisfy its requirements."""
        return {name: list(dict.fromkeys(each.satisfied_by for each in edges)) for name, edges in self._edges.items()}

    @cached_property
    def _dependants(self) -> Dependants:
        return Dependants(
            self._universe,
            self._selected if self._solution.is_proved else {},
            self._required,
        )

    @cached_property
    def _order(self) -> MoveOrder:
        edges = {name: [(each.constraint, each.satisfied_by) for each in edges] for name, edges in self._edges.items()}
        return find_order(self._universe, self._selected, edges if self._solution.is_proved else {})

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The end state of the component; empty if it is not proved to be the best."""
        found: list[Member] = []
        if not self._solution.is_proved:
            return ()
        for package, index in sorted(self._selected.items()):
            each = self._universe.version(package, index)
            found.append(
                Member(
                    package,
                    each.bundles[0].name,
                    self._version(package),
                    self._catalog(package),
                    requires=tuple(sorted(self._required[package])),
                    is_changed=not each.is_running,
                    because=tuple(self._satisfied_requirements.get(package, ())),
                )
            )
        return tuple(found)

    def _version(self, package: str) -> str:
        version = self._universe.version(package, self._selected[package]).version
        return str(version) if version is not None else ""

    @cached_property
    def _satisfied_requirements(self) -> dict[str, list[str]]:
        """By package: the requirements that it satisfies."""
        found: dict[str, list[str]] = {}
        for name in sorted(self._edges):
            for edge in self._edges[name]:
                sentence = f"{name} v{self._version(name)} requires {describe(edge.constraint)}"
                found.setdefault(edge.satisfied_by, []).append(sentence)
        return found

    def _dependencies(self, package: str) -> tuple[Dependency, ...]:
        return tuple(
            Dependency(
                package=edge.satisfied_by,
                version=str(each.version or ""),
                catalog=self._catalog(edge.satisfied_by),
                bundle=each.bundles[0].name,
                sentence=f"{describe(edge.constraint)} is satisfied by {edge.satisfied_by} {each.version}",
            )
            for edge in self._edges[package]
            for each in (self._universe.version(edge.satisfied_by, self._selected[edge.satisfied_by]),)
        )

    def _catalog(self, package: str) -> str:
        each = self._universe.version(package, self._selected[package])
        if each.choice is not None:
            return each.choice.candidate.catalog
        operator = self._universe.domain(package).operator
        return operator.running.catalog if operator and operator.running else ""

    def _to_install(self, operator: OperatorRequest, package: str) -> tuple[PackageToInstall, ...]:
        """The packages without an Operator that it needs, also indirectly."""
        return tuple(
            PackageToInstall(
                name, str(self._universe.version(name, self._selected[name]).version), self._catalog(name), needed
            )
            for name in sorted(reachable(self._required, [package]))
            if self._universe.domain(name).operator is None
            for needed in (tuple(sorted(self._operators_needing[name])),)
        )

    @cached_property
    def _operators_needing(self) -> dict[str, list[str]]:
        """By package: the Operators whose packages need it, also indirectly."""
        found: dict[str, list[str]] = {}
        for name in self._selected:
            operator = self._universe.domain(name).operator
            if operator is not None:
                for package in reachable(self._required, [name]):
                    found.setdefault(package, []).append(operator.name)
        return found


def _dependency_notes(dependencies: Iterable[Dependency]) -> list[str]:
    known = list(dict.fromkeys(f"{each.package} {each.version}" for each in dependencies))
    shown = known[:MAX_DEPENDENCIES_SHOWN]
    more = len(known) - len(shown)
    shown += [f"{more} more"] if more else []
    return [f"it requires {join_names(shown, 'and')}"] if shown else []


def _resolution(domain: PackageDomain, choice: Chosen | None) -> PackageResolution:
    found = domain.permitted
    return PackageResolution(choice or found.otherwise, domain.snapshot, found.catalogs, found.successor)


def _limited(text: str) -> str:
    return truncate(text, MAX_EXPLANATION_BYTES)


def undecided_message(level: Level, operators: int) -> str:
    """The message. `level` is the one whose limit was reached, `operators` the number of those that are resolved together."""
    who = "this Operator" if operators == 1 else f"each of the {operators:,} Operators that affect each other"
    of = "of this Operator" if operators == 1 else "of some of them"
    hint = _FEWER_REQUIRED if level in (Level.FEWEST, Level.OTHER_VERSIONS) else _FEWER_REQUESTED
    changes = "nothing changes" if operators == 1 else "nothing changes for any of them"
    proved = _NOT_PROVED[level].format(who=who)
    return f"the solver reached its limit before it had proved {proved}: {changes}; {hint.format(of=of)}"


def make_answer(operator: OperatorRequest, resolution: PackageResolution) -> Answer:
    """The answer without what concerns other packages."""
    explanation = explain(resolution)
    outcome, successor = resolution.outcome, resolution.successor
    chosen = outcome if isinstance(outcome, Chosen) else None
    return Answer(
        operator=operator.name,
        uid=operator.uid,
        digest="",
        kind=_KINDS[type(outcome)],
        is_resolved=explanation.is_resolved,
        message=explanation.message,
        text=explanation.text,
        short_reason=explanation.short_reason,
        is_final=resolution.is_final,
        refusal=find_refusal_facts(resolution),
        bundle=selected_bundle(chosen.candidate) if chosen else None,
        target_version=str(chosen.target.version) if chosen else "",
        catalog_state=outcome.catalog_state if isinstance(outcome, Kept) else None,
        followed_catalog=_followed_catalog(successor) if successor else None,
        successor_note=explanation.successor_note,
        deprecations=find_deprecations(resolution),
    )


def _followed_catalog(successor: SuccessorCatalog) -> FollowedCatalog:
    return FollowedCatalog(successor.previous, successor.catalog, successor.channel, successor.is_deleted)


def selected_bundle(candidate: Candidate) -> SelectedBundle:
    """The candidate as a value that can be sent between processes."""
    bundle = candidate.bundle
    return SelectedBundle(
        name=bundle.name,
        version=str(candidate.version),
        image=bundle.image,
        media_type=bundle.media_type,
        catalog=candidate.catalog,
        channel=candidate.channel,
        properties=bundle.recorded_properties,
        deprecation=candidate.deprecation,
    )


def awaited_operators(
    universe: ComponentUniverse,
    selected: Mapping[str, int],
    packages: Iterable[str],
    is_required: Callable[[str], bool],
) -> tuple[str, ...]:
    """A sentence for each of the packages of a conflict whose Operator is upgraded in several steps or deleted."""
    sentences = (_under_way(universe, selected, package, is_required) for package in packages)
    return tuple(filter(None, sentences))[:MAX_OPERATORS_SHOWN]


def awaited_deletions(
    universe: ComponentUniverse, packages: Iterable[str], is_required: Callable[[str], bool]
) -> tuple[str, ...]:
    """Those of the packages of a conflict that run as dependencies and that nothing requires."""
    return tuple(
        package
        for package in packages
        if (operator := universe.domain(package).operator) is not None
        and operator.running is not None
        and _is_unneeded(operator, package, is_required)
    )


def _is_unneeded(operator: OperatorRequest, package: str, is_required: Callable[[str], bool]) -> bool:
    return operator.is_dependency and not is_required(package)


def _under_way(
    universe: ComponentUniverse, selected: Mapping[str, int], package: str, is_required: Callable[[str], bool]
) -> str:
    operator, name = universe.domain(package).operator, plain_value(package)
    if operator is None or operator.running is None:
        return ""
    if operator.is_deleting:
        return f"{name} is being deleted"
    if _is_unneeded(operator, package, is_required):
        return f"nothing requires {name}: it is deleted unless its custom resources are in use"
    version = universe.version(package, selected[package]) if package in selected else None
    if version is None or version.choice is None or version.is_running:
        return ""
    target = version.choice.target
    return "" if target == version.choice.candidate else f"{name} is being upgraded to {target.version} step by step"
