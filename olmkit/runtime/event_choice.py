"""Chooses the Events and log lines for the new conditions of an object. Never writes one: olmkit.runtime.event_recorder does.

One Event per outcome: the conditions that have one cause (the aspect that failed, Ready, Stalled) become one Event, for the most
specific of them, and a recovery from a failure becomes one that names the failure. Compares statuses, reasons and causes, never
messages. Pure. docs/decisions/0023.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.api.conditions import Cause, PendingEvent, Severity, Transition
from olmkit.api.operator_condition_names import NOT_UPGRADEABLE

RECOVERED = "Recovered"
"""Reason of the Event that names the failure an object has recovered from."""

_SUMMARIES = ("Ready", "Reconciling", "Stalled")
_FAILURES = ("Unhealthy", "ProblemsFound")
"""Reasons of failures that do not end with "Failed"."""
_DEPRECATION_SUMMARY = "Deprecated"
"""The condition that is True with any other …Deprecated, which has the Event."""
_HELD = ("ApprovalRequired", "Paused", NOT_UPGRADEABLE)
"""Reasons of Ready while a person or an operator has to decide: neither a failure nor work in progress."""
_REPORTED_ELSEWHERE = ("HasValidBundle", "Healthy")
"""Conditions that become True without an Event: the Bundle has one for the first, and Ready has one for the second."""

_WAITING_PREFIX = "Waiting"
"""Prefix of the reason of Reconciling while something else has to happen first."""

_BLOCKER_PREFIXES = (_WAITING_PREFIX, "Retrying")
"""Prefixes of that reason while something blocks the object."""

Conditions = Sequence[Mapping[str, Any]]
"""Conditions of a status, as the API server writes them."""
Causes = Mapping[str, Cause]
"""The causes of conditions by their type, as far as they are known."""


@dataclass(frozen=True)
class Reported:
    """The knowledge of an object beside its status. A process that has just started, or leads again, has none."""

    failure: str = ""
    """The message of the failure that remains, which the Event about the recovery quotes; "" if there is none."""
    causes: Causes = field(default_factory=dict)
    """The causes of the conditions of its status."""


NOTHING = Reported()


@dataclass(frozen=True)
class EventChoice:
    """The Events of one pass, its new blockers, which are logged as its transitions are, and what is known for the next pass."""

    events: tuple[PendingEvent, ...] = ()
    blockers: tuple[Transition, ...] = ()
    reported: Reported = NOTHING


def severity(transition: Transition, *, ready_or_reconciling: bool, waiting: bool = False) -> Severity:
    """Warning for a negative condition that is True (Stalled, …Deprecated) and for a positive one that is False, else Normal.

    `ready_or_reconciling`: the object is Ready, or work on it is in progress; then a False condition is a Warning only if it is
    a failure. `waiting`: the object waits for something, such as a catalog that is being read; then Resolved=False is Normal.
    """
    if transition.type == "Stalled" or _is_deprecation(transition.type):
        return "Warning" if transition.status == "True" else "Normal"
    if transition.type == "Reconciling" or transition.status != "False":
        return "Normal"
    if transition.reason in _HELD or (waiting and transition.type == "Resolved"):
        return "Normal"
    return "Normal" if ready_or_reconciling and not _is_failure(transition) else "Warning"


def choose_events(
    before: Conditions,
    after: Conditions,
    transitions: Iterable[Transition],
    causes: Causes,
    known: Reported = NOTHING,
    *,
    is_owned: bool = False,
) -> EventChoice:
    """The Events of a pass whose transitions led from the conditions `before` to those `after`; `causes` are those of the report.

    At most one Warning and one Normal Event, and a Warning for each independent condition (Valid, …Deprecated). A failure
    whose cause the conditions `before` show already is not reported again under another reason, unless Ready is lost. `known` is
    what the previous choice returned; if nothing is known, it is taken from `before`, without causes. The success of an object
    that `is_owned` by another one has none: it is a step of that one, which reports its own.
    """
    causes = _causes_after(before, after, causes, known.causes)
    blockers = _new_blockers(before, after, causes, known.causes)
    changed = (*transitions, *blockers)
    events, failure = _events_and_failure(before, after, changed, causes, known, is_owned=is_owned)
    return EventChoice(events, blockers, Reported(failure, causes))


def _events_and_failure(
    before: Conditions,
    after: Conditions,
    changed: Sequence[Transition],
    causes: Causes,
    known: Reported,
    *,
    is_owned: bool,
) -> tuple[tuple[PendingEvent, ...], str]:
    """The Events, and the message of the failure that remains ("" if none)."""
    had = {condition["type"] for condition in before}
    ready_or_reconciling, waiting = _is_ready_or_reconciling(after), _is_waiting(after)
    warnings = [
        entry
        for entry in changed
        if severity(entry, ready_or_reconciling=ready_or_reconciling, waiting=waiting) == "Warning"
    ]
    advice = tuple(
        _event(entry, "Warning")
        for entry in warnings
        if _is_independent(entry.type) and entry.type != _DEPRECATION_SUMMARY
    )
    failures = [entry for entry in warnings if not _is_independent(entry.type)]
    if failures:
        was_lost = _is_true(before, "Ready") and not _is_true(after, "Ready")
        reported = () if was_lost else failures_of(before)
        leads = sorted((_lead(entry, after, causes) for entry in failures), key=_specificity)
        fresh = [lead for lead in leads if not _is_reported(lead, _cause(lead, causes), reported, known.causes)]
        warning = tuple(_event(lead, "Warning") for lead in fresh[:1])
        return (*warning, *_successes_despite_failure(changed, had), *advice), (fresh or leads)[0].message
    failure = known.failure or _failure_of(before)
    if failure and _is_true(after, "Ready") and not _failure_of(after):
        if _is_true(after, "Reconciling"):  # what is being served or done still has to be replaced or completed
            return advice, failure
        ready = next(entry for entry in after if entry["type"] == "Ready")
        text = f"recovered from: {failure}; {ready['message']}"
        return (PendingEvent("Normal", RECOVERED, text, "Ready"), *advice), ""
    if is_owned or _is_true(after, "Reconciling"):  # no outcome yet, unless Ready is reached or lost
        was_ready, is_ready = _is_true(before, "Ready"), _is_true(after, "Ready")
        is_news = was_ready != is_ready and not (is_owned and is_ready)
        changed = [entry for entry in changed if entry.type == "Reconciling" or (entry.type == "Ready" and is_news)]
    return (*_success_events(changed, had, ready_or_reconciling), *advice), failure


def _causes_after(before: Conditions, after: Conditions, causes: Causes, known: Causes) -> Causes:
    """Those of the report, and of conditions that it does not explain and that are unchanged, those that are known."""
    unchanged = _facts(before) & _facts(after)
    kept = {type: known[type] for type, _, _ in unchanged if type in known}
    return {**kept, **causes}


def _new_blockers(before: Conditions, after: Conditions, causes: Causes, known: Causes) -> tuple[Transition, ...]:
    """Conditions whose status and reason stay the same, and whose cause is another one than the known one, or concerns more.

    Only for failures that remain, and for what is waited for or retried. A pass that changes no condition has none.
    """
    unchanged = _facts(before) if before != after else frozenset()
    ready_or_reconciling, waiting = _is_ready_or_reconciling(after), _is_waiting(after)
    return tuple(
        entry
        for entry in map(_as_transition, after)
        if (entry.type, entry.status, entry.reason) in unchanged
        and _is_blocker(entry, ready_or_reconciling, waiting)
        and entry.type in causes
        and entry.type in known
        and not known[entry.type].covers(causes[entry.type])
    )


def _is_blocker(entry: Transition, ready_or_reconciling: bool, waiting: bool) -> bool:
    if entry.type == "Reconciling":
        return entry.status == "True" and entry.reason.startswith(_BLOCKER_PREFIXES)
    return severity(entry, ready_or_reconciling=ready_or_reconciling, waiting=waiting) == "Warning"


def removed_conditions(before: Conditions, after: Conditions) -> tuple[Transition, ...]:
    """The conditions of `before` whose type is missing in `after`: logged, never an Event."""
    types = {condition["type"] for condition in after}
    return tuple(_as_transition(condition) for condition in before if condition["type"] not in types)


def _as_transition(condition: Mapping[str, Any]) -> Transition:
    return Transition(condition["type"], condition["status"], condition["reason"], condition["message"])


def _is_deprecation(kind: str) -> bool:
    return kind.endswith("Deprecated")


def _is_independent(kind: str) -> bool:
    return kind == "Valid" or _is_deprecation(kind)


def _is_failure(transition: Transition) -> bool:
    return transition.reason.endswith("Failed") or transition.reason in _FAILURES


def _is_true(conditions: Conditions, kind: str) -> bool:
    return any(entry["type"] == kind and entry["status"] == "True" for entry in conditions)


def _is_ready_or_reconciling(conditions: Conditions) -> bool:
    return _is_true(conditions, "Ready") or _is_true(conditions, "Reconciling")


def _is_waiting(conditions: Conditions) -> bool:
    entry = next((entry for entry in conditions if entry["type"] == "Reconciling"), None)
    return entry is not None and entry["status"] == "True" and entry["reason"].startswith(_WAITING_PREFIX)


def _specificity(transition: Transition) -> int:
    """The rank of a condition, lower for the more specific one: the condition that failed, then Stalled, then Ready, then
    conditions that follow from these."""
    if transition.type not in _SUMMARIES and _is_failure(transition):
        return 0
    return {"Stalled": 1, "Ready": 2}.get(transition.type, 3)


def failures_of(conditions: Conditions) -> tuple[Transition, ...]:
    """The conditions that show a failure of the object, without those that are independent of it (Valid, …Deprecated)."""
    ready_or_reconciling, waiting = _is_ready_or_reconciling(conditions), _is_waiting(conditions)
    warnings = [
        entry
        for entry in map(_as_transition, conditions)
        if severity(entry, ready_or_reconciling=ready_or_reconciling, waiting=waiting) == "Warning"
    ]
    return tuple(entry for entry in warnings if not _is_independent(entry.type))


def _failure_of(conditions: Conditions) -> str:
    """The message of the most specific failure; "" if there is none."""
    failures = failures_of(conditions)
    return min(failures, key=_specificity).message if failures else ""


def _facts(conditions: Conditions) -> frozenset[tuple[str, str, str]]:
    """Type, status and reason of each condition."""
    return frozenset((entry["type"], entry["status"], entry["reason"]) for entry in conditions)


def _cause(entry: Transition, causes: Causes) -> Cause:
    """The cause of a failure; one that the report gives none has its reason alone."""
    return causes.get(entry.type, Cause(entry.reason))


def _lead(entry: Transition, after: Conditions, causes: Causes) -> Transition:
    """The most specific condition that shows the cause of this one, so that an outcome has one reason however it was reached."""
    cause = _cause(entry, causes)
    same = [other for other in failures_of(after) if _cause(other, causes) == cause]
    return min(same, key=_specificity, default=entry)


def _is_reported(lead: Transition, cause: Cause, reported: Iterable[Transition], known: Causes) -> bool:
    """Report whether a condition of the last status shows the cause; if its own is not known, whether it is the lead."""
    return any(
        known[entry.type].covers(cause)
        if entry.type in known
        else (entry.type, entry.reason) == (lead.type, lead.reason)
        for entry in reported
    )


def _successes_despite_failure(changed: Sequence[Transition], had: set[str]) -> tuple[PendingEvent, ...]:
    """The Events of a pass with a failure: only for conditions that became True."""
    came_true = [entry for entry in changed if entry.status == "True" and entry.type not in _SUMMARIES]
    return _success_events(came_true, had, ready_or_reconciling=False)


def _success_events(
    changed: Sequence[Transition], had: set[str], ready_or_reconciling: bool
) -> tuple[PendingEvent, ...]:
    """An Event for the most important transition that is not a failure; none or one."""
    ranked = [
        (place, entry) for entry in changed if (place := _success_rank(entry, had, ready_or_reconciling)) is not None
    ]
    # The last one of equal rank: conditions are in the order of the work.
    best = min(reversed(ranked), key=lambda pair: pair[0], default=None)
    return () if best is None else (_event(best[1], "Normal"),)


def _success_rank(entry: Transition, had: set[str], ready_or_reconciling: bool) -> int | None:
    """The rank of the Event for a success: 0 is the most important; None: no Event."""
    if (
        entry.type in _REPORTED_ELSEWHERE
        or _is_independent(entry.type)
        or severity(entry, ready_or_reconciling=ready_or_reconciling) == "Warning"
    ):
        return None
    if entry.type == "Reconciling":
        return 1 if entry.reason.startswith(_WAITING_PREFIX) else None
    if entry.status == "True":
        return 0 if entry.type == "Ready" else 2
    return 3 if entry.type == "Ready" and entry.type in had else None


def _event(transition: Transition, kind: Severity) -> PendingEvent:
    return PendingEvent(kind, transition.reason, transition.message, transition.type)
