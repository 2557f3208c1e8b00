"""The answers for Operators that are being deleted, from what running bundles have recorded: `deletion_answers(...) -> answers`.

They count after a solve that failed, so that no deletion depends on the solver process, and for what is not solved. Evaluates no
rule in CEL, which may be what exceeds a limit. What is not certain counts as required: what a rule may hold for, everything if a
requirement cannot be read, and everything beyond MAX_COMPARISONS. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from operator_controller.resolve.answers.answer import Answer, AnswerKind
from operator_controller.resolve.package.package_content import Bundle, GroupKind, is_recorded_list
from operator_controller.resolve.requirements.bundle_constraints import read_constraints
from operator_controller.resolve.requirements.constraints import (
    AllConstraint,
    AnyConstraint,
    CelConstraint,
    Constraint,
    NotConstraint,
    holds,
    scope_of,
)
from operator_controller.resolve.selection.package_domain import recorded_bundle
from operator_controller.resolve.selection.package_graph import reachable
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

MAX_COMPARISONS = 200_000
"""Constraints that are compared with bundles: about half a second."""
_MESSAGE = "the Operator is being deleted"


class _TooMany(Exception):
    """MAX_COMPARISONS is reached."""


@dataclass(frozen=True)
class _Running:
    """The running bundles of one package: two while an upgrade is in progress."""

    bundles: tuple[Bundle, ...]
    required: tuple[Constraint, ...]
    is_readable: bool
    """True if all that it requires is known."""


def deletion_answers(
    operators: Iterable[OperatorRequest], selected: Mapping[str, Collection[str]] | None = None
) -> tuple[Answer, ...]:
    """The answers for those of the Operators of a Snapshot that are being deleted, by package.

    `selected`: by Operator, the packages that its selected bundle requires, which may be about to be installed.
    """
    by_package: dict[str, OperatorRequest] = {}
    for operator in sorted(operators, key=lambda each: each.seniority):
        by_package.setdefault(operator.held_package, operator)
    deleting = {package for package, operator in by_package.items() if operator.is_deleting}
    if not deleting:
        return ()
    running = {package: _read(operator) for package, operator in by_package.items() if operator.running is not None}
    search = _Search(running, deleting)
    needs = {package: search.needs(package) for package in running}
    for package, operator in by_package.items():
        if not operator.is_deleting and selected and operator.name in selected:
            needs[package] = needs.get(package, set()) | deleting.intersection(selected[operator.name])
    return tuple(_answer(by_package[package], package, needs, deleting) for package in sorted(deleting))


def _answer(
    operator: OperatorRequest, package: str, needs: Mapping[str, Collection[str]], deleting: Collection[str]
) -> Answer:
    dependants = sorted(each for each, needed in needs.items() if package in needed)
    leaving = [each for each in dependants if each in deleting]
    own = set(reachable(needs, [package]) if leaving else ())
    return Answer(
        operator=operator.name,
        uid=operator.uid,
        digest="",
        kind=AnswerKind.DELETING,
        is_resolved=False,
        message=_MESSAGE,
        text=_MESSAGE,
        needed_by=tuple(each for each in dependants if each not in deleting),
        required_by_deleting=tuple(each for each in leaving if each not in own),
    )


def _read(operator: OperatorRequest) -> _Running:
    providing = [each for each in (operator.running, operator.installing) if each is not None]
    recorded = operator.recorded
    bundles = tuple(map(recorded_bundle, recorded))
    constraints = [read_constraints(each.properties, checks_rules=False) for each in bundles]
    required = dict.fromkeys(each for found in constraints for each in found.required)
    is_readable = all(is_recorded_list(each.properties) for each in recorded) and not any(
        each.problem for each in constraints
    )
    return _Running(bundles[: len(providing)], tuple(required), is_readable)


class _Search:
    """Finds which packages that are being deleted what runs requires. Counts comparisons."""

    def __init__(self, running: Mapping[str, _Running], deleting: Collection[str]) -> None:
        self._running, self._deleting = running, frozenset(deleting)
        self._left = MAX_COMPARISONS
        self._providers: dict[GroupKind, set[str]] = {}
        for package, each in running.items():
            for bundle in each.bundles:
                for kind in bundle.provided_kinds:
                    self._providers.setdefault(kind.group_kind, set()).add(package)

    def needs(self, package: str) -> set[str]:
        """The packages that are being deleted and that this one requires, or may require."""
        this, found = self._running[package], set[str]()
        every = self._deleting.intersection(self._running) - {package}
        if not this.is_readable:
            return set(every)
        try:
            for constraint in this.required:
                if every and not all(self._compare(constraint, package, bundle) for bundle in this.bundles):
                    found |= self._holders(constraint, package)
        except _TooMany:
            return set(every)
        return found

    def _holders(self, constraint: Constraint, package: str) -> set[str]:
        """Those that are being deleted and may satisfy the constraint, unless something that stays is certain to satisfy it."""
        scope = scope_of([constraint])
        known = scope.packages.union(*(self._providers.get(kind, ()) for kind in scope.kinds))
        others = (self._running.keys() if scope.any_package else known & self._running.keys()) - {package}
        leaving = {
            each for each in others & self._deleting if any(one is not False for one in self._of(constraint, each))
        }
        if leaving and any(all(self._of(constraint, each)) for each in others - self._deleting):
            return set()
        return leaving

    def _of(self, constraint: Constraint, package: str) -> list[bool | None]:
        return [self._compare(constraint, package, bundle) for bundle in self._running[package].bundles]

    def _compare(self, constraint: Constraint, package: str, bundle: Bundle) -> bool | None:
        """Report whether the constraint holds for the bundle; None if that is not known. Raises _TooMany."""
        self._left -= 1
        if self._left < 0:
            raise _TooMany
        match constraint:
            case CelConstraint():
                return None
            case AllConstraint(constraints=children):
                return _all(self._compare(each, package, bundle) for each in children)
            case AnyConstraint(constraints=children):
                return _not(_all(_not(self._compare(each, package, bundle)) for each in children))
            case NotConstraint(constraints=children):
                return _all(_not(self._compare(each, package, bundle)) for each in children)
        return holds(constraint, package, bundle)


def _all(results: Iterable[bool | None]) -> bool | None:
    is_known = True
    for each in results:
        if each is False:
            return False
        is_known = is_known and each is not None
    return True if is_known else None


def _not(result: bool | None) -> bool | None:
    return None if result is None else not result
