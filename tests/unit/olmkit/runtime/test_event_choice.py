"""Which Events a pass causes, and their fields."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from olmkit.api.conditions import ConditionValue, PendingEvent, Transition
from olmkit.runtime.event_choice import (
    MAX_EVENT_MESSAGE_BYTES,
    EventChoice,
    Reporter,
    choose_events,
    count_patch,
    make_event,
    new_blockers,
    severity,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


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


def conditions(*rows: str) -> list[dict[str, Any]]:
    """Each row is `Type Status Reason message`."""
    return [dict(zip(("type", "status", "reason", "message"), row.split(" ", 3), strict=True)) for row in rows]


def pass_from(
    before: list[dict[str, Any]], after: list[dict[str, Any]], failure: str = "", *, is_owned: bool = False
) -> EventChoice:
    """choose_events for the transitions from one to the other."""
    known = {each["type"]: (each["status"], each["reason"]) for each in before}
    changed = [Transition(**each) for each in after if known.get(each["type"]) != (each["status"], each["reason"])]
    return choose_events(before, after, changed, failure, is_owned=is_owned)


def texts(choice: EventChoice) -> list[str]:
    return [f"{event.type} {event.reason}: {event.message}" for event in choice.events]


NEW: list[dict[str, Any]] = []
PENDING = conditions(
    "HasValidBundle False UnpackPending w",
    "Installed Unknown InstallPending w",
    "Healthy False InstallationStatusFalse i",
    "Ready False Installing w",
    "Reconciling True UnpackPending w",
)
INSTALLING = conditions(
    "HasValidBundle True UnpackSuccessful u",
    "Installed False Installing p",
    "Healthy False InstallationStatusFalse i",
    "Ready False Installing p",
    "Reconciling True Installing p",
)
ROLLING_OUT = conditions(
    "HasValidBundle True UnpackSuccessful u",
    "Installed True InstallationSucceeded done",
    "Healthy Unknown Progressing 0 of 1",
    "Ready False Progressing 0 of 1",
    "Reconciling True Progressing 0 of 1",
)
READY = conditions(
    "HasValidBundle True UnpackSuccessful u",
    "Installed True InstallationSucceeded done",
    "Healthy True Healthy well",
    "Ready True Succeeded done",
)
UNHEALTHY = conditions(
    "HasValidBundle True UnpackSuccessful u",
    "Installed True InstallationSucceeded done",
    "Healthy False Unhealthy d: no progress",
    "Ready False Unhealthy d: no progress",
    "Stalled True Unhealthy d: no progress",
)
REFUSED = conditions(
    "HasValidBundle True UnpackSuccessful u",
    "Installed False InstallFailed Secret s is another's",
    "Healthy False InstallationStatusFalse i",
    "Ready False Installing Secret s is another's",
    "Stalled True Blocked Secret s is another's",
)
OTHERS = [{**each, "message": str(each["message"]).replace("Secret s", "Role r")} for each in REFUSED]
RETRIED = [*REFUSED[:-1], *conditions("Reconciling True Retrying Secret s is another's")]
UPGRADE_REFUSED = conditions(
    "Installed True InstallationSucceeded done",
    "Healthy True Healthy well",
    "Ready False Upgrading cannot upgrade",
    "Stalled True Blocked cannot upgrade",
)
SERVED = conditions("Unpacked True UnpackSuccessful u", "Serving True Available s", "Ready True Succeeded r")
OLD_CONTENT = conditions(
    "Unpacked False UnpackFailed no such tag",
    "Serving True Available s",
    "Ready True ServingOldContent old",
    "Reconciling True Retrying no such tag",
)
READING = conditions(
    "Unpacked False Unpacking reading",
    "Serving False Unavailable nothing",
    "Ready False Unpacking reading",
    "Reconciling True Unpacking reading",
)
NOT_FOUND_YET = conditions(
    "Resolved False ResolutionFailed not found",
    "Installed Unknown InstallationStatusUnknown n",
    "Ready False NotResolved not found: being read",
    "Reconciling True WaitingForCatalog not found: being read",
)
NOT_FOUND = conditions(
    "Resolved False ResolutionFailed not found",
    "Installed Unknown InstallationStatusUnknown n",
    "Ready False NotResolved not found: no such package",
    "Stalled True Blocked not found: no such package",
)
FOUND = conditions(
    "Resolved True Success resolved",
    "Installed True Success installed",
    "Ready True Succeeded well",
)
SERVED_WITH_PROBLEMS = [*SERVED, *conditions("Valid False ProblemsFound 3 blobs")]


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
            INSTALLING, REFUSED, ["Warning InstallFailed: Secret s is another's"], id="three conditions, one failure"
        ),
        pytest.param(
            conditions("Ready False Upgrading upgrading", "Reconciling True Upgrading upgrading"),
            conditions("Ready False Upgrading cannot upgrade", "Stalled True Blocked cannot upgrade"),
            ["Warning Blocked: cannot upgrade"],
            id="an upgrade that is refused",
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
            SERVED_WITH_PROBLEMS,
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
            conditions("Installed Unknown InstallPending w", "Reconciling True UnpackPending w", "Ready False X w"),
            conditions("Installed Unknown InstallPending k", "Reconciling True WaitingForKind k", "Ready False X k"),
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
            conditions("Installed Unknown Pending w", "Ready False Installing w", "Reconciling True X w"),
            conditions(
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
            conditions("Ready False Removing r", "Reconciling True Removing r"),
            ["Normal Removing: r"],
            id="being deleted",
        ),
        pytest.param(RETRIED, REFUSED, [], id="a failure that is no longer retried is the same failure"),
        pytest.param(REFUSED, RETRIED, [], id="a failure that is retried is the same failure"),
        pytest.param(
            conditions("Unpacked False UnpackFailed no such tag", "Ready True ServingOldContent old"),
            conditions(
                "Unpacked False UnpackFailed no such tag",
                "Ready False NotServed no such tag",
                "Stalled True B no such tag",
            ),
            ["Warning UnpackFailed: no such tag"],
            id="a failure by which Ready is lost is reported again",
        ),
        pytest.param(
            conditions(
                "HasValidBundle False UnpackFailed no such tag",
                "Ready False Upgrading m",
                "Reconciling True UnpackFailed m",
            ),
            conditions(
                "HasValidBundle False UnpackFailed no such tag",
                "Ready False Upgrading cannot upgrade: no such tag",
                "Stalled True Blocked cannot upgrade: no such tag",
            ),
            [],
            id="a failure with a longer message is the same failure",
        ),
        pytest.param(
            conditions(
                "Installed False InstallFailed x is away", "Ready False Installing x is away", "Reconciling True R x"
            ),
            conditions(
                "Installed False InstallFailed Secret s is another's",
                "Ready False Installing Secret s is another's",
                "Stalled True Blocked Secret s is another's",
            ),
            ["Warning InstallFailed: Secret s is another's"],
            id="a failure has the same reason however it was reached",
        ),
    ],
)
def test_one_event_per_outcome(before: list[dict[str, Any]], after: list[dict[str, Any]], expected: list[str]) -> None:
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
def test_the_events_of_an_object_with_an_owner(
    before: list[dict[str, Any]], after: list[dict[str, Any]], expected: list[str]
) -> None:
    assert texts(pass_from(before, after, is_owned=True)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            "Stalled True Blocked Secret s is another's",
            "Stalled True Blocked Role r is another's",
            True,
            id="another blocker",
        ),
        pytest.param(
            "Stalled True Blocked Secret s is another's",
            "Stalled True Blocked Role r is another's; Secret s is another's",
            True,
            id="an additional blocker",
        ),
        pytest.param(
            "Stalled True Blocked Role r is another's; Secret s is another's",
            "Stalled True Blocked Secret s is another's",
            False,
            id="one of two blockers remains",
        ),
        pytest.param(
            "Installed False InstallFailed connection refused",
            "Installed False InstallFailed not authorized",
            True,
            id="another failure",
        ),
        pytest.param(
            "Healthy False Unhealthy Deployment d: 1 of 3 replicas are available",
            "Healthy False Unhealthy Deployment d: 2 of 3 replicas are available.",
            False,
            id="a number that changes",
        ),
        pytest.param(
            "Healthy False Unhealthy Pod p: back-off 10s restarting, 1,023 restarts, 1.5 MiB",
            "Healthy False Unhealthy Pod p: back-off 2m40s restarting, 1,024 restarts, 1.5MiB",
            False,
            id="a duration and a size that change",
        ),
        pytest.param(
            'Healthy False Unhealthy Deployment d: pods "d-7b8f-xk2p9" is forbidden',
            'Healthy False Unhealthy Deployment d: pods "d-7b8f-4zqvw" is forbidden',
            False,
            id="the generated name of a pod",
        ),
        pytest.param(
            "Stalled True Blocked read tcp 10.0.0.1:43512: i/o timeout",
            "Stalled True Blocked read tcp 10.0.0.1:43516: i/o timeout",
            False,
            id="the port of a connection",
        ),
        pytest.param(
            "Reconciling True WaitingForKind needs A (x.com/v1)",
            "Reconciling True WaitingForKind needs B (x.com/v1)",
            True,
            id="waiting for another thing",
        ),
        pytest.param(
            "Reconciling True Retrying waiting until it is gone: Namespace a",
            "Reconciling True Retrying x is away",
            True,
            id="another thing is retried",
        ),
        pytest.param(
            "Reconciling True Progressing Deployment a is not available",
            "Reconciling True Progressing Deployment b is not available",
            False,
            id="progress is not a blocker",
        ),
        pytest.param(
            "Ready True Succeeded installed",
            "Ready True Succeeded installed; Namespace n keeps a label",
            False,
            id="a healthy object has no blocker",
        ),
        pytest.param(
            "Valid False ProblemsFound 3 problems: a",
            "Valid False ProblemsFound 4 problems: b",
            True,
            id="other problems of the content",
        ),
        pytest.param(
            "Stalled True Unhealthy Secret s is another's",
            "Stalled True Blocked Role r is another's",
            False,
            id="a new reason is a transition",
        ),
        pytest.param("Ready False X m", "Stalled True Blocked Secret s", False, id="a new condition is a transition"),
    ],
)
def test_new_blockers_under_the_same_reason(before: str, after: str, expected: bool) -> None:
    found = new_blockers(conditions(before), conditions(after))
    assert [entry.message for entry in found] == ([conditions(after)[0]["message"]] if expected else [])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(REFUSED, OTHERS, ["Warning InstallFailed: Role r is another's"], id="one Warning, not three"),
        pytest.param(
            conditions("Ready False Installing k", "Reconciling True WaitingForKind needs A"),
            conditions("Ready False Installing k", "Reconciling True WaitingForKind needs B"),
            ["Normal WaitingForKind: needs B"],
            id="waiting for another thing",
        ),
        pytest.param(
            conditions("Ready False Installing k", "Reconciling True Retrying a"),
            conditions("Ready False Installing k", "Reconciling True Retrying b"),
            [],
            id="a retry is only a log line, as the first time",
        ),
        pytest.param(
            NOT_FOUND,
            [*NOT_FOUND[:-2], *conditions("Ready False NotResolved not found: x", "Stalled True Blocked not found: x")],
            [],
            id="the same failure with another explanation",
        ),
    ],
)
def test_a_new_blocker_is_one_event(
    before: list[dict[str, Any]], after: list[dict[str, Any]], expected: list[str]
) -> None:
    assert texts(choose_events(before, after, new_blockers(before, after))) == expected


def test_a_recovery_names_the_failure_after_work_in_between() -> None:
    failed = pass_from(ROLLING_OUT, UNHEALTHY)
    assert failed.failure == "d: no progress"
    again = pass_from(UNHEALTHY, ROLLING_OUT, failed.failure)
    assert texts(again) == []
    assert texts(pass_from(ROLLING_OUT, READY, again.failure)) == [
        "Normal Recovered: recovered from: d: no progress; done"
    ]
    assert pass_from(ROLLING_OUT, READY, again.failure).failure == ""


READING_ANOTHER = conditions(
    "Unpacked False Unpacking reading v2",
    "Serving True Available serving v1",
    "Ready True ServingOldContent serving v1 until v2 can be read",
    "Reconciling True Unpacking reading v2",
)
WRITING_ANOTHER = conditions(
    "Unpacked True UnpackSuccessful v2",
    "Serving True Available serving v2",
    "Ready True Succeeded serving v2",
    "Reconciling True WritingPackages writing",
)
SERVING_ANOTHER = WRITING_ANOTHER[:-1]


def test_a_recovery_is_reported_when_the_work_has_ended() -> None:
    reading = pass_from(OLD_CONTENT, READING_ANOTHER, "no such tag")
    assert reading == EventChoice((), "no such tag"), "the old content is still served"
    writing = pass_from(READING_ANOTHER, WRITING_ANOTHER, reading.failure)
    assert writing == EventChoice((), "no such tag"), "one Event for the outcome"
    end = pass_from(WRITING_ANOTHER, SERVING_ANOTHER, writing.failure)
    assert (texts(end), end.failure) == (["Normal Recovered: recovered from: no such tag; serving v2"], "")


def test_a_lasting_failure_is_not_reported_again() -> None:
    assert pass_from(REFUSED, REFUSED, "Secret s is another's") == EventChoice((), "Secret s is another's")


def about(version: str = "7", name: str = "community", namespace: str | None = None) -> dict[str, Any]:
    metadata = {"name": name, "uid": "u", "resourceVersion": version} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}


def event(of: dict[str, Any], **changed: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": "Warning", "reason": "Broken", "message": "m", "action": "Ready", **changed}
    return make_event(of, PendingEvent(**facts), Reporter("controller", "pod-1"), NOW)


def test_an_event_has_the_fields_that_kubectl_sorts_and_counts_by() -> None:
    made = event(about())
    assert made["firstTimestamp"] == made["lastTimestamp"] == "2026-01-02T03:04:05Z"
    assert (made["apiVersion"], made["count"], made["source"]) == ("v1", 1, {"component": "controller"})


def test_an_event_of_a_cluster_scoped_object_is_in_default() -> None:
    made = event(about())
    assert made["metadata"]["namespace"] == "default"
    assert "namespace" not in made["involvedObject"]
    assert (made["type"], made["reason"], made["message"]) == ("Warning", "Broken", "m")


def test_an_event_of_a_namespaced_object_is_in_its_namespace() -> None:
    made = event(about(namespace="space"))
    assert made["metadata"]["namespace"] == made["involvedObject"]["namespace"] == "space"


def test_long_messages_and_names_are_truncated() -> None:
    made = event(about(name="n" * 253), message="é" * 2000)
    assert len(made["message"].encode()) <= MAX_EVENT_MESSAGE_BYTES
    assert len(made["metadata"]["name"]) <= 253


def test_a_message_is_one_line_of_printable_characters() -> None:
    assert event(about(), message="one\r\ntwo \x1b[31m")["message"] == r"one two \x1b[31m"


def test_a_repetition_has_the_same_name_and_anything_else_another() -> None:
    names = [
        event(about())["metadata"]["name"],
        event(about(), reason="Other")["metadata"]["name"],
        event(about(), message="other")["metadata"]["name"],
        event(about(), type="Normal")["metadata"]["name"],
        event(about(), action="Serving")["metadata"]["name"],
    ]
    assert len(set(names)) == len(names)
    assert event(about("8"))["metadata"]["name"] == names[0]


def test_a_repetition_is_counted_once_per_version_of_the_object() -> None:
    known = {**event(about()), "metadata": {"resourceVersion": "20"}}
    assert count_patch(known, event(about())) is None
    assert count_patch(known, event(about("8"))) == {
        "metadata": {"resourceVersion": "20"},
        "count": 2,
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "involvedObject": {"resourceVersion": "8"},
    }


def test_a_deprecation_has_one_event_although_two_conditions_report_it() -> None:
    ready = conditions("Ready True Succeeded s")
    deprecated = conditions(
        "Ready True Succeeded s", "Deprecated True Deprecated d", "BundleDeprecated True Deprecated d"
    )
    assert texts(pass_from(ready, deprecated)) == ["Warning Deprecated: d"]
