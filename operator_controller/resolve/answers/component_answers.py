"""Solves one component and answers each of its Operators: `answer_component(part, sources) -> answers`.

What an approval or a pause keeps out is not part of the end state. The Operator that it belongs to gets the answer that it would
get without them, from a second solve; operator/pause_and_approval.py holds it back. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from olmkit.gocompat.text import quoted, truncate
from operator_controller.resolve.answers.answer import Answer, AnswerKind
from operator_controller.resolve.answers.answer_maker import AnswerMaker, ExplainedChoices
from operator_controller.resolve.documents.catalog_documents import Documents, ParsedDocuments
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.formatting import name_channels
from operator_controller.resolve.package.package_content import GroupKind, PackageContent
from operator_controller.resolve.requirements.rule_evaluations import RuleEvaluations
from operator_controller.resolve.selection.components import ComponentPart
from operator_controller.resolve.selection.package_domain import DomainCache, PackageDomain, recorded_bundle
from operator_controller.resolve.selection.package_resolution import Chosen
from operator_controller.resolve.selection.recorded_plans import BindingPlan, binding_plans, is_followed, pinned
from operator_controller.resolve.selection.universe import ComponentUniverse, make_goal
from operator_controller.resolve.selection.withheld_packages import WithheldPackages
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    OperatorRequest,
    package_request,
    running_bundle,
)
from operator_controller.resolve.snapshot.package_snapshot import (
    STATES_WITH_CONTENT,
    CatalogOffer,
    CatalogState,
    PackageRequest,
    PackageSnapshot,
)
from operator_controller.resolve.solver.budget import FIRST_ATTEMPT_BUDGET, SUGGESTION_BUDGET, Budget
from operator_controller.resolve.solver.optimum import Optimizer, Solution
from operator_controller.resolve.solver.solver_problem import Goal

MAX_RELAXED_REQUESTS = 3
"""Refused Operators of one component for which another version is looked for, the senior ones first."""
EVERY_VERSION = "*"
"""Without a channel, this range is searched in all channels; prereleases are not in it."""

SelectVersion = Callable[[ComponentPart, str], Chosen | None]
"""The bundle that is selected for a package when the part is solved; None if none is, or if what runs stays."""


BUDGET = Budget()
"""The limits of each level of one solve."""
MAX_DEPENDENCY_NAME_LENGTH = 45
"""Characters of the name of an Operator, which is that of its package if it is made for a dependency."""


@dataclass(frozen=True)
class Sources:
    """The documents and caches from which the offers and the domains of packages come."""

    documents: Documents
    parsed: ParsedDocuments = field(default_factory=ParsedDocuments)
    domains: DomainCache = field(default_factory=DomainCache)
    explained: ExplainedChoices = field(default_factory=ExplainedChoices)
    rules: RuleEvaluations = field(default_factory=RuleEvaluations)
    """Those of one component: they count what all its solves cost."""

    def offer(self, source: CatalogSource, package: str) -> CatalogOffer:
        """Read the offer of a catalog for the package."""
        return self.parsed.offer(self.documents, source, package)


@dataclass(frozen=True)
class SolvedComponent:
    """One component with its best solution."""

    part: ComponentPart
    universe: ComponentUniverse
    goal: Goal
    solution: Solution
    plans: tuple[BindingPlan, ...] = ()
    """The recorded plans that it follows."""


class NotProved(Exception):
    """The first attempt at a component has reached its limits. Caught by component_solver.py."""


def answer_component(
    part: ComponentPart, sources: Sources, optimizer: Optimizer, *, is_first_attempt: bool = False
) -> list[Answer]:
    """The answers for the Operators of a component. `optimizer` is the one that solved it before, if it was solved before.

    Raises NotProved in place of answers that a first attempt does not prove.
    """
    optimizer.budget = BUDGET.at_most(FIRST_ATTEMPT_BUDGET) if is_first_attempt else BUDGET

    def selected(part: ComponentPart, package: str) -> Chosen | None:
        solved = solve_part(part, sources, Optimizer(SUGGESTION_BUDGET))
        index = solved.solution.selected.get(package) if solved.solution.is_proved else None
        version = solved.universe.version(package, index) if index is not None else None
        return version.choice if version is not None and not version.is_running else None

    solved = solve_part(part, sources, optimizer)
    if is_first_attempt and not solved.solution.is_proved:
        raise NotProved
    return with_other_versions(_answers(solved, sources), part, selected)


def _answers(solved: SolvedComponent, sources: Sources) -> list[Answer]:
    part = solved.part
    maker = AnswerMaker(solved.universe, solved.goal, solved.solution, part.catalogs, sources.explained)
    held = {each.name for each in part.operators if solved.universe.domain(each.held_package).pending}
    if not held:
        return [
            _with_plan(maker.answer(each), each.held_package, solved.plans)
            for each in part.operators
            if each.is_resolvable or each.is_deleting
        ]
    released = tuple(replace(each, is_manual=False, is_paused=False, planned=None) for each in part.operators)
    free = solve_part(replace(part, operators=released), sources, Optimizer(BUDGET))
    free_maker = AnswerMaker(free.universe, free.goal, free.solution, part.catalogs, sources.explained)
    return [
        replace(free_maker.answer(each), to_install=(), members=maker.members, moving_set=None)
        if each.name in held
        else _with_plan(maker.answer(each), each.held_package, solved.plans)
        for each in part.operators
        if each.is_resolvable or each.is_deleting
    ]


def _with_plan(answer: Answer, package: str, plans: Iterable[BindingPlan]) -> Answer:
    """The answer with the plan that binds its Operator, unless the set has got more members since."""
    for plan in plans:
        if package in plan.pending:
            own = answer.moving_set
            is_larger = own is not None and not set(own.members) <= set(plan.moving_set.members)
            return answer if is_larger else replace(answer, moving_set=plan.moving_set)
    return answer


def solve_part(part: ComponentPart, sources: Sources, optimizer: Optimizer) -> SolvedComponent:
    """The best solution of a component that follows the recorded plans, as far as they are possible."""
    plans = tuple(binding_plans(part.operators))
    while True:  # each turn but the last ends a plan
        solved = _solve(part, universe_of(part, sources, plans), optimizer)
        followed = tuple(each for each in plans if is_followed(each, solved.universe, solved.solution))
        if followed == plans:
            return replace(solved, plans=plans)
        plans = followed


def _solve(part: ComponentPart, universe: ComponentUniverse, optimizer: Optimizer) -> SolvedComponent:
    goal = make_goal(universe, [each.held_package for each in part.operators])
    return SolvedComponent(part, universe, goal, optimizer.solve(universe, goal))


def universe_of(part: ComponentPart, sources: Sources, plans: Iterable[BindingPlan] = ()) -> ComponentUniverse:
    """The component as a problem for the solver. `plans` are those to follow."""
    domains = _Domains(part, sources, plans)
    running = tuple(each.held_package for each in part.operators if each.running is not None)
    return ComponentUniverse(
        domain_of=domains.domain,
        running=running,
        providers={kind: packages for kind, packages in part.providers},
        packages=frozenset(part.packages),
        facts=part.facts,
        begun_kinds=_begun_kinds(part),
        home_catalogs=domains.home_place,
        withheld=domains.withheld,
        why_not_created=domains.why_not_created,
        rules=sources.rules,
    )


def _begun_kinds(part: ComponentPart) -> frozenset[GroupKind]:
    """The kinds of bundles of which rukpak may have installed a part: their CustomResourceDefinitions are served before the
    bundle is installed, and are not the cluster's own."""
    installed = {(each.group, each.kind) for each in part.facts.custom_kinds if each.is_installed}
    bundles = (recorded_bundle(each.requested) for each in part.operators if each.requested is not None)
    return frozenset(kind.group_kind for bundle in bundles for kind in bundle.provided_kinds) & installed


