"""Resolves all Operators of a ClusterSnapshot: `solve_components(snapshot, documents) -> answers`.

Operators that may affect each other form a component; each component is solved by itself, from the part of the Snapshot that it
depends on, and only if that part has changed since the last call. Never raises for what a catalog or a bundle contains. Pure: the
same Snapshot and documents give the same answers, in whatever order they are listed.

A component that exceeds a limit is solved with the catalogs alone that its Operators come from, so that a catalog of which nobody
has requested a package cannot keep others from being resolved; the Operators that this satisfies are answered. For the others
nothing is decided. Who needs an installed package is known from recorded requirements, so that its Operator can be deleted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from olmkit.api.failures import FailureReason
from olmkit.gocompat.text import truncate
from operator_controller.resolve.answers import component_answers
from operator_controller.resolve.answers.answer import Answer, AnswerKind, Member, RefusalFacts
from operator_controller.resolve.answers.answer_maker import ExplainedChoices
from operator_controller.resolve.answers.deletion_answers import deletion_answers
from operator_controller.resolve.documents.catalog_documents import (
    CatalogIndex,
    CatalogLost,
    Documents,
    ParsedDocuments,
)
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.formatting import join_names, plain_value
from operator_controller.resolve.requirements.rule_evaluations import RulesTooCostly
from operator_controller.resolve.selection.components import (
    ComponentPart,
    PartMaker,
    digest_of,
    find_components,
    without_idle_catalogs,
)
from operator_controller.resolve.selection.package_domain import DomainCache
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from operator_controller.resolve.solver.optimum import Optimizer
from operator_controller.resolve.solver.pausable_call import PausableCall

_ACCEPTED = (AnswerKind.CHOSEN, AnswerKind.DELETING)
MAX_PACKAGES_SHOWN = 5
"""Packages with an Operator in one message."""


_NO_REFUSALS = (AnswerKind.CHOSEN, AnswerKind.UNNEEDED, AnswerKind.DELETING)
MAX_PAUSES = 120
"""Pauses after which a component is not paused any more, so that the limits of its process apply to it."""
RUNNING_RULES_TOO_COSTLY = "the rules in CEL that what is installed requires cost more than resolution permits"


class SolverMemory:
    """The results that are kept from one call of solve_components to the next. Never affects an answer, only its cost."""

    def __init__(self) -> None:
        self.parsed = ParsedDocuments()
        self.index = CatalogIndex(self.parsed)
        self.domains = DomainCache()
        self.explained = ExplainedChoices()
        self.answers: dict[str, tuple[Answer, ...]] = {}
        """The answers of each component of the last call, by its digest."""
        self.unproved: dict[str, str] = {}
        """The message of each component of the last call that was solved with fewer catalogs instead, by its digest."""
        self.optimizers: dict[str, Optimizer] = {}
        """The solvers of the components of the last call, by the package of its senior Operator."""
        self.costly: set[str] = set()
        """The packages of the senior Operators of components that no first attempt has solved."""
        self.paused: dict[str, PausableCall[list[Answer]]] = {}
        """The component of which a solve has begun, by its digest; one at most."""


def solve_components(
    snapshot: ClusterSnapshot, documents: Documents, memory: SolverMemory | None = None
) -> tuple[Answer, ...]:
    """The answers, sorted by the names of the Operators. None for an Operator that is not resolvable."""
    found: list[Answer] = []
    pending = PendingComponents(snapshot, documents, memory if memory is not None else SolverMemory())
    found.extend(pending.known)
    while pending.next_component:
        found.extend(pending.solve_next())
    return tuple(sorted(found, key=lambda each: each.operator))


class PendingComponents:
    """The components of a Snapshot, solved one after the other, so that their solver may be a process that has limits.

    The small ones come first, and those that a first attempt with a small budget does not solve come last: a component that costs
    seconds delays only others of its sort. The order changes no answer.

    `exceeded` are components that are not solved, by what next_component was, and why; `settled` the digests of those whose
    answers the caller has. The memory is that of one Snapshot at a time.
    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        documents: Documents,
        memory: SolverMemory,
        exceeded: Mapping[str, str] | None = None,
        settled: Collection[str] = (),
    ) -> None:
        self._documents, self._memory = documents, memory
        known, memory.answers = memory.answers, {}
        self._optimizers, memory.optimizers = memory.optimizers, {}
        parts = find_parts(snapshot, documents, memory)
        memory.parsed.retain_only({digest for part in parts for _, _, digest in part.documents})
        packages = {package for part in parts for package in part.packages}
        memory.domains.retain_only(packages)
        memory.explained.retain_only(packages)
        self._pending: deque[_Component] = deque()
        self.known: list[Answer] = []
        """The answers that need no solving. solve_next() empties it."""
        self._snapshot, self._exceeded, self._settled, self._before = snapshot, exceeded or {}, settled, known
        unproved, memory.unproved = memory.unproved, {}
        for part in parts:
            component = _Component.of(part)
            message = unproved.get(component.bare_digest, "")
            if message and not self._is_exceeding(component):
                memory.unproved[component.bare_digest] = message
                self._add_home_parts(part, message)
            else:
                self._add(component)
        memory.costly &= {_senior(part) for part in parts}
        for digest in memory.paused.keys() - {each.digest for each in self._pending}:
            del memory.paused[digest]
        self._pending = deque(sorted(self._pending, key=self._place))

    def _place(self, component: _Component) -> tuple[bool, bool, int]:
        """The component that is paused is the first one of the costly ones."""
        is_paused = component.digest in self._memory.paused
        return self._is_costly(component), not is_paused, len(component.part.documents)

    @property
    def is_next_costly(self) -> bool:
        """True if solve_next() may take seconds: all that can be solved sooner is solved."""
        return bool(self._pending) and self._is_costly(self._pending[0])

    def _is_costly(self, component: _Component) -> bool:
        return _senior(component.part) in self._memory.costly or component.digest in self._memory.paused

    def _is_exceeding(self, component: _Component) -> bool:
        return bool(component.part.excess) or component.bare_digest in self._exceeded

    def _add(self, component: _Component) -> None:
        """Solve the component later, unless its answers are known."""
        part = component.part
        if self._is_exceeding(component):
            reason = part.excess or self._exceeded[component.bare_digest]
            if not self._add_home_parts(part, exceeded_message(part, reason)):
                self.known += _with_digest(exceeded_answers(part, reason), component.bare_digest)
        elif digest := component.known_digest(self._before):
            self._memory.answers[digest] = self._before[digest]
            self.known += self._before[digest]
            self._optimizer(part)
        elif not {component.digest, component.bare_digest}.intersection(self._settled):
            self._optimizer(part)  # kept also if another Snapshot comes before it is solved
            self._pending.append(component)

    def _add_home_parts(self, part: ComponentPart, message: str) -> bool:
        """Solve a component later with the catalogs alone that its Operators come from. Whether it has others."""
        homes = home_catalogs(part) if not part.unsolved else frozenset[str]()
        if not homes:
            return False
        catalogs = tuple(each for each in self._snapshot.catalogs if each.name in homes)
        try:
            index = self._memory.index.of_catalogs(homes)
            parts = _find_parts(replace(self._snapshot, catalogs=catalogs), part.operators, index)
        except CatalogLost:
            return False
        for each in parts:
            self._add(_Component.of(replace(each, unsolved=message)))
        return True

    @property
    def next_component(self) -> str:
        """The digest of the component that solve_next() solves; "" if there is none."""
        return self._pending[0].bare_digest if self._pending else ""

    def solve_next(self, is_over: Callable[[], bool] | None = None) -> tuple[Answer, ...]:
        """Solve one component, put it off, or pause it when `is_over`; then there are no answers.

        What is paused goes on with the next call, also of another Snapshot that has the same component.
        """
        component = self._pending[0]
        part = component.part
        is_first_attempt = len(self._pending) > 1 and not self._is_costly(component)
        found: Iterable[Answer]
        try:
            solving = self._memory.paused.pop(component.digest, None) or self._solving(component, is_first_attempt)
            is_pausable = not is_first_attempt and solving.pauses < MAX_PAUSES
            if not solving.run(is_over if is_pausable else None):
                self._memory.paused[component.digest] = solving
                return ()
            found = solving.result
        except component_answers.NotProved:
            self._memory.costly.add(_senior(part))
            self._pending.append(self._pending.popleft())
            return ()
        except RulesTooCostly:
            found = exceeded_answers(part, RUNNING_RULES_TOO_COSTLY)
        found = accepted_answers(part, found) if part.unsolved else tuple(found)
        undecided, self.known = [each for each in found if each.kind is AnswerKind.UNDECIDED], []
        if undecided and self._add_home_parts(part, undecided[0].message):
            self._memory.unproved[component.bare_digest] = undecided[0].message
            self._pending.popleft()
            return tuple(self.known)
        digest = component.bare_digest if _refuse_nothing(found) else component.digest
        answers = self._memory.answers[digest] = _with_digest(found, digest)
        self._pending.popleft()
        return answers

    def _solving(self, component: _Component, is_first_attempt: bool) -> PausableCall[list[Answer]]:
        part, optimizer = component.part, self._optimizer(component.part)
        sources = component_answers.Sources(
            self._documents, self._memory.parsed, self._memory.domains, self._memory.explained
        )
        answer_component = component_answers.answer_component
        return PausableCall(lambda: answer_component(part, sources, optimizer, is_first_attempt=is_first_attempt))

    def _optimizer(self, part: ComponentPart) -> Optimizer:
        """The optimizer that solved the component before, or a new one."""
        senior = _senior(part)
        optimizer = self._optimizers.get(senior) or Optimizer(component_answers.BUDGET)
        self._memory.optimizers[senior] = optimizer
        return optimizer


