"""Conditions are found by their type; old and wanted ones make new conditions and the transitions between them.

Called by every `report`, and by who reads conditions; nothing else touches lastTransitionTime. Pure: the clock is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Literal, TypeVar

from olmkit.api.meta import MAX_MESSAGE_BYTES, Condition, ConditionedStatus

ConditionValue = Literal["True", "False", "Unknown"]
MAX_SUMMARY_BYTES = 1024
"""Bytes of what is written for people to read at a glance: the three conditions that kstatus and `kubectl get` show."""
MAX_MESSAGE_BYTES_BY_TYPE = dict.fromkeys(("Ready", "Reconciling", "Stalled"), MAX_SUMMARY_BYTES)
"""Bytes of a message by its condition's type; MESSAGE_LIMIT for every other one."""
_ELLIPSIS = "…"


@dataclass(frozen=True)
class DesiredCondition:
    """What is to be said of one aspect."""

    type: str
    status: ConditionValue
    reason: str
    message: str


@dataclass(frozen=True)
class Transition:
    """An aspect that is new, or whose status or reason changed: logged, and perhaps an Event (olmkit.runtime.recorder)."""

    type: str
    status: ConditionValue
    reason: str
    message: str


Severity = Literal["Normal", "Warning"]


@dataclass(frozen=True)
class PendingEvent:
    """What is worth an Event: its type, its reason, its message, and what was done or what changed (`action`)."""

    type: Severity
    reason: str
    message: str
    action: str


StatusModel = TypeVar("StatusModel", bound=ConditionedStatus, covariant=True)


@dataclass(frozen=True)
class StatusReport(Generic[StatusModel]):
    """What a `report` returns: the status that is true now, and what changed on the way to it."""

    status: StatusModel
    transitions: tuple[Transition, ...] = ()
    events: tuple[PendingEvent, ...] = ()
    """What happened beside that and is worth an Event, such as drift that was repaired."""


def format_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second, as the API server writes times."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def truncate(message: str, limit: int = MAX_MESSAGE_BYTES) -> str:
    """At most `limit` bytes of UTF-8, ending on a character; an ellipsis says that more was there."""
    data = message.encode()
    if len(data) <= limit:
        return message
    dots = _ELLIPSIS if limit >= len(_ELLIPSIS.encode()) else ""
    return data[: limit - len(dots.encode())].decode(errors="ignore") + dots


def find_condition(conditions: Iterable[Condition], name: str) -> Condition | None:
    """The one of that type."""
    return next((condition for condition in conditions if condition.type == name), None)


def is_condition_true(conditions: Iterable[Condition], name: str) -> bool:
    """Whether the one of that type is there and True."""
    condition = find_condition(conditions, name)
    return condition is not None and condition.status == "True"


def merge_conditions(
    old: Sequence[Condition], wanted: Sequence[DesiredCondition], generation: int, now: datetime
) -> tuple[list[Condition], tuple[Transition, ...]]:
    """Conditions sorted by type, and the transitions in the order wanted.

    Stamps observedGeneration and cuts messages at their LIMITS; lastTransitionTime moves only when the status flips; types that
    are not wanted go. Merging the result again with the same wants gives it back and no transition. Raises ValueError when a
    type is wanted twice.
    """
    before = {condition.type: condition for condition in old}
    result: dict[str, Condition] = {}
    transitions: list[Transition] = []
    for want in wanted:
        if want.type in result:
            raise ValueError(f"condition {want.type} is wanted twice")
        known = before.get(want.type)
        message = truncate(want.message, MAX_MESSAGE_BYTES_BY_TYPE.get(want.type, MAX_MESSAGE_BYTES))
        flipped = known is None or known.status != want.status
        result[want.type] = Condition(
            type=want.type,
            status=want.status,
            reason=want.reason,
            message=message,
            observed_generation=generation,
            last_transition_time=format_timestamp(now) if known is None or flipped else known.last_transition_time,
        )
        if known is None or flipped or known.reason != want.reason:
            transitions.append(Transition(want.type, want.status, want.reason, message))
    return [result[name] for name in sorted(result)], tuple(transitions)