class _Domains:
    """Makes the domains of one component."""

    def __init__(self, part: ComponentPart, sources: Sources, plans: Iterable[BindingPlan]) -> None:
        self._part, self._sources = part, sources
        self._facts = sources.domains.same_facts(part.facts)
        self._planned = {package: planned for plan in plans for package, planned in plan.pending.items()}
        self._operators: Mapping[str, OperatorRequest] = {each.held_package: each for each in part.operators}
        self._catalogs_of: dict[str, list[str]] = {}
        for catalog, package, _ in part.documents:
            self._catalogs_of.setdefault(package, []).append(catalog)
        self._taken = dict(part.taken_names)
        self._by_name = {each.name: each for each in part.catalogs}
        catalogs: dict[str, tuple[str, ...]] = {}
        for catalog, package, _ in part.withheld:
            catalogs[package] = (*catalogs.get(package, ()), catalog)
        self.withheld = WithheldPackages(catalogs, self._read_withheld)

    def domain(self, package: str) -> PackageDomain:
        """The domain of a package."""
        operator = self._operators.get(package)
        snapshot = self._dependency(package) if operator is None else self._requested(operator)
        domain = self._sources.domains.domain(package, operator, snapshot)
        return pinned(domain, self._planned.get(package))

    def _requested(self, operator: OperatorRequest) -> PackageSnapshot:
        order = self._home_catalogs if operator.is_dependency else None
        return PackageSnapshot(
            request=package_request(operator),
            offers=tuple(self._offer(source, operator) for source in self._part.catalogs),
            running=running_bundle(operator.running),
            installing_bundle=operator.installing.name if operator.installing else "",
            preferred_catalog=operator.preferred_catalog,
            catalog_order=order,
            facts=self._facts,
        )

    def _offer(self, source: CatalogSource, operator: OperatorRequest) -> CatalogOffer:
        """Read the offer of a catalog for an Operator's package; an empty one if the spec does not select the catalog."""
        if operator.catalogs is None or source.name in operator.catalogs:
            return self._marked(self._sources.offer(source, operator.package), source, operator.package)
        return CatalogOffer(source.name, source.priority, CatalogState.NOT_SELECTED, package_names=source.package_names)

    def _marked(self, offer: CatalogOffer, source: CatalogSource, package: str) -> CatalogOffer:
        """An offer that spec.packages excludes, with whether the catalog has the package. One that lacks it excludes nothing."""
        if not offer.is_excluded:
            return offer
        if source.name in self.withheld.catalogs.get(package, ()):
            return replace(offer, is_withheld=True)
        is_known = source.state in STATES_WITH_CONTENT or source.lists_all_packages
        return replace(offer, is_excluded=not is_known)

    def _read_withheld(self, catalog: str, package: str) -> PackageContent | None:
        """The content of a package that is not offered, for messages."""
        return self._sources.offer(replace(self._by_name[catalog], selected_packages=None), package).package

    def _dependency(self, package: str) -> PackageSnapshot:
        """A package without an Operator: nothing is offered if no Operator for it can be made."""
        refused = bool(self.why_not_created(package))
        names = self._catalogs_of.get(package, ())
        offers = tuple(
            _without_names(self._sources.offer(source, package))
            for source in self._part.catalogs
            if (source.name in names or package in source.package_names) and not refused
        )
        return PackageSnapshot(
            PackageRequest(package, is_dependency=True),
            offers,
            catalog_order=self._home_catalogs,
            facts=self._facts,
        )

    def why_not_created(self, package: str) -> str:
        """Explain why no Operator can be created for a package that has none; "" if it can."""
        if package in self._taken:
            return f"its name is taken by {self._taken[package]}"
        if len(package) > MAX_DEPENDENCY_NAME_LENGTH:
            return f"its name has more than {MAX_DEPENDENCY_NAME_LENGTH} characters, so no Operator can have it"
        return ""

    def home_place(self, package: str) -> int:
        """The place of the best catalog of a package among those of the Operators. All other catalogs share the last place."""
        order = self._own_catalogs
        return min(
            (order.index(each) for each in self._catalogs_of.get(package, ()) if each in order), default=len(order)
        )

    @cached_property
    def _home_catalogs(self) -> tuple[str, ...]:
        """The catalogs of the Operators, the senior one first; then the others by name."""
        return tuple(dict.fromkeys([*self._own_catalogs, *(each.name for each in self._part.catalogs)]))

    @cached_property
    def _own_catalogs(self) -> tuple[str, ...]:
        """The catalogs of the Operators, the senior one first."""
        return tuple(dict.fromkeys(filter(None, map(self._catalog_of, self._part.operators))))

    def _catalog_of(self, operator: OperatorRequest) -> str:
        """The catalog that an Operator's package comes from, or most probably will."""
        if operator.running is not None and operator.running.catalog:
            return operator.running.catalog
        if operator.preferred_catalog or operator.is_dependency:
            return operator.preferred_catalog
        choices = self.domain(operator.held_package).permitted.choices
        return choices[-1].candidate.catalog if choices else ""


