"""The Events that a pass causes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from olmkit.api.conditions import Cause, ConditionValue, Transition
from olmkit.runtime.event_choice import (
    NOTHING,
    EventChoice,
    Reported,
    choose_events,
    severity,
)


@pytest.mark.parametrize(
    ("type", "status", "reason", "ready_or_reconciling", "expected"),
    [
        pytest.param("Ready", "True", "Succeeded", True, "Normal", id="ready"),
        pytest.param("Ready", "False", "Unhealthy", False, "Warning", id="not ready, and no work in progress"),
        pytest.param("Ready", "False", "Unpacking", True, "Normal", id="not ready yet"),
        pytest.param("Ready", "False", "Progressing", True, "Normal", id="an ordinary rollout"),
        pytest.param("Ready", "False", "Unhealthy", True, "Warning", id="unhealthy while it is retried"),
        pytest.param("Unpacked", "False", "UnpackFailed", True, "Warning", id="failed, and retried"),
        pytest.param("Ready", "Unknown", "Unknown", False, "Normal", id="not known"),
        pytest.param("Stalled", "True", "Blocked", False, "Warning", id="stalled"),
        pytest.param("Reconciling", "True", "Retrying", True, "Normal", id="at work"),
        pytest.param("PackageDeprecated", "True", "Deprecated", True, "Warning", id="deprecated"),
        pytest.param("PackageDeprecated", "False", "NotDeprecated", False, "Normal", id="not deprecated"),
        pytest.param("Ready", "False", "ApprovalRequired", False, "Normal", id="waiting for approval"),
        pytest.param("Ready", "False", "Paused", False, "Normal", id="paused"),
        pytest.param("Valid", "False", "ProblemsFound", True, "Warning", id="blobs that cannot be read"),
        pytest.param("Unpacked", "False", "UserSpecifiedUnavailable", True, "Normal", id="made unavailable by spec"),
    ],
)
def test_severity(type: str, status: ConditionValue, reason: str, ready_or_reconciling: bool, expected: str) -> None:
    assert severity(Transition(type, status, reason, "m"), ready_or_reconciling=ready_or_reconciling) == expected


@dataclass(frozen=True)
class Seen:
    """The conditions of a status, and the causes that its report has given them."""

    conditions: list[dict[str, Any]]
    causes: dict[str, Cause]

    def __add__(self, other: Seen) -> Seen:
        return Seen([*self.conditions, *other.conditions], {**self.causes, **other.causes})


def seen(*rows: str) -> Seen:
    """Each row is `Type Status Reason message`, and for a condition with a cause ` <- Reason name,name`."""
    found = Seen([], {})
    for row in rows:
        facts, _, cause = row.partition(" <- ")
        found.conditions.append(dict(zip(("type", "status", "reason", "message"), facts.split(" ", 3), strict=True)))
        if cause:
            reason, _, names = cause.partition(" ")
            found.causes[facts.split(" ")[0]] = Cause(reason, frozenset(names.split(",")) - {""})
    return found


def pass_from(before: Seen, after: Seen, known: Reported | None = None, *, is_owned: bool = False) -> EventChoice:
    """choose_events for the transitions from one to the other; by default the causes of the one before are `known`."""
    had = {each["type"]: (each["status"], each["reason"]) for each in before.conditions}
    changed = [
        Transition(**each) for each in after.conditions if had.get(each["type"]) != (each["status"], each["reason"])
    ]
    known = Reported(causes=before.causes) if known is None else known
    return choose_events(before.conditions, after.conditions, changed, after.causes, known, is_owned=is_owned)


def texts(choice: EventChoice) -> list[str]:
    return [f"{event.type} {event.reason}: {event.message}" for event in choice.events]


NEW = seen()
PENDING = seen(
    "HasValidBundle False UnpackPending w",
    "Installed Unknown InstallPending w",
    "Healthy False InstallationStatusFalse i",
    "Ready False Installing w",
    "Reconciling True UnpackPending w",
)
INSTALLING = seen(
    "HasValidBundle True UnpackSuccessful u",
    "Installed False Installing p",
    "Healthy False InstallationStatusFalse i",
    "Ready False Installing p",
    "Reconciling True Installing p",
)
ROLLING_OUT = seen(
    "HasValidBundle True UnpackSuccessful u",
    "Installed True InstallationSucceeded done",
    "Healthy Unknown Progressing 0 of 1",
    "Ready False Progressing 0 of 1",
    "Reconciling True Progressing 0 of 1",
)
READY = seen(
    "HasValidBundle True UnpackSuccessful u",
    "Installed True InstallationSucceeded done",
    "Healthy True Healthy well",
    "Ready True Succeeded done",
)
UNHEALTHY = seen(
    "HasValidBundle True UnpackSuccessful u",
    "Installed True InstallationSucceeded done",
    "Healthy False Unhealthy d: no progress <- Unhealthy d",
    "Ready False Unhealthy d: no progress <- Unhealthy d",
    "Stalled True Unhealthy d: no progress <- Unhealthy d",
)


def refused(text: str, subject: str, *work: str) -> Seen:
    """An installation that fails because of `subject`; `work`: Stalled or Reconciling, with status and reason."""
    return seen(
        "HasValidBundle True UnpackSuccessful u",
        f"Installed False InstallFailed {text} <- Blocked {subject}",
        f"Healthy False InstallationStatusFalse i <- Blocked {subject}",
        f"Ready False Installing {text} <- Blocked {subject}",
        f"{' '.join(work or ('Stalled', 'True', 'Blocked'))} {text} <- Blocked {subject}",
    )


REFUSED = refused("Secret s is another's", "Secret s")
RETRIED = refused("Secret s is another's", "Secret s", "Reconciling", "True", "Retrying")
UPGRADE_REFUSED = seen(
    "Installed True InstallationSucceeded done",
    "Healthy True Healthy well",
    "Ready False Upgrading cannot upgrade <- Blocked Secret s",
    "Stalled True Blocked cannot upgrade <- Blocked Secret s",
)
UNHEALTHY_AND_REFUSED = seen(
    "HasValidBundle True UnpackSuccessful u",
    "Installed True InstallationSucceeded done",
    "Healthy False Unhealthy d: no progress <- Unhealthy d",
    "Ready False Blocked cannot upgrade <- Blocked Secret s",
    "Stalled True Blocked cannot upgrade <- Blocked Secret s",
)
SERVED = seen("Unpacked True UnpackSuccessful u", "Serving True Available s", "Ready True Succeeded r")
OLD_CONTENT = seen(
    "Unpacked False UnpackFailed no such tag <- NotFound",
    "Serving True Available s",
    "Ready True ServingOldContent old",
    "Reconciling True Retrying no such tag <- NotFound",
)
READING = seen(
    "Unpacked False Unpacking reading",
    "Serving False Unavailable nothing",
    "Ready False Unpacking reading",
    "Reconciling True Unpacking reading",
)
NOT_FOUND_YET = seen(
    "Resolved False ResolutionFailed not found <- ResolutionFailed p",
    "Installed Unknown InstallationStatusUnknown n",
    "Ready False NotResolved not found: being read <- ResolutionFailed p",
    "Reconciling True WaitingForCatalog not found: being read <- ResolutionFailed p",
)
NOT_FOUND = seen(
    "Resolved False ResolutionFailed not found <- ResolutionFailed p",
    "Installed Unknown InstallationStatusUnknown n",
    "Ready False NotResolved not found: no such package <- ResolutionFailed p",
    "Stalled True Blocked not found: no such package <- ResolutionFailed p",
)
FOUND = seen("Resolved True Success resolved", "Installed True Success installed", "Ready True Succeeded well")
PROBLEMS = seen("Valid False ProblemsFound 3 blobs <- ProblemsFound a,b,c")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(NEW, PENDING, [], id="the first conditions are not an Event"),
        pytest.param(PENDING, INSTALLING, [], id="the Event is that of the Bundle"),
        pytest.param(INSTALLING, ROLLING_OUT, [], id="installed, and rolling out: the outcome is yet to come"),
        pytest.param(ROLLING_OUT, READY, ["Normal Succeeded: done"], id="an ordinary rollout ends"),
        pytest.param(READY, ROLLING_OUT, ["Normal Progressing: 0 of 1"], id="an ordinary rollout begins"),
        pytest.param(READY, READY, [], id="nothing changed"),
        pytest.param(ROLLING_OUT, UNHEALTHY, ["Warning Unhealthy: d: no progress"], id="a failed rollout is one Event"),
        pytest.param(
            INSTALLING, REFUSED, ["Warning InstallFailed: Secret s is another's"], id="four conditions, one cause"
        ),
        pytest.param(
            seen(
                "Installed True InstallationSucceeded done",
                "Healthy True Healthy well",
                "Ready False Upgrading upgrading",
                "Reconciling True Upgrading upgrading",
            ),
            UPGRADE_REFUSED,
            ["Warning Blocked: cannot upgrade"],
            id="an upgrade that is refused",
        ),
        pytest.param(
            UNHEALTHY,
            UNHEALTHY_AND_REFUSED,
            ["Warning Blocked: cannot upgrade"],
            id="a second cause beside the first one is an Event of its own",
        ),
        pytest.param(
            UNHEALTHY_AND_REFUSED, UNHEALTHY, [], id="the first of two causes is not reported again when it is left"
        ),
        pytest.param(
            UPGRADE_REFUSED,
            READY,
            ["Normal Recovered: recovered from: cannot upgrade; done"],
            id="a recovery names the failure",
        ),
        pytest.param(
            UNHEALTHY,
            READY,
            ["Normal Recovered: recovered from: d: no progress; done"],
            id="a recovery without progress in between",
        ),
        pytest.param(NEW, READING, [], id="the first conditions"),
        pytest.param(READING, SERVED, ["Normal Succeeded: r"], id="served for the first time"),
        pytest.param(
            READING,
            SERVED + PROBLEMS,
            ["Normal Succeeded: r", "Warning ProblemsFound: 3 blobs"],
            id="problems of the content are an Event of their own",
        ),
        pytest.param(SERVED, OLD_CONTENT, ["Warning UnpackFailed: no such tag"], id="new content cannot be read"),
        pytest.param(
            OLD_CONTENT,
            SERVED,
            ["Normal Recovered: recovered from: no such tag; r"],
            id="new content can be read again",
        ),
        pytest.param(
            seen("Installed Unknown InstallPending w", "Reconciling True UnpackPending w", "Ready False X w"),
            seen("Installed Unknown InstallPending k", "Reconciling True WaitingForKind k", "Ready False X k"),
            ["Normal WaitingForKind: k"],
            id="waiting for something else",
        ),
        pytest.param(
            NEW,
            NOT_FOUND_YET,
            ["Normal WaitingForCatalog: not found: being read"],
            id="not found while a catalog is being read is not a failure",
        ),
        pytest.param(
            NOT_FOUND_YET,
            FOUND,
            ["Normal Succeeded: well"],
            id="found after the catalog was read is not a recovery",
        ),
        pytest.param(
            NOT_FOUND_YET,
            NOT_FOUND,
            ["Warning ResolutionFailed: not found"],
            id="not found after the catalog was read is the same failure as in catalogs that were read before",
        ),
        pytest.param(
            NEW, NOT_FOUND, ["Warning ResolutionFailed: not found"], id="not found in catalogs that were read"
        ),
        pytest.param(
            NOT_FOUND,
            NOT_FOUND_YET,
            ["Normal WaitingForCatalog: not found: being read"],
            id="another catalog is being read",
        ),
        pytest.param(
            seen("Installed Unknown Pending w", "Ready False Installing w", "Reconciling True X w"),
            seen(
                "Installed True Done i",
                "Healthy False Unhealthy h",
                "Ready False Unhealthy h",
                "Stalled True Unhealthy h",
            ),
            ["Warning Unhealthy: h", "Normal Done: i"],
            id="a condition that became True is an Event in addition to a failure",
        ),
        pytest.param(
            READY,
            seen("Ready False Removing r", "Reconciling True Removing r"),
            ["Normal Removing: r"],
            id="being deleted",
        ),
        pytest.param(RETRIED, REFUSED, [], id="a failure that is no longer retried is the same failure"),
        pytest.param(REFUSED, RETRIED, [], id="a failure that is retried is the same failure"),
        pytest.param(
            seen("Unpacked False UnpackFailed no such tag <- NotFound", "Ready True ServingOldContent old"),
            seen(
                "Unpacked False UnpackFailed no such tag <- NotFound",
                "Ready False NotServed no such tag <- NotFound",
                "Stalled True B no such tag <- NotFound",
            ),
            ["Warning UnpackFailed: no such tag"],
            id="a failure by which Ready is lost is reported again",
        ),
        pytest.param(
            seen(
                "HasValidBundle False UnpackFailed no such tag <- UnpackFailed b",
                "Ready False Upgrading m <- UnpackFailed b",
                "Reconciling True UnpackFailed m <- UnpackFailed b",
            ),
            seen(
                "HasValidBundle False UnpackFailed no such tag <- UnpackFailed b",
                "Ready False Upgrading cannot upgrade: no such tag <- UnpackFailed b",
                "Stalled True Blocked cannot upgrade: no such tag <- UnpackFailed b",
            ),
            [],
            id="a cause that a condition shows already has no Event when another condition shows it too",
        ),
        pytest.param(
            refused("x is away", "x", "Reconciling", "True", "R"),
            REFUSED,
            ["Warning InstallFailed: Secret s is another's"],
            id="a failure has the same reason however it was reached",
        ),
        pytest.param(
            REFUSED,
            refused("Role r is another's", "Role r"),
            ["Warning InstallFailed: Role r is another's"],
            id="another cause with the same reasons is one Warning, not four",
        ),
        pytest.param(
            seen("Ready False Installing k", "Reconciling True WaitingForKind needs A <- WaitingForKind A"),
            seen("Ready False Installing k", "Reconciling True WaitingForKind needs B <- WaitingForKind B"),
            ["Normal WaitingForKind: needs B"],
            id="waiting for another thing",
        ),
        pytest.param(
            seen("Ready False Installing k", "Reconciling True Retrying a <- Unavailable a"),
            seen("Ready False Installing k", "Reconciling True Retrying b <- Unavailable b"),
            [],
            id="a retry is only a log line, as the first time",
        ),
        pytest.param(
            NOT_FOUND,
            seen(
                "Resolved False ResolutionFailed not found <- ResolutionFailed p",
                "Installed Unknown InstallationStatusUnknown n",
                "Ready False NotResolved not found: x <- ResolutionFailed p",
                "Stalled True Blocked not found: x <- ResolutionFailed p",
            ),
            [],
            id="the same cause with another explanation",
        ),
        pytest.param(
            SERVED + PROBLEMS,
            SERVED + seen("Valid False ProblemsFound 3 blobs: d <- ProblemsFound b,c,d"),
            ["Warning ProblemsFound: 3 blobs: d"],
            id="another problem of the content",
        ),
        pytest.param(
            seen("Ready True Succeeded s"),
            seen("Ready True Succeeded s", "Deprecated True Deprecated d", "BundleDeprecated True Deprecated d"),
            ["Warning Deprecated: d"],
            id="a deprecation has one Event although two conditions report it",
        ),
    ],
)
def test_one_event_per_outcome(before: Seen, after: Seen, expected: list[str]) -> None:
    assert texts(pass_from(before, after)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(ROLLING_OUT, READY, [], id="its success is a step of its owner's"),
        pytest.param(PENDING, INSTALLING, [], id="and so is its progress"),
        pytest.param(READY, ROLLING_OUT, ["Normal Progressing: 0 of 1"], id="that it is not Ready any more is its own"),
        pytest.param(INSTALLING, REFUSED, ["Warning InstallFailed: Secret s is another's"], id="and so is a failure"),
        pytest.param(
            UNHEALTHY, READY, ["Normal Recovered: recovered from: d: no progress; done"], id="and the end of a failure"
        ),
    ],
)
def test_the_events_of_an_object_with_an_owner(before: Seen, after: Seen, expected: list[str]) -> None:
    assert texts(pass_from(before, after, is_owned=True)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            "Stalled True Blocked Secret s is another's <- Blocked Secret s",
            "Stalled True Blocked Role r is another's <- Blocked Role r",
            True,
            id="another blocker",
        ),
        pytest.param(
            "Stalled True Blocked Secret s is another's <- Blocked Secret s",
            "Stalled True Blocked Role r is another's; Secret s is another's <- Blocked Role r,Secret s",
            True,
            id="an additional blocker",
        ),
        pytest.param(
            "Stalled True Blocked Role r is another's; Secret s is another's <- Blocked Role r,Secret s",
            "Stalled True Blocked Secret s is another's <- Blocked Secret s",
            False,
            id="one of two blockers remains",
        ),
        pytest.param(
            "Stalled True Blocked Secret s is another's <- Blocked Secret s",
            "Stalled True Blocked spec is not valid <- Blocked",
            True,
            id="a blocker without a name is not the one that has a name",
        ),
        pytest.param(
            "Installed False InstallFailed connection refused <- Unavailable h",
            "Installed False InstallFailed not authorized <- Unauthorized h",
            True,
            id="another error of the same thing",
        ),
        pytest.param(
            "Healthy False Unhealthy Deployment d: 1 of 3 replicas are available <- Unhealthy Deployment d",
            "Healthy False Unhealthy Deployment d: 2 of 3 replicas after 2m40s, in words that changed <- Unhealthy Deployment d",
            False,
            id="a message that changes while its cause stays",
        ),
        pytest.param(
            "Reconciling True WaitingForKind needs A <- WaitingForKind A",
            "Reconciling True WaitingForKind needs B <- WaitingForKind B",
            True,
            id="waiting for another thing",
        ),
        pytest.param(
            "Reconciling True Retrying waiting until it is gone: Namespace a <- Retrying Namespace a",
            "Reconciling True Retrying x is away <- Unavailable",
            True,
            id="another thing is retried",
        ),
        pytest.param(
            "Reconciling True Progressing Deployment a is not available <- Progressing a",
            "Reconciling True Progressing Deployment b is not available <- Progressing b",
            False,
            id="progress is not a blocker",
        ),
        pytest.param(
            "Ready True Succeeded installed",
            "Ready True Succeeded installed; Namespace n keeps a label <- Kept n",
            False,
            id="a healthy object has no blocker",
        ),
        pytest.param(
            "Valid False ProblemsFound 3 problems: a <- ProblemsFound a",
            "Valid False ProblemsFound 4 problems: b <- ProblemsFound b",
            True,
            id="other problems of the content",
        ),
        pytest.param(
            "Stalled True Unhealthy Secret s is another's <- Unhealthy s",
            "Stalled True Blocked Role r is another's <- Blocked r",
            False,
            id="a new reason is a transition",
        ),
        pytest.param(
            "Ready False X m", "Stalled True Blocked Secret s <- Blocked s", False, id="a new condition is a transition"
        ),
        pytest.param(
            "Stalled True Blocked Role r",
            "Stalled True Blocked Secret s <- Blocked Secret s",
            False,
            id="after a restart the cause of the last status is not known",
        ),
        pytest.param(
            "Stalled True Blocked a <- Blocked a",
            "Stalled True Blocked a <- Blocked a,b",
            False,
            id="a cause that concerns more, of which the conditions show nothing",
        ),
    ],
)
def test_new_blockers_under_the_same_reason(before: str, after: str, expected: bool) -> None:
    found = pass_from(seen(before), seen(after)).blockers
    assert [entry.message for entry in found] == ([seen(after).conditions[0]["message"]] if expected else [])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(RETRIED, REFUSED, [], id="the same reason is the same failure"),
        pytest.param(
            REFUSED, refused("Role r is another's", "Role r"), [], id="another cause with the same reasons is not seen"
        ),
        pytest.param(
            UNHEALTHY, UNHEALTHY_AND_REFUSED, ["Warning Blocked: cannot upgrade"], id="another reason is a failure"
        ),
        pytest.param(
            NOT_FOUND_YET, NOT_FOUND, ["Warning ResolutionFailed: not found"], id="what was no failure before is one"
        ),
        pytest.param(
            UPGRADE_REFUSED,
            READY,
            ["Normal Recovered: recovered from: cannot upgrade; done"],
            id="a recovery names the failure of the status",
        ),
    ],
)
def test_a_process_that_has_just_started_knows_statuses_and_reasons(
    before: Seen, after: Seen, expected: list[str]
) -> None:
    assert texts(pass_from(before, after, NOTHING)) == expected


def test_a_condition_that_the_report_does_not_explain_keeps_its_cause_while_it_is_unchanged() -> None:
    known = pass_from(INSTALLING, REFUSED).reported
    kept = pass_from(REFUSED, Seen(REFUSED.conditions, {}), known).reported
    assert kept == known, "a report that leaves the status as it is"
    assert texts(pass_from(REFUSED, refused("Role r is another's", "Role r"), kept)) == [
        "Warning InstallFailed: Role r is another's"
    ]
    assert pass_from(REFUSED, READY, kept).reported == NOTHING


def test_a_recovery_names_the_failure_after_work_in_between() -> None:
    failed = pass_from(ROLLING_OUT, UNHEALTHY).reported
    assert failed.failure == "d: no progress"
    again = pass_from(UNHEALTHY, ROLLING_OUT, failed)
    assert texts(again) == []
    end = pass_from(ROLLING_OUT, READY, again.reported)
    assert (texts(end), end.reported) == (["Normal Recovered: recovered from: d: no progress; done"], NOTHING)


READING_ANOTHER = seen(
    "Unpacked False Unpacking reading v2",
    "Serving True Available serving v1",
    "Ready True ServingOldContent serving v1 until v2 can be read",
    "Reconciling True Unpacking reading v2",
)
SERVING_ANOTHER = seen(
    "Unpacked True UnpackSuccessful v2", "Serving True Available serving v2", "Ready True Succeeded serving v2"
)
WRITING_ANOTHER = SERVING_ANOTHER + seen("Reconciling True WritingPackages writing")


def test_a_recovery_is_reported_when_the_work_has_ended() -> None:
    known = Reported("no such tag")
    reading = pass_from(OLD_CONTENT, READING_ANOTHER, known)
    assert reading == EventChoice(reported=known), "the old content is still served"
    writing = pass_from(READING_ANOTHER, WRITING_ANOTHER, reading.reported)
    assert writing == EventChoice(reported=known), "one Event for the outcome"
    end = pass_from(WRITING_ANOTHER, SERVING_ANOTHER, writing.reported)
    assert (texts(end), end.reported) == (["Normal Recovered: recovered from: no such tag; serving v2"], NOTHING)


def test_a_lasting_failure_is_not_reported_again() -> None:
    known = Reported("Secret s is another's", REFUSED.causes)
    assert pass_from(REFUSED, REFUSED, known) == EventChoice(reported=known)
