"""The answers of a component that is not solved because solving it ended its process: nothing that is installed changes.

Called by component_solver.py. Reads no documents, which may be what exceeds the limits. Who needs an installed package is known
from recorded requirements, so that its Operator can be deleted. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from olmkit.api.conditions import truncate
from operator_controller.resolve.answer import Answer, AnswerKind
from operator_controller.resolve.answer_maker import AnswerMaker
from operator_controller.resolve.budget import Statistics
from operator_controller.resolve.component_answers import Sources, universe_of
from operator_controller.resolve.component_part import ComponentPart
from operator_controller.resolve.explain import MAX_EXPLANATION_BYTES
from operator_controller.resolve.formatting import join_names, plain_value
from operator_controller.resolve.optimum import Level, Solution
from operator_controller.resolve.universe import make_goal

MAX_PACKAGES_SHOWN = 5
"""Packages with an Operator in one message."""


def exceeded_answers(part: ComponentPart, reason: str) -> Iterable[Answer]:
    """The answers for the Operators of a component; `reason` says which limit it exceeds."""
    bare = replace(part, catalogs=(), documents=())
    universe = universe_of(bare, Sources(_NoDocuments()))
    goal = make_goal(universe, [each.held_package for each in part.operators])
    nothing = Solution({}, (), (), next(iter(Level)), Statistics())
    maker, message = AnswerMaker(universe, goal, nothing, part.catalogs), _message(part, reason)
    for each in part.operators:
        if each.is_deleting:
            yield maker.answer(each)
        elif each.is_resolvable:
            text = truncate(message, MAX_EXPLANATION_BYTES)
            yield Answer(each.name, each.uid, "", AnswerKind.UNDECIDED, is_resolved=False, message=message, text=text)


def _message(part: ComponentPart, reason: str) -> str:
    names = [plain_value(each.held_package) for each in part.operators]
    if len(names) > MAX_PACKAGES_SHOWN:
        names[MAX_PACKAGES_SHOWN:] = [f"{len(names) - MAX_PACKAGES_SHOWN:,} more"]
    subject = f"package{'s' if len(names) > 1 else ''} {join_names(names, 'and')}"
    return (
        f"the resolution of {subject} was ended: {reason}; nothing changes, and it is not repeated until a catalog or an "
        "Operator changes that it depends on; set spec.version or spec.channel to leave fewer choices, or "
        "spec.catalogSelector to leave out a catalog"
    )


class _NoDocuments:
    """Documents without any content."""

    def digests(self, content: str) -> dict[str, str]:
        """As Documents.digests()."""
        return {}

    def read(self, content: str, package: str) -> object:
        """As Documents.read()."""
        raise KeyError(package)