@dataclass(frozen=True)
class _Component:
    """One component, with the digest of its part, and that of the part without idle catalogs.

    The second one identifies its answers if they refuse nothing: a Catalog that is created or deleted does not change them.
    """

    part: ComponentPart
    digest: str
    bare_digest: str

    @classmethod
    def of(cls, part: ComponentPart) -> Self:
        """The component with its digests."""
        bare, digest = without_idle_catalogs(part), digest_of(part)
        return cls(part, digest, digest if bare is part else digest_of(bare))

    def known_digest(self, known: Mapping[str, tuple[Answer, ...]]) -> str:
        """The digest under which its answers are known; "" if they are not."""
        if self.digest in known:
            return self.digest
        return self.bare_digest if self.bare_digest in known and _refuse_nothing(known[self.bare_digest]) else ""


def _senior(part: ComponentPart) -> str:
    """The package of the senior Operator of a component."""
    return part.operators[0].held_package


def _refuse_nothing(answers: Iterable[Answer]) -> bool:
    """Report whether no answer is a refusal or contains one: a refusal also depends on catalogs that do not offer what it is
    about."""
    return all(each.kind in _NO_REFUSALS and not each.clauses for each in answers)


def _with_digest(answers: Iterable[Answer], digest: str) -> tuple[Answer, ...]:
    return tuple(replace(each, digest=digest) for each in answers)