def _without_names(offer: CatalogOffer) -> CatalogOffer:
    """Without the other packages of a catalog whose content is known: the package does not depend on them."""
    return replace(offer, package_names=()) if offer.package is not None and offer.package_names else offer


def with_other_versions(answers: Iterable[Answer], part: ComponentPart, select: SelectVersion) -> list[Answer]:
    """The answers; the first refusals with the version that would fit and the field of the spec that keeps it out.

    Each is a solve of its own, so only a few are asked for.
    """
    by_operator = {each.operator: each for each in answers}
    refused = [each for each in part.operators if _is_relaxable(each, by_operator.get(each.name))]
    for each in refused[:MAX_RELAXED_REQUESTS]:
        answer, relaxed = by_operator[each.name], _relaxed(each)
        operators = tuple(relaxed if one is each else one for one in part.operators)
        choice = select(replace(part, operators=operators), each.held_package)
        if choice is not None:
            by_operator[each.name] = replace(answer, text=_with_note(answer, each, choice))
    return list(by_operator.values())


def _relaxed(operator: OperatorRequest) -> OperatorRequest:
    """The request for any version: of the same channel if only versions are excluded."""
    free = replace(operator, excluded_versions=(), planned=None)
    is_limited = operator.version or package_request(operator).named_channels
    return replace(free, version=EVERY_VERSION, channels=()) if is_limited else free


def _is_relaxable(operator: OperatorRequest, answer: Answer | None) -> bool:
    is_refused = answer is not None and answer.kind is AnswerKind.CONFLICT
    is_limited = bool(operator.version or package_request(operator).named_channels or operator.excluded_versions)
    return is_refused and operator.is_resolvable and is_limited


def _with_note(answer: Answer, operator: OperatorRequest, choice: Chosen) -> str:
    candidate = choice.candidate
    named = [quoted(each) for each in package_request(operator).named_channels]
    fields = [f"version {quoted(operator.version)}"] if operator.version else []
    fields += [name_channels(named)] if named else []
    verb = "are" if len(fields) > 1 or len(named) > 1 else "is"
    causes = [f"{' and '.join(fields)} {verb} requested"] if fields else []
    if package_request(operator).excludes(candidate.version):
        causes.append(f"{operator.terms.excluded} has it")
    note = f"{candidate.version} of channel {candidate.channel} would fit, but {' and '.join(causes)}"
    rest = answer.text.removeprefix(answer.message)
    return truncate(f"{answer.message}; {note}{rest}", MAX_EXPLANATION_BYTES)
