"""Which Events a pass is worth, and what an Event is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from olmkit.api.conditions import ConditionValue, PendingEvent, Transition
from olmkit.runtime.recorder import (
    MAX_MESSAGE_BYTES,
    Choice,
    Reporter,
    choose,
    make_event,
    new_blockers,
    seen_again,
    severity,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("type", "status", "reason", "calm", "expected"),
    [
        pytest.param("Ready", "True", "Succeeded", True, "Normal", id="ready"),
        pytest.param("Ready", "False", "Unhealthy", False, "Warning", id="not ready, and nothing is under way"),
        pytest.param("Ready", "False", "Unpacking", True, "Normal", id="not ready yet"),
        pytest.param("Ready", "False", "Progressing", True, "Normal", id="an ordinary rollout"),
        pytest.param("Ready", "False", "Unhealthy", True, "Warning", id="unhealthy while it is tried again"),
        pytest.param("Unpacked", "False", "UnpackFailed", True, "Warning", id="failed, and tried again"),
        pytest.param("Ready", "Unknown", "Unknown", False, "Normal", id="not known"),
        pytest.param("Stalled", "True", "Blocked", False, "Warning", id="stalled"),
        pytest.param("Reconciling", "True", "Retrying", True, "Normal", id="at work"),
        pytest.param("PackageDeprecated", "True", "Deprecated", True, "Warning", id="deprecated"),
        pytest.param("PackageDeprecated", "False", "NotDeprecated", False, "Normal", id="not deprecated"),
        pytest.param("Valid", "False", "ProblemsFound", True, "Warning", id="blobs that nobody can read"),
        pytest.param("Unpacked", "False", "UserSpecifiedUnavailable", True, "Normal", id="withdrawn, as asked"),
    ],
)
def test_severity(type: str, status: ConditionValue, reason: str, calm: bool, expected: str) -> None:
    assert severity(Transition(type, status, reason, "m"), calm=calm) == expected


def conditions(*rows: str) -> list[dict[str, Any]]:
    """Each row is `Type Status Reason message`."""
    return [dict(zip(("type", "status", "reason", "message"), row.split(" ", 3), strict=True)) for row in rows]


def pass_from(before: list[dict[str, Any]], after: list[dict[str, Any]], trouble: str = "") -> Choice:
    """The choice for the transitions that lead from one to the other."""
    known = {each["type"]: (each["status"], each["reason"]) for each in before}
    changed = [Transition(**each) for each in after if known.get(each["type"]) != (each["status"], each["reason"])]
    return choose(before, after, changed, trouble)


def brief(choice: Choice) -> list[str]:
    return [f"{notice.type} {notice.reason}: {notice.message}" for notice in choice.notices]


NEW: list[dict[str, Any]] = []
PENDING = conditions(
    "HasValidBundle False UnpackPending w",
    "Installed Unknown InstallPending w",
    "Healthy False InstallationStatusFalse i",
    "Ready False NotInstalled w",
    "Reconciling True UnpackPending w",
)
INSTALLING = conditions(
    "HasValidBundle True UnpackSuccessful u",
    "Installed False Installing p",
    "Healthy False InstallationStatusFalse i",
    "Ready False NotInstalled p",
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
    "Ready False NotInstalled Secret s is another's",
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
        pytest.param(NEW, PENDING, [], id="what has just begun is no news"),
        pytest.param(PENDING, INSTALLING, [], id="a Bundle has an Event of its own"),
        pytest.param(INSTALLING, ROLLING_OUT, ["Normal InstallationSucceeded: done"], id="installed, and rolling out"),
        pytest.param(ROLLING_OUT, READY, ["Normal Succeeded: done"], id="an ordinary rollout ends"),
        pytest.param(READY, ROLLING_OUT, ["Normal Progressing: 0 of 1"], id="an ordinary rollout begins"),
        pytest.param(READY, READY, [], id="nothing changed"),
        pytest.param(ROLLING_OUT, UNHEALTHY, ["Warning Unhealthy: d: no progress"], id="a rollout that failed, once"),
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
            id="a recovery names what was",
        ),
        pytest.param(
            UNHEALTHY, READY, ["Normal Recovered: recovered from: d: no progress; done"], id="well again at once"
        ),
        pytest.param(NEW, READING, [], id="a first look"),
        pytest.param(READING, SERVED, ["Normal Succeeded: r"], id="served for the first time"),
        pytest.param(
            READING,
            SERVED_WITH_PROBLEMS,
            ["Normal Succeeded: r", "Warning ProblemsFound: 3 blobs"],
            id="problems of the content stand by themselves",
        ),
        pytest.param(SERVED, OLD_CONTENT, ["Warning UnpackFailed: no such tag"], id="new content cannot be read"),
        pytest.param(OLD_CONTENT, SERVED, ["Normal Recovered: recovered from: no such tag; r"], id="new content again"),
        pytest.param(
            conditions("Installed Unknown InstallPending w", "Reconciling True UnpackPending w", "Ready False X w"),
            conditions("Installed Unknown InstallPending k", "Reconciling True WaitingForKind k", "Ready False X k"),
            ["Normal WaitingForKind: k"],
            id="what is waited for",
        ),
        pytest.param(
            NEW,
            NOT_FOUND_YET,
            ["Normal WaitingForCatalog: not found: being read"],
            id="what is not found while a catalog is being read is no failure",
        ),
        pytest.param(
            NOT_FOUND_YET,
            FOUND,
            ["Normal Succeeded: well"],
            id="what is found when the catalog was read is no recovery",
        ),
        pytest.param(
            NOT_FOUND_YET,
            NOT_FOUND,
            ["Warning ResolutionFailed: not found"],
            id="what is not found when the catalog was read is the same failure as in catalogs that were read before",
        ),
        pytest.param(
            NEW, NOT_FOUND, ["Warning ResolutionFailed: not found"], id="what is not found in catalogs that were read"
        ),
        pytest.param(
            NOT_FOUND,
            NOT_FOUND_YET,
            ["Normal WaitingForCatalog: not found: being read"],
            id="another catalog is being read",
        ),
        pytest.param(
            conditions("Installed Unknown Pending w", "Ready False NotInstalled w", "Reconciling True X w"),
            conditions(
                "Installed True Done i",
                "Healthy False Unhealthy h",
                "Ready False Unhealthy h",
                "Stalled True Unhealthy h",
            ),
            ["Warning Unhealthy: h", "Normal Done: i"],
            id="what came true beside a failure is news too",
        ),
        pytest.param(
            READY,
            conditions("Ready False Removing r", "Reconciling True Removing r"),
            ["Normal Removing: r"],
            id="being deleted",
        ),
        pytest.param(RETRIED, REFUSED, [], id="a failure that is not tried again any more is the same failure"),
        pytest.param(REFUSED, RETRIED, [], id="a failure that is tried again is the same failure"),
        pytest.param(
            conditions("Unpacked False UnpackFailed no such tag", "Ready True ServingOldContent old"),
            conditions(
                "Unpacked False UnpackFailed no such tag",
                "Ready False NotServed no such tag",
                "Stalled True B no such tag",
            ),
            ["Warning UnpackFailed: no such tag"],
            id="a failure that costs Ready is reported though it was before",
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
            id="a failure in more words is the same failure",
        ),
        pytest.param(
            conditions(
                "Installed False InstallFailed x is away", "Ready False NotInstalled x is away", "Reconciling True R x"
            ),
            conditions(
                "Installed False InstallFailed Secret s is another's",
                "Ready False NotInstalled Secret s is another's",
                "Stalled True Blocked Secret s is another's",
            ),
            ["Warning InstallFailed: Secret s is another's"],
            id="a failure has the same reason whichever way leads to it",
        ),
    ],
)
def test_one_event_per_outcome(before: list[dict[str, Any]], after: list[dict[str, Any]], expected: list[str]) -> None:
    assert brief(pass_from(before, after)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            "Stalled True Blocked Secret s is another's",
            "Stalled True Blocked Role r is another's",
            True,
            id="another object is in the way",
        ),
        pytest.param(
            "Stalled True Blocked Secret s is another's",
            "Stalled True Blocked Role r is another's; Secret s is another's",
            True,
            id="a second one is in the way",
        ),
        pytest.param(
            "Stalled True Blocked Role r is another's; Secret s is another's",
            "Stalled True Blocked Secret s is another's",
            False,
            id="one of two is in the way still",
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
            id="a number that counts",
        ),
        pytest.param(
            "Healthy False Unhealthy Pod p: back-off 10s restarting, 1,023 restarts, 1.5 MiB",
            "Healthy False Unhealthy Pod p: back-off 2m40s restarting, 1,024 restarts, 1.5MiB",
            False,
            id="a time and a size that grow",
        ),
        pytest.param(
            'Healthy False Unhealthy Deployment d: pods "d-7b8f-xk2p9" is forbidden',
            'Healthy False Unhealthy Deployment d: pods "d-7b8f-4zqvw" is forbidden',
            False,
            id="the name that a pod would have had",
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
            id="something else is waited for",
        ),
        pytest.param(
            "Reconciling True Retrying waiting until it is gone: Namespace a",
            "Reconciling True Retrying x is away",
            True,
            id="something else is tried again",
        ),
        pytest.param(
            "Reconciling True Progressing Deployment a is not available",
            "Reconciling True Progressing Deployment b is not available",
            False,
            id="progress is no obstacle",
        ),
        pytest.param(
            "Ready True Succeeded installed",
            "Ready True Succeeded installed; Namespace n keeps a label",
            False,
            id="what is well has no obstacle",
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
def test_an_obstacle_that_is_another_under_the_same_reason(before: str, after: str, expected: bool) -> None:
    found = new_blockers(conditions(before), conditions(after))
    assert [entry.message for entry in found] == ([conditions(after)[0]["message"]] if expected else [])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(REFUSED, OTHERS, ["Warning InstallFailed: Role r is another's"], id="one Warning, not three"),
        pytest.param(
            conditions("Ready False NotInstalled k", "Reconciling True WaitingForKind needs A"),
            conditions("Ready False NotInstalled k", "Reconciling True WaitingForKind needs B"),
            ["Normal WaitingForKind: needs B"],
            id="something else is waited for",
        ),
        pytest.param(
            conditions("Ready False NotInstalled k", "Reconciling True Retrying a"),
            conditions("Ready False NotInstalled k", "Reconciling True Retrying b"),
            [],
            id="what is tried again is a log line alone, as at first",
        ),
        pytest.param(
            NOT_FOUND,
            [*NOT_FOUND[:-2], *conditions("Ready False NotResolved not found: x", "Stalled True Blocked not found: x")],
            [],
            id="the same failure, explained otherwise",
        ),
    ],
)
def test_an_obstacle_that_is_another_is_one_event(
    before: list[dict[str, Any]], after: list[dict[str, Any]], expected: list[str]
) -> None:
    assert brief(choose(before, after, new_blockers(before, after))) == expected


def test_a_recovery_names_the_failure_even_when_work_came_between() -> None:
    failed = pass_from(ROLLING_OUT, UNHEALTHY)
    assert failed.failure == "d: no progress"
    again = pass_from(UNHEALTHY, ROLLING_OUT, failed.failure)
    assert brief(again) == ["Normal Progressing: 0 of 1"]
    assert brief(pass_from(ROLLING_OUT, READY, again.failure)) == [
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


def test_a_recovery_names_what_is_served_when_the_work_has_ended() -> None:
    reading = pass_from(OLD_CONTENT, READING_ANOTHER, "no such tag")
    assert reading == Choice((), "no such tag"), "what is served is the old content still"
    writing = pass_from(READING_ANOTHER, WRITING_ANOTHER, reading.failure)
    assert writing == Choice((), "no such tag"), "one Event for the outcome"
    end = pass_from(WRITING_ANOTHER, SERVING_ANOTHER, writing.failure)
    assert (brief(end), end.failure) == (["Normal Recovered: recovered from: no such tag; serving v2"], "")


def test_a_failure_that_holds_is_not_reported_again_and_is_no_recovery() -> None:
    assert pass_from(REFUSED, REFUSED, "Secret s is another's") == Choice((), "Secret s is another's")


def about(version: str = "7", name: str = "community", namespace: str | None = None) -> dict[str, Any]:
    metadata = {"name": name, "uid": "u", "resourceVersion": version} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}


def event(of: dict[str, Any], **changed: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": "Warning", "reason": "Broken", "message": "m", "action": "Ready", **changed}
    return make_event(of, PendingEvent(**facts), Reporter("controller", "pod-1"), NOW)


def test_an_event_carries_what_kubectl_sorts_and_counts_by() -> None:
    made = event(about())
    assert made["firstTimestamp"] == made["lastTimestamp"] == "2026-01-02T03:04:05Z"
    assert (made["apiVersion"], made["count"], made["source"]) == ("v1", 1, {"component": "controller"})


def test_an_event_of_a_cluster_scoped_object_lives_in_default() -> None:
    made = event(about())
    assert made["metadata"]["namespace"] == "default"
    assert "namespace" not in made["involvedObject"]
    assert (made["type"], made["reason"], made["message"]) == ("Warning", "Broken", "m")


def test_an_event_of_a_namespaced_object_lives_beside_it() -> None:
    made = event(about(namespace="space"))
    assert made["metadata"]["namespace"] == made["involvedObject"]["namespace"] == "space"


def test_a_long_message_is_cut_and_a_long_name_fits() -> None:
    made = event(about(name="n" * 253), message="é" * 2000)
    assert len(made["message"].encode()) <= MAX_MESSAGE_BYTES
    assert len(made["metadata"]["name"]) <= 253


def test_what_happens_again_is_the_same_event_and_anything_else_another() -> None:
    names = [
        event(about())["metadata"]["name"],
        event(about(), reason="Other")["metadata"]["name"],
        event(about(), message="other")["metadata"]["name"],
        event(about(), type="Normal")["metadata"]["name"],
        event(about(), action="Serving")["metadata"]["name"],
    ]
    assert len(set(names)) == len(names)
    assert event(about("8"))["metadata"]["name"] == names[0]


def test_what_happens_again_is_counted_but_not_twice_for_one_version_of_the_object() -> None:
    known = {**event(about()), "metadata": {"resourceVersion": "20"}}
    assert seen_again(known, event(about())) is None
    assert seen_again(known, event(about("8"))) == {
        "metadata": {"resourceVersion": "20"},
        "count": 2,
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "involvedObject": {"resourceVersion": "8"},
    }
