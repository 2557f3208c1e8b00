"""Chooses the Events and log lines for the new conditions of an object, and makes the Event objects.

One Event per outcome: the conditions that flip together for one cause (the aspect that failed, Ready, Stalled) become one Event,
for the most specific of them, and a recovery from a failure becomes one that names the failure. Pure. docs/decisions/0023.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from olmkit.api.conditions import PendingEvent, Severity, Transition, format_timestamp, truncate
from olmkit.api.meta import Kind, Object
from olmkit.gocompat.text import one_line

EVENT = Kind("", "v1", "Event", "events", namespaced=True)
"""Events of core/v1, because only these may have firstTimestamp, lastTimestamp and count, by which kubectl sorts and shows
them."""
MAX_EVENT_MESSAGE_BYTES = 1024
"""Bytes of an Event's message; some versions of the API server refuse more."""
CLUSTER_SCOPED_NAMESPACE = "default"
"""The namespace of Events about cluster-scoped objects; the API server accepts no other."""
RECOVERED = "Recovered"
"""Reason of the Event that names the failure an object has recovered from."""

_SUMMARIES = ("Ready", "Reconciling", "Stalled")
_FAILURES = ("Unhealthy", "ProblemsFound")
"""Reasons of failures that do not end with "Failed"."""
_DEPRECATION_SUMMARY = "Deprecated"
"""The condition that is True with any other …Deprecated, which has the Event."""
_HELD = ("ApprovalRequired", "Paused")
"""Reasons of Ready while a person has to decide: neither a failure nor work in progress."""
_REPORTED_ELSEWHERE = ("HasValidBundle", "Healthy")
"""Conditions that become True without an Event: the Bundle has one for the first, and Ready has one for the second."""

_WAITING_PREFIX = "Waiting"
"""Prefix of the reason of Reconciling while something else has to happen first."""

_BLOCKER_PREFIXES = (_WAITING_PREFIX, "Retrying")
"""Prefixes of that reason while something blocks the object."""

_QUANTITY = re.compile(r"\d[\d,]*(\.\d+)?([KMGT]i?B|%)?|(\d+(\.\d+)?(h|m|s|ms))+")
"""Numbers, sizes and durations: they change while the message is about the same thing."""
_GENERATED_PART = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b|:\d+\b")
"""The generated suffix of a pod name, and port numbers: they differ on each attempt."""
_PUNCTUATION = ".,;:()\"'…"

Conditions = Sequence[Mapping[str, Any]]
"""Conditions of a status, as the API server writes them."""


@dataclass(frozen=True)
class EventChoice:
    """The Events of one pass. `failure` is the message of the failure that remains ("" if none), for the next choose_events()."""

    events: tuple[PendingEvent, ...] = ()
    failure: str = ""


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
    failure: str = "",
    *,
    is_owned: bool = False,
) -> EventChoice:
    """The Events of a pass whose transitions led from the conditions `before` to those `after`.

    At most one Warning and one Normal Event, and a Warning for each independent condition (Valid, …Deprecated). A failure
    that the conditions `before` show already is not reported again under another reason, unless Ready is lost. `failure` is
    what the previous choice returned; a process that has just started has none and takes it from `before`. The success of an
    object that `is_owned` by another one has none: it is a step of that one, which reports its own.
    """
    known = {condition["type"] for condition in before}
    changed = tuple(transitions)
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
    failures = sorted((entry for entry in warnings if not _is_independent(entry.type)), key=_specificity)
    if failures:
        was_lost = _is_true(before, "Ready") and not _is_true(after, "Ready")
        reported = () if was_lost else failures_of(before)
        fresh = [entry for entry in failures if not _is_reported(entry, reported)]
        cause = _cause(fresh[0] if fresh else failures[0], after)
        warning = (_event(cause, "Warning"),) if fresh and not _is_reported(cause, reported) else ()
        return EventChoice((*warning, *_successes_despite_failure(changed, known), *advice), cause.message)
    failure = failure or _failure_of(before)
    if failure and _is_true(after, "Ready") and not _failure_of(after):
        if _is_true(after, "Reconciling"):  # what is being served or done still has to be replaced or completed
            return EventChoice(advice, failure)
        ready = next(entry for entry in after if entry["type"] == "Ready")
        text = f"recovered from: {failure}; {ready['message']}"
        return EventChoice((PendingEvent("Normal", RECOVERED, text, "Ready"), *advice))
    if is_owned or _is_true(after, "Reconciling"):  # no outcome yet, unless Ready is reached or lost
        was_ready, is_ready = _is_true(before, "Ready"), _is_true(after, "Ready")
        is_news = was_ready != is_ready and not (is_owned and is_ready)
        changed = tuple(
            entry for entry in changed if entry.type == "Reconciling" or (entry.type == "Ready" and is_news)
        )
    return EventChoice((*_success_events(changed, known, ready_or_reconciling), *advice), failure)


