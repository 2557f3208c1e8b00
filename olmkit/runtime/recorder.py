"""Which Events and log lines the new conditions of an object are worth, and what such an Event is. Called by
olmkit.runtime.publish.

One Event per outcome: the conditions that flip together for one cause (the aspect that failed, Ready, Stalled) become one, the
most telling of them, and what comes right after a failure becomes one that names the failure. Pure.
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

EVENT = Kind("", "v1", "Event", "events", namespaced=True)
"""Events of core/v1: they alone may carry firstTimestamp, lastTimestamp and count, by which kubectl sorts and shows them."""
MAX_MESSAGE_BYTES = 1024
"""Bytes of an Event's message; some versions of the API server refuse more."""
CLUSTER_SCOPED_NAMESPACE = "default"
"""Where Events about cluster-scoped objects live; the API server accepts no other."""
RECOVERED = "Recovered"
"""Reason of the Event that names the failure an object has recovered from."""

_SUMMARIES = ("Ready", "Reconciling", "Stalled")
_FAILURES = ("Unhealthy", "ProblemsFound")
"""Reasons of failures that do not end with "Failed"."""
_REPORTED_ELSEWHERE = ("HasValidBundle", "Healthy")
"""Aspects that come right without an Event of their own: the Bundle has one for the first, Ready speaks for the second."""

_WAITING = "Waiting"
"""What the reason of Reconciling begins with while something else has to come first."""

_OBSTRUCTED = (_WAITING, "Retrying")
"""What it begins with while something is in the way."""

_COUNTED = re.compile(r"\d[\d,]*(\.\d+)?([KMGT]i?B|%)?|(\d+(\.\d+)?(h|m|s|ms))+")
"""Numbers, sizes and durations: they change while the subject of the message stays the same."""
_MADE_UP = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b|:\d+\b")
"""What the name of a pod ends with, and ports: others each time that the same is tried again."""
_PUNCTUATION = ".,;:()\"'…"

Conditions = Sequence[Mapping[str, Any]]
"""Conditions of a status, as the API server writes them."""


@dataclass(frozen=True)
class Choice:
    """The Events of one pass; `failure` is the one that holds after it (empty: none), to be passed to the next choice."""

    notices: tuple[PendingEvent, ...] = ()
    failure: str = ""


def severity(transition: Transition, *, calm: bool, waiting: bool = False) -> Severity:
    """Warning for a bad aspect that holds (Stalled, …Deprecated) and for a good one that is False, else Normal.

    `calm`: the object is Ready, or work on it is under way. What is False then is no reason to worry unless something failed.
    `waiting`: what it needs is still to come, such as a catalog that is being read. That nothing is resolved is no failure then.
    """
    if transition.type == "Stalled" or _is_deprecation(transition.type):
        return "Warning" if transition.status == "True" else "Normal"
    if transition.type == "Reconciling" or transition.status != "False":
        return "Normal"
    if waiting and transition.type == "Resolved":
        return "Normal"
    return "Normal" if calm and not _is_failure(transition) else "Warning"


def choose(before: Conditions, after: Conditions, transitions: Iterable[Transition], failure: str = "") -> Choice:
    """The Events of a pass whose transitions led from the conditions `before` to those `after`.

    At most one Warning and one Normal Event, and a Warning for each independent condition (Valid, …Deprecated). A failure
    that the conditions `before` showed is no Warning again under another reason, unless it costs Ready. `failure` is what the
    choice before this one returned; a process that has just started knows none and takes it from `before`.
    """
    known = {condition["type"] for condition in before}
    changed = tuple(transitions)
    calm, waiting = _is_calm(after), _is_waiting(after)
    warnings = [entry for entry in changed if severity(entry, calm=calm, waiting=waiting) == "Warning"]
    advice = tuple(_notice(entry, "Warning") for entry in warnings if _stands_alone(entry.type))
    failures = sorted((entry for entry in warnings if not _stands_alone(entry.type)), key=_telling)
    if failures:
        was_lost = _is_true(before, "Ready") and not _is_true(after, "Ready")
        reported = () if was_lost else _failures_of(before)
        fresh = [entry for entry in failures if not _is_reported(entry, reported)]
        cause = _cause(fresh[0] if fresh else failures[0], after)
        warning = (_notice(cause, "Warning"),) if fresh and not _is_reported(cause, reported) else ()
        return Choice((*warning, *_successes(changed, known), *advice), cause.message)
    failure = failure or _failure_of(before)
    if failure and _is_true(after, "Ready") and not _failure_of(after):
        if _is_true(after, "Reconciling"):  # what is being served or done still has to be replaced or completed
            return Choice(advice, failure)
        ready = next(entry for entry in after if entry["type"] == "Ready")
        text = f"recovered from: {failure}; {ready['message']}"
        return Choice((PendingEvent("Normal", RECOVERED, text, "Ready"), *advice))
    return Choice((*_news(changed, known, calm), *advice), failure)


