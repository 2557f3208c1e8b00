"""No decision reads a message: a status whose sentences say something else, as another release writes them or as they are cut at
their limit, gives the same Plans; one that lacks the fields of this release waits once more, or announces again, and acts on
nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from olmkit.api.bundledeployments import Reason
from olmkit.api.conditions import format_timestamp
from olmkit.api.meta import Condition
from olmkit.errors import OlmError, Waiting
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import (
    Activate,
    Announce,
    BeginRevision,
    Done,
    ForgetNotes,
    Keep,
    LeaveNamespaces,
    Plan,
)
from rukpak.bundledeployment.world import CRD, ForeignObjects, LastApplied, World
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.rollback_worlds import GOOD, IN_PROGRESS, OLD, changed, half_way, running
from tests.unit.rukpak.bundledeployment.worlds import (
    ENTRY,
    SECRET,
    WORKLOAD,
    ago,
    applied,
    crd,
    deleting,
    installed,
    long_installed,
    member,
    namespace,
    rendered,
    report_of,
    unwell,
    upgrading,
)

MINUTE = timedelta(minutes=1)
ROLLOUT = Health("Unknown", "0 of 1 run", 10 * MINUTE)
WAITS = Waiting(Reason.RETRYING, "it was deleted, waiting until it is gone: Secret", MINUTE)
IRREVERSIBLE = "this cannot be reversed: it moves the storage version of boats.example.com from v1 to v2"
FOREIGN = "objects that are not part of the bundle are deleted with their Namespace: ConfigMap ship-system/notes"
ILL = f"{WORKLOAD}: it was deleted; {SECRET}: it does not exist; {WORKLOAD}: 0 of 1 run"
EVERYTHING = f"{ILL}; {IRREVERSIBLE}; {FOREIGN}; and 7 more"

Rewording = Callable[[str], str]
REWORDINGS = [
    pytest.param(lambda text: text, id="as it was written"),
    pytest.param(lambda text: "", id="without a text"),
    pytest.param(lambda text: f"{text[:20]}…", id="cut at its limit"),
    pytest.param(lambda text: "some object is not what it should be", id="in other words"),
    pytest.param(lambda text: EVERYTHING, id="with every sentence that there is"),
]


def condition(kind: str, status: str, reason: str, message: str, since: datetime) -> Condition:
    return Condition(
        type=kind, status=status, reason=reason, message=message, last_transition_time=format_timestamp(since)
    )


def with_conditions(seen: World, conditions: Iterable[Condition]) -> World:
    status = seen.deployment.status.model_copy(update={"conditions": list(conditions)})
    return replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))


def unhealthy(seen: World, message: str) -> World:
    """Version 0.1.0 reported that long ago."""
    facts = ("False", "Unhealthy", message, ago(hours=2))
    ready, stalled = condition("Ready", *facts), condition("Stalled", "True", *facts[1:])
    return with_conditions(seen, [condition("Healthy", *facts), ready, stalled])


def worded(seen: World, reword: Rewording) -> World:
    """The same status, in other words."""
    known = seen.deployment.status.conditions
    return with_conditions(seen, [one.model_copy(update={"message": reword(one.message)}) for one in known])


def after(seen: World, outcome: Done | Exception) -> World:
    """The same cluster with the status of a pass that ended so."""
    status = report_of(seen, outcome).status
    return replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))


def step_of(seen: World) -> Plan | str:
    """The Plan, or the reason for which none can be taken."""
    plan = decide(seen).plan
    return plan.reason if isinstance(plan, OlmError) else plan  # type: ignore[return-value]


def brief(seen: World) -> dict[str, str]:
    return {one.type: f"{one.status}/{one.reason}" for one in seen.deployment.status.conditions}


LATE = unhealthy(unwell(ROLLOUT), f"{WORKLOAD}: 0 of 1 run")
MOVING = upgrading(rendered(digest="v2", storage="v2"))
EMPTIED = replace(
    deleting(replace(installed(), labeled={}, namespaces={namespace().name: namespace()}, inventory=frozenset())),
    foreign_objects={namespace().uid: ForeignObjects(("ConfigMap ship-system/notes",), 1)},
)


@pytest.mark.parametrize("reword", REWORDINGS)
@pytest.mark.parametrize(
    ("seen", "expected", "healthy"),
    [
        pytest.param(LATE, Keep(), "Unknown/Progressing", id="an object had missed its deadline: it has it again"),
        pytest.param(
            unhealthy(unwell(ROLLOUT), f"{SECRET}: x; {WORKLOAD}: x; and 4 more"),
            Keep(),
            "Unknown/Progressing",
            id="more objects than a message names had missed theirs",
        ),
        pytest.param(
            unhealthy(unwell(ROLLOUT), f"{WORKLOAD}: it was deleted"),
            Keep(),
            "Unknown/Progressing",
            id="it was deleted, and was created again",
        ),
        pytest.param(
            unhealthy(unwell(Health("False", "crashes")), f"{WORKLOAD}: crashes"),
            Keep(),
            "False/Unhealthy",
            id="its own status says that it failed",
        ),
        pytest.param(
            with_conditions(
                unwell(ROLLOUT), [condition("Healthy", "Unknown", "Progressing", f"{WORKLOAD}: 0 of 1", ago(minutes=4))]
            ),
            Keep(6 * MINUTE),
            "Unknown/Progressing",
            id="it is in progress: the rest of its deadline counts",
        ),
        pytest.param(
            with_conditions(
                MOVING, [condition("Ready", "False", "Upgrading", f"upgrading to ship; {IRREVERSIBLE}", ago(minutes=1))]
            ),
            Announce(),
            "True/Healthy",
            id="a storage version is about to move: that is announced once more",
        ),
        pytest.param(
            with_conditions(EMPTIED, [condition("Ready", "False", "Removing", f"removing; {FOREIGN}", ago(minutes=1))]),
            Announce(),
            None,
            id="objects of others are about to be deleted: that is announced once more",
        ),
    ],
)
def test_a_status_of_0_1_0_waits_once_more_whatever_its_sentences_say(
    seen: World, expected: Plan, healthy: str | None, reword: Rewording
) -> None:
    seen = worded(seen, reword)
    assert step_of(seen) == expected
    assert brief(after(seen, Done(expected))).get("Healthy") == healthy


@pytest.mark.parametrize("reword", REWORDINGS)
def test_what_was_announced_is_done_whatever_the_sentences_say(reword: Rewording) -> None:
    assert step_of(worded(after(MOVING, Done(Announce())), reword)) == ForgetNotes(), "the step before the first apply"
    emptied = worded(after(EMPTIED, Done(Announce())), reword)
    assert step_of(emptied) == LeaveNamespaces((), (namespace(),))


def test_what_is_announced_is_done_although_its_sentence_is_cut() -> None:
    keys = [ObjectKey(*CRD, "", f"{letter * 250}.example.com") for letter in "abcde"]
    moving = upgrading(rendered(*keys, digest="v2", storage="v2"), rendered(*keys))
    labeled = {key: member(key) for key in keys}
    notes = {key: LastApplied("v1", ENTRY, ago(hours=1)) for key in keys}
    kinds = frozenset({CRD})
    moving = replace(moving, crds={key.name: crd(key.name) for key in keys}, labeled=labeled, last_applied=notes)
    moving = replace(moving, inventory=kinds)
    assert step_of(moving) == Announce()
    assert step_of(after(moving, Done(Announce()))) == ForgetNotes()


@pytest.mark.parametrize("reword", REWORDINGS)
def test_what_missed_its_deadline_has_failed_until_it_is_healthy_whatever_the_sentences_say(reword: Rewording) -> None:
    began = condition("Healthy", "Unknown", "Progressing", f"{WORKLOAD}: 0 of 1 run", ago(minutes=10))
    late = after(with_conditions(long_installed(unwell(ROLLOUT)), [began]), Done(Keep()))
    assert brief(late)["Healthy"] == "False/Unhealthy"
    again = after(worded(late, reword), Done(Keep()))
    assert brief(again)["Healthy"] == "False/Unhealthy"
    assert brief(after(worded(replace(again, labeled=installed().labeled), reword), Done(Keep())))["Ready"].startswith(
        "True"
    )


@pytest.mark.parametrize("written", ["2026-01-01t11:50:00z", "0000-01-01T00:00:00Z", "2026-01-01T11:50:00,5", "soon"])
def test_a_time_that_a_person_wrote_says_as_little_as_one_of_a_wrong_clock(written: str) -> None:
    seen = long_installed(unwell(ROLLOUT))
    (ahead,) = [condition("Healthy", "Unknown", "Progressing", f"{WORKLOAD}: 0 of 1 run", ago(minutes=-60))]
    edited = ahead.model_copy(update={"last_transition_time": written})
    reports = [after(with_conditions(seen, [began]), Done(Keep())) for began in (ahead, edited)]
    assert brief(reports[1])["Healthy"] == brief(reports[0])["Healthy"]
    assert step_of(with_conditions(seen, [edited])) == step_of(with_conditions(seen, [ahead]))


@pytest.mark.parametrize("reword", REWORDINGS)
def test_what_was_deleted_has_its_deadline_again_whatever_the_sentences_say(reword: Rewording) -> None:
    seen = long_installed(installed())
    absent = replace(seen, labeled={key: entry for key, entry in seen.labeled.items() if key != WORKLOAD})
    began = condition("Healthy", "Unknown", "Progressing", f"{WORKLOAD}: it does not exist", ago(minutes=10))
    late = after(with_conditions(absent, [began]), WAITS)
    assert brief(late)["Healthy"] == "False/Unhealthy"
    assert brief(after(worded(late, reword), WAITS))["Healthy"] == "False/Unhealthy", "as long as it does not exist"
    again = replace(worded(late, reword), labeled=unwell(ROLLOUT).labeled)
    assert brief(after(again, Done(Keep())))["Healthy"] == "Unknown/Progressing"


@pytest.mark.parametrize("reword", REWORDINGS)
def test_a_revision_does_not_fail_by_what_was_reported_of_the_one_before(reword: Rewording) -> None:
    """Its own objects have just been applied."""
    late = unhealthy(half_way(IN_PROGRESS, GOOD), f"{WORKLOAD}: 0 of 1 run")
    late = after(worded(unwell(ROLLOUT, late), reword), Done(Keep()))
    new = applied(replace(upgrading(), deployment=late.deployment))
    new = replace(new, labeled={**new.labeled, WORKLOAD: member(WORKLOAD, health=ROLLOUT)})
    status = report_of(worded(new, reword), Done(Activate())).status
    assert [one.outcome for one in status.history or ()] == ["InProgress", "Succeeded"]
    assert {one.type: one.reason for one in status.conditions}["Healthy"] == Reason.PROGRESSING


def test_a_change_of_options_does_not_fail_by_what_was_reported_before_it() -> None:
    """The Bundle stays the same one, and its objects have just been applied as spec asks for now."""
    seen = changed(installed(), GOOD, spec={"watchNamespaces": ["harbour"]}, activeBundle=OLD, revision=1)
    seen = replace(seen, active_content=seen.content, fallback_content=seen.content)
    late = unhealthy(unwell(ROLLOUT, seen), f"{WORKLOAD}: 0 of 1 run")
    began = after(late, Done(BeginRevision()))
    assert [one.outcome for one in began.deployment.status.history or ()] == ["InProgress", "Succeeded"]
    status = report_of(unwell(ROLLOUT, began), Done(Activate())).status
    assert [one.outcome for one in status.history or ()] == ["InProgress", "Succeeded"]


@pytest.mark.parametrize("reword", REWORDINGS)
def test_nothing_is_rolled_back_because_of_a_sentence(reword: Rewording) -> None:
    seen = unhealthy(unwell(ROLLOUT, running(IN_PROGRESS, GOOD)), f"{WORKLOAD}: 0 of 1 run")
    seen = worded(seen, reword)
    assert step_of(seen) == Keep()
    assert [one.outcome for one in report_of(seen, Done(Keep())).status.history or ()] == ["InProgress", "Succeeded"]