def new_blockers(before: Conditions, after: Conditions) -> tuple[Transition, ...]:
    """Conditions whose status and reason stay the same and whose message names a new blocker: logged, and given to
    `choose_events`.

    Only for failures that remain, and for what is waited for or retried. Values that differ on each attempt (numbers, durations,
    generated names) and blockers that are gone from the message do not count.
    """
    known = {condition["type"]: _as_transition(condition) for condition in before}
    ready_or_reconciling, waiting = _is_ready_or_reconciling(after), _is_waiting(after)
    return tuple(
        entry
        for entry in map(_as_transition, after)
        if (old := known.get(entry.type)) is not None
        and (old.status, old.reason) == (entry.status, entry.reason)
        and _is_blocker(entry, ready_or_reconciling, waiting)
        and not _significant_words(entry.message) <= _significant_words(old.message)
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


def _cause(failure: Transition, conditions: Conditions) -> Transition:
    """The most specific condition with the same content, so that an outcome has one reason however it was reached."""
    same = [
        entry for entry in failures_of(conditions) if _is_covered_by(failure, entry) or _is_covered_by(entry, failure)
    ]
    return min(same, key=_specificity, default=failure)


def _is_reported(entry: Transition, reported: Iterable[Transition]) -> bool:
    return any(_is_covered_by(entry, other) for other in reported)


def _is_covered_by(entry: Transition, other: Transition) -> bool:
    """Report whether its message names nothing in addition to the other's, or is the other's with the attempted action before
    it."""
    attempt, _, _ = entry.message.rpartition(f": {other.message}")
    adds_attempt_only = entry.message == f"{attempt}: {other.message}" and not {";", "\n"} & set(attempt)
    return adds_attempt_only or _significant_words(entry.message) <= _significant_words(other.message)


def _significant_words(message: str) -> frozenset[str]:
    """The words of a message without those that differ on each attempt."""
    words = (word.strip(_PUNCTUATION) for word in _GENERATED_PART.sub("", message).split())
    return frozenset(word for word in words if word and not _QUANTITY.fullmatch(word))


def _successes_despite_failure(changed: Sequence[Transition], known: set[str]) -> tuple[PendingEvent, ...]:
    """The Events of a pass with a failure: only for conditions that became True."""
    came_true = [entry for entry in changed if entry.status == "True" and entry.type not in _SUMMARIES]
    return _success_events(came_true, known, ready_or_reconciling=False)


def _success_events(
    changed: Sequence[Transition], known: set[str], ready_or_reconciling: bool
) -> tuple[PendingEvent, ...]:
    """An Event for the most important transition that is not a failure; none or one."""
    ranked = [
        (place, entry) for entry in changed if (place := _success_rank(entry, known, ready_or_reconciling)) is not None
    ]
    # The last one of equal rank: conditions are in the order of the work.
    best = min(reversed(ranked), key=lambda pair: pair[0], default=None)
    return () if best is None else (_event(best[1], "Normal"),)


def _success_rank(entry: Transition, known: set[str], ready_or_reconciling: bool) -> int | None:
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
    return 3 if entry.type == "Ready" and entry.type in known else None


def _event(transition: Transition, kind: Severity) -> PendingEvent:
    return PendingEvent(kind, transition.reason, transition.message, transition.type)


@dataclass(frozen=True)
class Reporter:
    """The reporting controller, and the instance (process) of it."""

    controller: str
    instance: str


def make_event(about: Object, event: PendingEvent, reporter: Reporter, now: datetime) -> Object:
    """A core/v1 Event about `about` with count 1. Its name is that of the object and a hash of the content, so that a repetition
    has the same name and is counted.
    """
    metadata = about["metadata"]
    facts = (metadata.get("uid", ""), event.type, event.action, event.reason, event.message)
    suffix = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    involved = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "name": metadata["name"],
        "namespace": metadata.get("namespace"),
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    moment = format_timestamp(now)
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {
            "name": f"{metadata['name'][:236]}.{suffix}",
            "namespace": metadata.get("namespace") or CLUSTER_SCOPED_NAMESPACE,
        },
        "involvedObject": {key: value for key, value in involved.items() if value},
        "type": event.type,
        "reason": event.reason,
        "message": truncate(one_line(event.message), MAX_EVENT_MESSAGE_BYTES),
        "action": event.action,
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": reporter.controller},
        "reportingComponent": reporter.controller,
        "reportingInstance": truncate(reporter.instance, 128),
    }


def count_patch(known: Object, event: Object) -> Object | None:
    """The patch that increments the count of an existing Event; None if it was counted for this version of the object."""
    version = event["involvedObject"].get("resourceVersion")
    if known["involvedObject"].get("resourceVersion") == version:
        return None
    return {
        "metadata": {"resourceVersion": known["metadata"]["resourceVersion"]},
        "count": (known.get("count") or 1) + 1,
        "lastTimestamp": event["lastTimestamp"],
        "involvedObject": {"resourceVersion": version},
    }