def new_blockers(before: Conditions, after: Conditions) -> tuple[Transition, ...]:
    """Conditions that stay as they are and whose message names what it did not name before: logged, and given to `choose`.

    Only of what is in the way: a failure that holds, or what is waited for or tried again. What changes each time that the same
    is looked at (numbers, durations, names that are made up), and blockers that are no longer named, are nothing new.
    """
    known = {condition["type"]: _as_transition(condition) for condition in before}
    calm, waiting = _is_calm(after), _is_waiting(after)
    return tuple(
        entry
        for entry in map(_as_transition, after)
        if (old := known.get(entry.type)) is not None
        and (old.status, old.reason) == (entry.status, entry.reason)
        and _is_blocker(entry, calm, waiting)
        and not _words(entry.message) <= _words(old.message)
    )


def _is_blocker(entry: Transition, calm: bool, waiting: bool) -> bool:
    if entry.type == "Reconciling":
        return entry.status == "True" and entry.reason.startswith(_OBSTRUCTED)
    return severity(entry, calm=calm, waiting=waiting) == "Warning"


def removed(before: Conditions, after: Conditions) -> tuple[Transition, ...]:
    """The conditions of `before` whose type is not among those `after`, as they were: logged, and never an Event."""
    types = {condition["type"] for condition in after}
    return tuple(_as_transition(condition) for condition in before if condition["type"] not in types)


def _as_transition(condition: Mapping[str, Any]) -> Transition:
    return Transition(condition["type"], condition["status"], condition["reason"], condition["message"])


def _is_deprecation(kind: str) -> bool:
    return kind.endswith("Deprecated")


def _stands_alone(kind: str) -> bool:
    return kind == "Valid" or _is_deprecation(kind)


def _is_failure(transition: Transition) -> bool:
    return transition.reason.endswith("Failed") or transition.reason in _FAILURES


def _is_true(conditions: Conditions, kind: str) -> bool:
    return any(entry["type"] == kind and entry["status"] == "True" for entry in conditions)


def _is_calm(conditions: Conditions) -> bool:
    return _is_true(conditions, "Ready") or _is_true(conditions, "Reconciling")


def _is_waiting(conditions: Conditions) -> bool:
    entry = next((entry for entry in conditions if entry["type"] == "Reconciling"), None)
    return entry is not None and entry["status"] == "True" and entry["reason"].startswith(_WAITING)


def _telling(transition: Transition) -> int:
    """Rank: the aspect that failed is more specific than Stalled, that than Ready, and that than what follows from it."""
    if transition.type not in _SUMMARIES and _is_failure(transition):
        return 0
    return {"Stalled": 1, "Ready": 2}.get(transition.type, 3)


def _failures_of(conditions: Conditions) -> tuple[Transition, ...]:
    """The conditions that show a failure."""
    calm, waiting = _is_calm(conditions), _is_waiting(conditions)
    warnings = [
        entry for entry in map(_as_transition, conditions) if severity(entry, calm=calm, waiting=waiting) == "Warning"
    ]
    return tuple(entry for entry in warnings if not _stands_alone(entry.type))


