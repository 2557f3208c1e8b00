"""Finds conditions by type, and merges desired conditions into existing ones, with the transitions.

Only this module sets lastTransitionTime. Pure: the caller passes the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, Literal, NamedTuple, TypeVar

from olmkit.api.meta import MAX_MESSAGE_BYTES, Condition, Conditioned
from olmkit.errors import ApiError, OlmError
from olmkit.gocompat.text import ELLIPSIS, one_line, printable_lines, truncate

ConditionValue = Literal["True", "False", "Unknown"]
_V1_TRUNCATED = "\n\n... [message truncated]"
"""The end of a truncated message of OLM v1."""
MAX_SUMMARY_BYTES = 1024
"""Bytes of the messages of the three conditions that kstatus and `kubectl get` show."""
MAX_MESSAGE_BYTES_BY_TYPE = dict.fromkeys(("Ready", "Reconciling", "Stalled"), MAX_SUMMARY_BYTES)
"""Bytes of a message by the type of its condition; MAX_MESSAGE_BYTES for all others."""


class Cause(NamedTuple):
    """The cause why conditions are not as they should be: those that follow from one cause have the same one.

    `reason` is that of the error, which the reasons of the conditions may summarize; `subject` are the names that tell two causes
    of one reason apart. Events follow from causes and never from messages: docs/decisions/0023.
    """

    reason: str
    subject: frozenset[str] = frozenset()

    def covers(self, other: Cause) -> bool:
        """Report whether the other cause is this one or a part of it, as when one of several blockers is gone.

        A cause without names is a part of none that has some: nothing tells that it is about one of them.
        """
        is_part = other.subject <= self.subject if other.subject else not self.subject
        return self.reason == other.reason and is_part


def cause_of(error: Exception | None) -> Cause | None:
    """The cause that an error is: its reason and its subject; for one that is neither an OlmError nor an ApiError, its class.
    None without an error."""
    if error is None:
        return None
    if isinstance(error, OlmError):
        return Cause(error.reason, frozenset(error.subject))
    reason = error.reason if isinstance(error, ApiError) else ""
    return Cause(reason or type(error).__name__)


@dataclass(frozen=True)
class DesiredCondition:
    """A condition as it should be, without generation and time. `cause`: why it is not as users want it; None if it is, if work
    is in progress, or if it is a copy of the condition that the status has."""

    type: str
    status: ConditionValue
    reason: str
    message: str
    cause: Cause | None = None


@dataclass(frozen=True)
class Transition:
    """A condition that is new, or whose status or reason changed. It is logged; event_choice.py decides if it is an Event."""

    type: str
    status: ConditionValue
    reason: str
    message: str


Severity = Literal["Normal", "Warning"]


@dataclass(frozen=True)
class PendingEvent:
    """An Event to record; `action` is what was done or what changed."""

    type: Severity
    reason: str
    message: str
    action: str


StatusModel = TypeVar("StatusModel", bound=Conditioned, covariant=True)


@dataclass(frozen=True)
class StatusReport(Generic[StatusModel]):
    """The result of a `report`: the new status, its transitions, and further Events."""

    status: StatusModel
    transitions: tuple[Transition, ...] = ()
    events: tuple[PendingEvent, ...] = ()
    """Events that are not transitions, such as repaired drift."""
    is_required: bool = False
    """True if the next step depends on this status: it is written at once, even if it only reports progress."""
    causes: Mapping[str, Cause] = field(default_factory=dict)
    """The causes of its conditions, by type. One that is missing is that of the last status, if its condition is unchanged."""


def format_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second, as in the API server."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_condition(conditions: Iterable[Condition], name: str) -> Condition | None:
    """The condition of that type; None when there is none."""
    return next((condition for condition in conditions if condition.type == name), None)


def is_condition_true(conditions: Iterable[Condition], name: str) -> bool:
    """Report whether there is a condition of that type with status True."""
    condition = find_condition(conditions, name)
    return condition is not None and condition.status == "True"


def causes_of(desired: Iterable[DesiredCondition]) -> dict[str, Cause]:
    """The causes of the conditions that have one, by type."""
    return {each.type: each.cause for each in desired if each.cause is not None}


def merge_conditions(
    old: Sequence[Condition],
    desired: Sequence[DesiredCondition | Condition],
    generation: int,
    now: datetime,
    *,
    text: Callable[[str], str] = one_line,
    limit_suffix: str = ELLIPSIS,
) -> tuple[list[Condition], tuple[Transition, ...]]:
    """The conditions, sorted by type, and the transitions, in the order of `desired`. A Condition among them is one of `old`, and
    stays as it is, with its generation.

    Sets observedGeneration, makes messages printable by `text`, because they contain texts of catalogs, bundles and servers, and
    truncates them to their limits, with `limit_suffix` at the end; changes lastTransitionTime only when the status changes, and
    removes types that are not desired. Idempotent. Raises ValueError when a type is desired twice.
    """
    old_by_type = {condition.type: condition for condition in old}
    result: dict[str, Condition] = {}
    transitions: list[Transition] = []
    for each in desired:
        if each.type in result:
            raise ValueError(f"condition {each.type} is desired twice")
        if isinstance(each, Condition):
            result[each.type] = each
            continue
        previous = old_by_type.get(each.type)
        limit = MAX_MESSAGE_BYTES_BY_TYPE.get(each.type, MAX_MESSAGE_BYTES)
        message = truncate(text(each.message), limit, limit_suffix)
        status_changed = previous is None or previous.status != each.status
        result[each.type] = Condition(
            type=each.type,
            status=each.status,
            reason=each.reason,
            message=message,
            observed_generation=generation,
            last_transition_time=format_timestamp(now)
            if previous is None or status_changed
            else previous.last_transition_time,
        )
        if previous is None or status_changed or previous.reason != each.reason:
            transitions.append(Transition(each.type, each.status, each.reason, message))
    return [result[name] for name in sorted(result)], tuple(transitions)


def merge_v1_conditions(
    old: Sequence[Condition], desired: Sequence[DesiredCondition | Condition], generation: int, now: datetime
) -> tuple[list[Condition], tuple[Transition, ...]]:
    """merge_conditions() for the kinds of OLM v1, whose messages have lines, and end as upstream's do if they are truncated."""
    return merge_conditions(old, desired, generation, now, text=printable_lines, limit_suffix=_V1_TRUNCATED)
