"""What of a component that exceeds a limit is solved with fewer catalogs: those that its Operators come from.

Called by component_solver.py. A catalog of which nobody has requested a package cannot keep others from being resolved: its
packages are left out, and the Operators that this satisfies are answered. For the others nothing is decided. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from operator_controller.resolve.answer import Answer, AnswerKind
from operator_controller.resolve.cluster_snapshot import CatalogSource, OperatorRequest
from operator_controller.resolve.component_limits import unsolved_answer
from operator_controller.resolve.component_part import ComponentPart

_ACCEPTED = (AnswerKind.CHOSEN, AnswerKind.DELETING)


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
