"""Treats a component that exceeds a limit as a whole: it is solved with fewer catalogs, or nothing of it changes.

A catalog of which nobody has requested a package cannot keep others from being resolved: the component is solved with the
catalogs alone that its Operators come from, and the Operators that this satisfies are answered. For the others nothing is
decided. Reads no documents and evaluates no rules, which may be what exceeds the limits. Who needs an installed package is known
from recorded requirements, so that its Operator can be deleted. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.conditions import truncate
from operator_controller.resolve.answers.answer import Answer, AnswerKind, Member
from operator_controller.resolve.answers.deletion_answers import deletion_answers
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.formatting import join_names, plain_value
from operator_controller.resolve.selection.component_part import ComponentPart
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, OperatorRequest

_ACCEPTED = (AnswerKind.CHOSEN, AnswerKind.DELETING)
MAX_PACKAGES_SHOWN = 5
"""Packages with an Operator in one message."""


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
    return Answer(operator, uid, "", AnswerKind.UNDECIDED, False, message, text, members=members)


def exceeded_message(part: ComponentPart, reason: str) -> str:
    """The message for the Operators of a component that exceeds a limit."""
    names = [plain_value(each.held_package) for each in part.operators]
    if len(names) > MAX_PACKAGES_SHOWN:
        names[MAX_PACKAGES_SHOWN:] = [f"{len(names) - MAX_PACKAGES_SHOWN:,} more"]
    subject = f"package{'s' if len(names) > 1 else ''} {join_names(names, 'and')}"
    return (
        f"the resolution of {subject} was ended: {reason}; nothing changes, and it is not repeated until a catalog or an "
        "Operator changes that it depends on; set spec.version or spec.channel to leave fewer choices, or "
        "spec.catalogSelector to leave out a catalog"
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
