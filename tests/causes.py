"""Asserts that a report explains what is wrong, and finds the Events of several reports. docs/decisions/0023."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from olmkit.api.conditions import StatusReport
from olmkit.api.meta import ConditionedStatus
from olmkit.runtime.event_choice import NOTHING, Conditions, Reported, choose_events, failures_of


def assert_causes(before: ConditionedStatus, report: StatusReport[Any]) -> None:
    """Each failure, and each thing that is waited for or retried, has a cause, unless the condition is unchanged."""
    had = set(_facts(before.dump().get("conditions", ())))
    conditions = report.status.dump().get("conditions", ())
    unexplained = [facts for facts in _blockers(conditions) if facts not in had and facts[0] not in report.causes]
    assert unexplained == []


def _facts(conditions: Conditions) -> Iterator[tuple[str, str, str]]:
    return ((each["type"], each["status"], each["reason"]) for each in conditions)


def _blockers(conditions: Conditions) -> Iterator[tuple[str, str, str]]:
    failed = {entry.type for entry in failures_of(conditions)}
    for kind, status, reason in _facts(conditions):
        is_awaited = kind == "Reconciling" and reason.startswith(("Waiting", "Retrying"))
        is_advice = (kind, status) == ("Valid", "False") or kind.endswith("Deprecated")
        if kind in failed or is_awaited or is_advice:
            yield kind, status, reason


@dataclass
class PublishedReports:
    """The reports of the passes over one object, as they are published: each over the status of the one before."""

    status: Any
    known: Reported = NOTHING

    def events(self, report: StatusReport[Any]) -> list[tuple[str, str]]:
        """Type and reason of the Events of the next pass."""
        assert_causes(self.status, report)
        before, after = (each.dump().get("conditions", []) for each in (self.status, report.status))
        choice = choose_events(before, after, report.transitions, report.causes, self.known)
        self.status, self.known = report.status, choice.reported
        return [(each.type, each.reason) for each in (*report.events, *choice.events)]
