"""Finds what would fit if a refused Operator requested no version and no channel: `with_other_versions(answers, part, select)`.

Each question is a solve of its own, so only a few are asked. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from olmkit.api.conditions import truncate
from olmkit.gocompat.text import quoted
from operator_controller.resolve.answers.answer import Answer, AnswerKind
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.selection.component_part import ComponentPart
from operator_controller.resolve.selection.package_resolution import Chosen
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

MAX_RELAXED_REQUESTS = 3
"""Refused Operators of one component for which another version is looked for, the senior ones first."""
EVERY_VERSION = "*"
"""Without a channel, this range is searched in all channels; prereleases are not in it."""

SelectVersion = Callable[[ComponentPart, str], Chosen | None]
"""The bundle that is selected for a package when the part is solved; None if none is, or if what runs stays."""


def with_other_versions(answers: Iterable[Answer], part: ComponentPart, select: SelectVersion) -> list[Answer]:
    """The answers; the first refusals with the version that would fit and the field of the spec that keeps it out."""
    by_operator = {each.operator: each for each in answers}
    refused = [each for each in part.operators if _is_relaxable(each, by_operator.get(each.name))]
    for each in refused[:MAX_RELAXED_REQUESTS]:
        answer, relaxed = by_operator[each.name], replace(each, version=EVERY_VERSION, channel="", planned=None)
        operators = tuple(relaxed if one is each else one for one in part.operators)
        choice = select(replace(part, operators=operators), each.held_package)
        if choice is not None:
            by_operator[each.name] = replace(answer, text=_with_note(answer, each, choice))
    return list(by_operator.values())


def _is_relaxable(operator: OperatorRequest, answer: Answer | None) -> bool:
    is_refused = answer is not None and answer.kind is AnswerKind.CONFLICT
    return is_refused and operator.is_resolvable and bool(operator.version or operator.channel)


def _with_note(answer: Answer, operator: OperatorRequest, choice: Chosen) -> str:
    candidate = choice.candidate
    fields = [f"version {quoted(operator.version)}"] if operator.version else []
    fields += [f"channel {quoted(operator.channel)}"] if operator.channel else []
    verb = "are" if len(fields) > 1 else "is"
    note = f"{candidate.version} of channel {candidate.channel} would fit, but {' and '.join(fields)} {verb} requested"
    rest = answer.text.removeprefix(answer.message)
    return truncate(f"{answer.message}; {note}{rest}", MAX_EXPLANATION_BYTES)
