"""Moving sets: each member records the plan, then takes its step, then removes the record."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.bundledeployments import PLANNED_BUNDLE_ANNOTATION
from olmkit.api.operators import Reason
from olmkit.errors import Waiting
from operator_controller.operator.decide import decide
from operator_controller.operator.planned_bundle import read_record
from operator_controller.operator.report import report
from operator_controller.operator.resolution_request import make_request
from operator_controller.operator.world import (
    ApplyBundleDeployment,
    Done,
    Neighbour,
    ObservedBundleDeployment,
    RecordPlan,
    World,
)
from operator_controller.resolve.answers.answer import AnswerKind, Member
from operator_controller.resolve.snapshot.cluster_snapshot import MovingSet, PlannedBundle
from tests.unit.operator_controller.operator.dependency_rows import DEPENDENCY
from tests.unit.operator_controller.operator.report_rows import INSTALLED, READY
from tests.unit.operator_controller.operator.worlds import deployment, image, operator, world

SET = MovingSet("plan-1", (("p", "p.v1.1.0"), ("q", "q.v2.0.0")))
MEMBERS = (
    Member("p", "p.v1.1.0", "1.1.0", requires=("q",), is_changed=True),
    Member("q", "q.v2.0.0", "2.0.0", is_changed=True),
)
OWN = {
    "plan": "plan-1",
    "bundle": "p.v1.1.0",
    "version": "1.1.0",
    "catalog": "community",
    "image": image("1.1.0"),
    "members": {"p": "p.v1.1.0", "q": "q.v2.0.0"},
}
RECORD = json.dumps(OWN, sort_keys=True, separators=(",", ":"))
RECORDED = Neighbour("beta", "q", "q.v1.0.0", plan="plan-1", requested="q.v1.0.0", has_bundle_deployment=True)
NEW = Neighbour("beta", "q", requested="q.v2.0.0", has_bundle_deployment=True)
MOVED = replace(RECORDED, bundle="q.v2.0.0", plan="", requested="q.v2.0.0")


def moving(record: str = "", neighbour: Neighbour | None = RECORDED, **changes: Any) -> World:
    """The World of an Operator with 1.0.0 (or `runs`) that is to move to 1.1.0 together with package q; changes of its answer."""
    runs, spec, status = (
        changes.pop("runs", "1.0.0"),
        changes.pop("spec", {}),
        changes.pop("status", [INSTALLED, READY]),
    )
    state = deployment(changes.pop("requests", runs), status, active=f"alpha-{runs}")
    raw = dict(state.raw)
    if record:
        raw["metadata"] = {**raw["metadata"], "annotations": {PLANNED_BUNDLE_ANNOTATION: record}}
    recheck = changes.pop("needs_recheck", False)
    observed = world(
        operator(spec), runs=runs, bundle_deployment=ObservedBundleDeployment.load(raw), needs_recheck=recheck
    )
    assert observed.resolution is not None
    assert observed.resolution.answer is not None
    answer = replace(observed.resolution.answer, **{"moving_set": SET, "members": MEMBERS, **changes})
    neighbours = {"q": neighbour} if neighbour is not None else {}
    return replace(observed, resolution=replace(observed.resolution, answer=answer), neighbours=neighbours)


WRITE, REMOVE = RecordPlan("alpha", "uid-deployment", RECORD), RecordPlan("alpha", "uid-deployment", "")
OTHER = RECORD.replace("plan-1", "plan-0")
STEPS: list[tuple[str, World, object]] = [
    ("the plan is recorded before the step", moving(), WRITE),
    ("another plan is replaced", moving(OTHER), WRITE),
    ("another member has not recorded it", moving(RECORD, replace(RECORDED, plan="")), Waiting),
    ("another member has recorded another plan", moving(RECORD, replace(RECORDED, plan="plan-0")), Waiting),
    ("another member has no Operator", moving(RECORD, None), Waiting),
    ("another member is being deleted", moving(RECORD, replace(RECORDED, is_deleting=True)), Waiting),
    ("all have recorded it", moving(RECORD), ApplyBundleDeployment),
    ("another member has moved", moving(RECORD, MOVED), ApplyBundleDeployment),
    ("a dependency that is a member comes first", moving(RECORD, dependencies=(DEPENDENCY,), after=("q",)), Waiting),
    (
        "a dependency that is a member has moved",
        moving(RECORD, MOVED, dependencies=(DEPENDENCY,), after=("q",)),
        ApplyBundleDeployment,
    ),
    (
        "a dependency runs the required bundle and is being replaced",
        moving(RECORD, replace(MOVED, requested="q.v3.0.0"), dependencies=(DEPENDENCY,), after=("q",)),
        Waiting,
    ),
    (
        "what runs of another one would break: it moves first",
        moving(moving_set=None, after=("q",)),
        Waiting,
    ),
    ("what would have broken has moved", moving("", MOVED, moving_set=None, after=("q",)), ApplyBundleDeployment),
    ("what would break is not installed yet", moving("", NEW, moving_set=None, after=("q",)), ApplyBundleDeployment),
    ("a step that breaks nothing is not recorded", moving(moving_set=None), ApplyBundleDeployment),
    ("the bundle is installed: the record is removed", moving(RECORD, MOVED, runs="1.1.0", moving_set=None), REMOVE),
    ("the set does not move any more", moving(RECORD, moving_set=None), REMOVE),
    ("a record that cannot be read is removed", moving("{", moving_set=None), REMOVE),
    ("a catalog is being read again", moving(RECORD, moving_set=None, needs_recheck=True), ApplyBundleDeployment),
    (
        "the bundle is installed while a catalog is being read again",
        moving(RECORD, runs="1.1.0", moving_set=None, needs_recheck=True),
        REMOVE,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("observed", "expected"), [pytest.param(w, e, id=name) for name, w, e in STEPS])
def test_each_member_records_the_plan_before_its_step(observed: World, expected: object) -> None:
    plan = decide(observed).plan
    if isinstance(expected, type):
        assert isinstance(plan, expected)
    else:
        assert plan == expected


def test_an_unproved_answer_ends_no_plan() -> None:
    observed = moving(RECORD, moving_set=None, kind=AnswerKind.UNDECIDED, bundle=None, is_resolved=False)
    assert not isinstance(decide(observed).plan, RecordPlan)


def test_a_paused_operator_records_nothing() -> None:
    assert not isinstance(decide(moving(spec={"paused": True})).plan, RecordPlan)


def test_a_bundle_that_cannot_be_installed_is_not_recorded_so_that_no_other_member_moves() -> None:
    observed = moving()
    assert observed.resolution is not None
    assert observed.resolution.answer is not None
    assert observed.resolution.answer.bundle is not None
    bundle = replace(observed.resolution.answer.bundle, media_type="helm")
    answer = replace(observed.resolution.answer, bundle=bundle)
    refused = replace(observed, resolution=replace(observed.resolution, answer=answer))
    assert isinstance(decide(refused).plan, Exception)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        pytest.param(
            moving(RECORD, replace(RECORDED, plan="", message="Operator is paused")),
            "moves together with other Operators, which have not recorded it yet: Operator beta (Operator is paused)",
            id="a plan that is not recorded",
        ),
        pytest.param(
            moving(moving_set=None, after=("q",)),
            "waiting for the upgrade of what requires the installed version: Operator beta to 2.0.0",
            id="a step that would break another Operator",
        ),
    ],
)
def test_what_waits_for_dependants_says_so(observed: World, message: str) -> None:
    decision = decide(observed)
    assert isinstance(decision.plan, Waiting)
    status_report = report(observed, decision.evaluation, decision.plan)
    assert status_report is not None
    found = {one.type: one for one in status_report.status.conditions}
    assert (found["Ready"].status, found["Ready"].reason, found["Ready"].message) == ("False", "Upgrading", message)
    assert found["Reconciling"].reason == Reason.WAITING_FOR_DEPENDANTS
    assert found["Installed"].status == "True"


def test_the_status_is_not_written_for_a_record() -> None:
    observed = moving()
    decision = decide(observed)
    assert isinstance(decision.plan, RecordPlan)
    assert report(observed, decision.evaluation, Done(decision.plan)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"plan":"x"}',
        RECORD.replace('"members":{', '"members":{"r":1,'),
        RECORD.replace("plan-1", ""),
        pytest.param(RECORD.replace("plan-1", "\\ud800"), id="a text that UTF-8 cannot hold"),
    ],
)
def test_what_a_person_wrote_is_no_record(text: str) -> None:
    raw = dict(deployment("1.0.0").raw)
    raw["metadata"] = {**raw["metadata"], "annotations": {PLANNED_BUNDLE_ANNOTATION: text}}
    assert read_record(ObservedBundleDeployment.load(raw)) is None


def test_a_record_is_part_of_the_request() -> None:
    request = make_request(moving(RECORD))
    assert request is not None
    assert request.planned == PlannedBundle("plan-1", "p.v1.1.0", image("1.1.0"), SET.members)


@pytest.mark.parametrize("reason", ["UnpackFailed", "BundleLoadFailed"])
def test_the_record_of_a_bundle_that_cannot_be_installed_does_not_count(reason: str) -> None:
    failed = ("HasValidBundle", "False", reason, "no such image")
    request = make_request(moving(RECORD, requests="1.1.0", status=[INSTALLED, failed]))
    assert request is not None
    assert request.planned is None


def test_the_record_counts_while_the_installed_bundle_cannot_be_read() -> None:
    failed = ("HasValidBundle", "False", "UnpackFailed", "the registry is away")
    request = make_request(moving(RECORD, status=[INSTALLED, failed]))
    assert request is not None
    assert request.planned is not None
