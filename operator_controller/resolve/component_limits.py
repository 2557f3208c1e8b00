"""The answers of a component that is not solved because it exceeds a limit as a whole: nothing that is installed changes.

Called by component_solver.py and home_catalogs.py. Reads no documents and evaluates no rules, which may be what exceeds the
limits. Who needs an installed package is known from recorded requirements, so that its Operator can be deleted. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.conditions import truncate
from operator_controller.resolve.answer import Answer, AnswerKind, Member
from operator_controller.resolve.component_part import ComponentPart
from operator_controller.resolve.deletion_answers import deletion_answers
from operator_controller.resolve.explain import MAX_EXPLANATION_BYTES
from operator_controller.resolve.formatting import join_names, plain_value

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