def _failure_of(conditions: Conditions) -> str:
    """The message of the most telling one; empty when they show none."""
    failures = _failures_of(conditions)
    return min(failures, key=_telling).message if failures else ""


def _cause(failure: Transition, conditions: Conditions) -> Transition:
    """The most specific one with the same content: an outcome has one reason, whichever way led to it."""
    same = [
        entry for entry in _failures_of(conditions) if _says_no_more(failure, entry) or _says_no_more(entry, failure)
    ]
    return min(same, key=_telling, default=failure)


def _is_reported(entry: Transition, reported: Iterable[Transition]) -> bool:
    return any(_says_no_more(entry, other) for other in reported)


def _says_no_more(entry: Transition, other: Transition) -> bool:
    """Its message names nothing that the other's does not name, or is that of the other after what was attempted."""
    attempt, _, _ = entry.message.rpartition(f": {other.message}")
    is_the_attempt_added = entry.message == f"{attempt}: {other.message}" and not {";", "\n"} & set(attempt)
    return is_the_attempt_added or _words(entry.message) <= _words(other.message)


def _words(message: str) -> frozenset[str]:
    """What a message is about: its words but for what changes each time."""
    words = (word.strip(_PUNCTUATION) for word in _MADE_UP.sub("", message).split())
    return frozenset(word for word in words if word and not _COUNTED.fullmatch(word))


def _successes(changed: Sequence[Transition], known: set[str]) -> tuple[PendingEvent, ...]:
    """Beside a failure only an aspect that came true is news."""
    came_true = [entry for entry in changed if entry.status == "True" and entry.type not in _SUMMARIES]
    return _news(came_true, known, calm=False)


def _news(changed: Sequence[Transition], known: set[str], calm: bool) -> tuple[PendingEvent, ...]:
    """The most telling of what is no failure; none or one."""
    ranked = [(place, entry) for entry in changed if (place := _place(entry, known, calm)) is not None]
    # Of equals the last: the aspects come in the order of the work.
    best = min(reversed(ranked), key=lambda pair: pair[0], default=None)
    return () if best is None else (_notice(best[1], "Normal"),)


def _place(entry: Transition, known: set[str], calm: bool) -> int | None:
    """0 for what is most telling; None for what is no news."""
    if entry.type in _REPORTED_ELSEWHERE or _stands_alone(entry.type) or severity(entry, calm=calm) == "Warning":
        return None
    if entry.type == "Reconciling":
        return 1 if entry.reason.startswith(_WAITING) else None
    if entry.status == "True":
        return 0 if entry.type == "Ready" else 2
    return 3 if entry.type == "Ready" and entry.type in known else None


def _notice(transition: Transition, kind: Severity) -> PendingEvent:
    return PendingEvent(kind, transition.reason, transition.message, transition.type)


@dataclass(frozen=True)
class Reporter:
    """Who reports: the controller, and which process of it."""

    controller: str
    instance: str


def make_event(about: Object, notice: PendingEvent, reporter: Reporter, now: datetime) -> Object:
    """A core/v1 Event about `about`, seen once. Its name is that of the object plus a hash of what happened, so that the same
    thing that happens again is the same Event, seen once more.
    """
    metadata = about["metadata"]
    facts = (metadata.get("uid", ""), notice.type, notice.action, notice.reason, notice.message)
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
        "type": notice.type,
        "reason": notice.reason,
        "message": truncate(notice.message, MAX_MESSAGE_BYTES),
        "action": notice.action,
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": reporter.controller},
        "reportingComponent": reporter.controller,
        "reportingInstance": truncate(reporter.instance, 128),
    }


def seen_again(known: Object, event: Object) -> Object | None:
    """The change of an Event that is there already, counted once more. None: it was written for this version of the object."""
    version = event["involvedObject"].get("resourceVersion")
    if known["involvedObject"].get("resourceVersion") == version:
        return None
    return {
        "metadata": {"resourceVersion": known["metadata"]["resourceVersion"]},
        "count": (known.get("count") or 1) + 1,
        "lastTimestamp": event["lastTimestamp"],
        "involvedObject": {"resourceVersion": version},
    }