def find_parts(snapshot: ClusterSnapshot, documents: Documents, memory: SolverMemory) -> list[ComponentPart]:
    """The parts of the Snapshot, one for each component."""
    operators = _by_seniority(snapshot)
    memory.index.update(snapshot.catalogs, documents, operators)
    while True:  # at most once more for each catalog
        try:
            return _find_parts(snapshot, operators, memory.index)
        except CatalogLost as error:
            memory.index.lose(error.catalog)


def _find_parts(
    snapshot: ClusterSnapshot, operators: Sequence[OperatorRequest], index: CatalogIndex
) -> list[ComponentPart]:
    """Raises CatalogLost."""
    by_package: dict[str, OperatorRequest] = {}
    for operator in operators:
        by_package.setdefault(operator.held_package, operator)
    components = find_components(by_package.keys(), index.of_package, index.providers, index.packages)
    members: defaultdict[str, list[OperatorRequest]] = defaultdict(list)
    first_of = {package: min(each.requested) for each in components for package in each.requested}
    for package, operator in by_package.items():
        members[first_of[package]].append(operator)
    maker = PartMaker(snapshot, index)
    return [maker.part_of(each, members[min(each.requested)]) for each in components]


def _by_seniority(snapshot: ClusterSnapshot) -> Sequence[OperatorRequest]:
    return snapshot.operators if snapshot.is_ordered else sorted(snapshot.operators, key=lambda each: each.seniority)


def exceeded_answers(part: ComponentPart, reason: str) -> Iterable[Answer]:
    """The answers for the Operators of a component; `reason` says which limit it exceeds."""
    message = part.unsolved or exceeded_message(part, reason)
    yield from deletion_answers(part.operators)
    for each in part.operators:
        if each.is_resolvable and not each.is_deleting:
            yield unsolved_answer(each.name, each.uid, message)


def unsolved_answer(operator: str, uid: str, message: str, members: tuple[Member, ...] = ()) -> Answer:
    """The answer for an Operator of such a component, for which nothing changes. Its digest is set by component_solver.py."""
    text = truncate(message, MAX_EXPLANATION_BYTES)
    refusal = RefusalFacts(FailureReason.RESOLUTION_FAILED)
    return Answer(operator, uid, "", AnswerKind.UNDECIDED, False, message, text, refusal=refusal, members=members)


def exceeded_message(part: ComponentPart, reason: str) -> str:
    """The message for the Operators of a component that exceeds a limit."""
    names = [plain_value(each.held_package) for each in part.operators]
    if len(names) > MAX_PACKAGES_SHOWN:
        names[MAX_PACKAGES_SHOWN:] = [f"{len(names) - MAX_PACKAGES_SHOWN:,} more"]
    subject = f"package{'s' if len(names) > 1 else ''} {join_names(names, 'and')}"
    return (
        f"the resolution of {subject} was ended: {reason}; nothing changes, and it is not repeated until a catalog or an "
        "Operator changes that it depends on; choose a version or a channel to leave fewer choices, or select fewer catalogs"
    )


def home_catalogs(part: ComponentPart) -> frozenset[str]:
    """The catalogs that the Operators come from, or will by their priority; empty if these are all that offer anything."""
    offering = {(catalog, package) for catalog, package, _ in part.documents}
    names = frozenset(name for each in part.operators for name in _homes(each, part.catalogs, offering))
    return names if any(catalog not in names for catalog, _ in offering) else frozenset()


def _homes(
    operator: OperatorRequest, catalogs: Iterable[CatalogSource], offering: set[tuple[str, str]]
) -> Iterable[str]:
    if operator.running is not None and operator.running.catalog:
        return [operator.running.catalog]
    if operator.preferred_catalog:
        return [operator.preferred_catalog]
    found = [
        each
        for each in catalogs
        if (operator.catalogs is None or each.name in operator.catalogs) and (each.name, operator.package) in offering
    ]
    highest = max((each.priority for each in found), default=0)
    return [each.name for each in found if each.priority == highest]


def accepted_answers(part: ComponentPart, answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """The answers of a part with fewer catalogs: a refusal by these alone is none."""
    return tuple(
        each
        if each.kind in _ACCEPTED and not each.clauses
        else unsolved_answer(each.operator, each.uid, part.unsolved, each.members)
        for each in answers
    )
