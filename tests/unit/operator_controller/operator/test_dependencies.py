"""Dependencies: they are created and installed first, and deleted when nothing requires them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api import operators
from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from olmkit.api.operators import INSTALLED_FOR_LABEL, Operator, OperatorSpec
from olmkit.errors import OlmError, Waiting
from operator_controller.operator.decide import decide
from operator_controller.operator.dependencies import count_request, deletion_hold, is_unused
from operator_controller.operator.report import report
from operator_controller.operator.world import (
    ApplyBundleDeployment,
    CreateDependency,
    DeleteBundleDeployment,
    DeleteDependency,
    Done,
    HoldDeletion,
    Keep,
    Neighbour,
    ObservedBundleDeployment,
    RemoveDependencyLabel,
    RequestCount,
    WithdrawCount,
    World,
)
from operator_controller.resolve.answers.answer import AnswerKind, AnswerState, Member
from tests.unit.operator_controller.operator.dependency_rows import MEMBERS, MISSING, requiring, with_neighbour
from tests.unit.operator_controller.operator.report_rows import INSTALLED, READY
from tests.unit.operator_controller.operator.worlds import NOW, deployment, offer, operator, world

EARLIER = {
    "apiVersion": operators.KIND.api_version,
    "kind": "Operator",
    "name": "alpha",
    "uid": "other",
    "controller": True,
}
DEPENDANT = Neighbour("beta", "b", "b.v1", has_bundle_deployment=True)


def test_an_operator_for_a_missing_dependency_is_created_first() -> None:
    plan = decide(MISSING).plan
    assert isinstance(plan, CreateDependency)
    assert plan.operator["metadata"] == {"name": "q", "labels": {INSTALLED_FOR_LABEL: ""}, "resourceVersion": "1"}
    assert plan.operator["spec"] == {"packageName": "q"}


def test_a_dependency_has_the_account_of_the_operator_that_requires_it() -> None:
    for install, account in (
        ({"serviceAccount": {"name": "installer"}, "namespace": "team"}, {"name": "installer", "namespace": "team"}),
        (
            {"serviceAccount": {"name": "installer", "namespace": "other"}, "namespace": "team"},
            {"name": "installer", "namespace": "other"},
        ),
    ):
        spec = OperatorSpec.load({**MISSING.operator.spec.dump(), "install": install})
        plan = decide(replace(MISSING, operator=MISSING.operator.model_copy(update={"spec": spec}))).plan
        assert isinstance(plan, CreateDependency)
        assert plan.operator["spec"] == {"packageName": "q", "install": {"serviceAccount": account}}


def test_the_status_names_the_dependencies() -> None:
    observed = with_neighbour(requiring(), bundle="q.v2.0.0")
    decision = decide(observed)
    assert isinstance(decision.plan, ApplyBundleDeployment)
    status_report = report(observed, decision.evaluation, Done(decision.plan))
    assert status_report is not None
    assert status_report.status.dump()["dependencies"] == [
        {
            "package": "q",
            "version": "2.0.0",
            "bundle": "q.v2.0.0",
            "operator": "q",
            "installed": True,
            "requirement": "p v1.1.0 requires q >=2.0.0",
        }
    ]


def test_a_dependency_that_runs_while_it_is_being_deleted_is_installed_and_is_waited_for() -> None:
    observed = with_neighbour(requiring(), bundle="q.v2.0.0", is_deleting=True)
    decision = decide(observed)
    assert isinstance(decision.plan, Waiting)
    status_report = report(observed, decision.evaluation, decision.plan)
    assert status_report is not None
    (entry,) = status_report.status.dump()["dependencies"]
    assert (entry["bundle"], entry["installed"]) == ("q.v2.0.0", True)


def test_members_of_a_cycle_do_not_wait_for_each_other() -> None:
    cycle = (
        MEMBERS[0],
        replace(MEMBERS[1], requires=("r",)),
        Member("r", "r.v1", "1.0.0", requires=("p",), is_changed=True),
    )
    observed = with_neighbour(requiring(members=cycle, after=()), message="waiting")
    assert isinstance(decide(observed).plan, ApplyBundleDeployment)


# --- an Operator that was created as a dependency


CREATED = [
    {
        "manager": "operator-controller",
        "operation": "Apply",
        "time": "2026-01-01T00:00:00Z",
        "fieldsV1": {"f:spec": {"f:packageName": {}}},
    }
]


def dependency(**changes: Any) -> World:
    """The World of an installed dependency; changes: label, created, managed_fields, annotations, count, offers, answer, …"""
    raw = operator()
    if changes.get("label", True):
        raw["metadata"]["labels"] = {INSTALLED_FOR_LABEL: ""}
    raw["metadata"]["managedFields"] = [*changes.get("created", CREATED), *changes.get("managed_fields", [])]
    raw["metadata"]["annotations"] = changes.get("annotations", {})
    state = deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0")
    observed_raw: dict[str, Any] = dict(state.raw)
    if "count" in changes:
        observed_raw["metadata"] = {**observed_raw["metadata"], "annotations": {COUNT_ANNOTATION: changes["count"]}}
    if "counts" in changes:
        counted = {
            "customResources": changes["counts"],
            "lastHandledCount": changes.get("handled", changes.get("count")),
        }
        observed_raw["status"] = {**observed_raw["status"], **counted}
    offers = {"offers": changes["offers"]} if "offers" in changes else {}
    observed = world(raw, runs="1.1.0", bundle_deployment=ObservedBundleDeployment.load(observed_raw), **offers)
    assert observed.resolution is not None
    assert observed.resolution.answer is not None
    answer = replace(observed.resolution.answer, **changes.get("answer", {}))
    settled, recheck = changes.get("settled", True), changes.get("recheck", False)
    return replace(observed, resolution=AnswerState(answer, recheck, is_component_settled=settled))


FRESH, OLD = count_request(NOW - timedelta(seconds=9), "a"), count_request(NOW - timedelta(seconds=121), "a")
NONE: list[dict[str, Any]] = [{"group": "g.example.com", "kind": "Thing", "plural": "things", "count": 0}]
SOME: list[dict[str, Any]] = [
    {"group": "cert-manager.io", "kind": "Certificate", "plural": "certificates", "count": 500}
]
UNKNOWN: list[dict[str, Any]] = [
    {"group": "g.example.com", "kind": "Policy", "plural": "policies", "message": "its API is down"}
]

PLANS = [
    ("nothing requires it: its custom resources are counted", dependency(), RequestCount),
    ("the count is not there yet", dependency(count=FRESH), Keep),
    ("the count is for an earlier request", dependency(count=FRESH, counts=NONE, handled="other"), Keep),
    ("it has no custom resources", dependency(count=FRESH, counts=NONE), DeleteDependency),
    ("it has no CRDs", dependency(count=FRESH, counts=[]), DeleteDependency),
    ("it had no custom resources an hour ago", dependency(count=OLD, counts=NONE), RequestCount),
    ("a person changed the request", dependency(count="mine", counts=NONE), RequestCount),
    ("it has custom resources", dependency(count=FRESH, counts=SOME), Keep),
    ("its custom resources could not be counted", dependency(count=FRESH, counts=UNKNOWN), Keep),
    ("what runs requires it", dependency(answer={"needed_by": ("b",)}), Keep),
    ("what runs requires it again", dependency(answer={"needed_by": ("b",)}, count=OLD), WithdrawCount),
    ("a catalog is being read again after the count", dependency(recheck=True, count=OLD, counts=NONE), Keep),
    ("one that may require it is refused after the count", dependency(settled=False, count=OLD, counts=NONE), Keep),
    (
        "what is to be installed requires it",
        dependency(answer={"members": (Member("b", "b.v1", "1.0.0", requires=("p",), is_changed=True),)}),
        Keep,
    ),
    ("what is being deleted requires it", dependency(answer={"required_by_deleting": ("b",)}), Keep),
    ("one that may require it is refused", dependency(settled=False), Keep),
    ("a catalog is being read again", dependency(recheck=True), Keep),
    ("the answer is not proved", dependency(answer={"kind": AnswerKind.UNDECIDED}), Keep),
    ("a person created it", dependency(label=False), Keep),
    (
        "a person has applied it",
        dependency(managed_fields=[{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:packageName": {}}}}]),
        RemoveDependencyLabel,
    ),
    ("nothing shows who created it", dependency(created=[]), RemoveDependencyLabel),
    (
        "operator-controller wrote its status and its finalizer alone",
        dependency(
            created=[
                {**CREATED[0], "subresource": "status"},
                {**CREATED[0], "operation": "Update", "fieldsV1": {"f:metadata": {"f:finalizers": {}}}},
            ]
        ),
        RemoveDependencyLabel,
    ),
    (
        "kubectl apply has changed nothing but its own annotation",
        dependency(annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"}),
        RemoveDependencyLabel,
    ),
    (
        "others own fields of its metadata or status alone",
        dependency(
            managed_fields=[{"manager": "kubectl", "fieldsV1": {"f:metadata": {}}}], answer={"needed_by": ("b",)}
        ),
        Keep,
    ),
]


CIRCLE = (Member("b", "b.v1", "1.0.0", requires=("p",)), Member("p", "p.v1", "1.1.0", requires=("b",)))
KEPT_BY_CIRCLE = dependency(
    count=FRESH, counts=NONE, answer={"members": CIRCLE, "needed_by": ("b",), "removed_with": ("b",)}
)


@pytest.mark.parametrize(
    ("neighbour", "expected"),
    [
        pytest.param(DEPENDANT, Keep, id="in use, or not counted yet"),
        pytest.param(replace(DEPENDANT, is_unused=True), DeleteDependency, id="not in use"),
        pytest.param(replace(DEPENDANT, is_deleting=True), DeleteDependency, id="being deleted"),
    ],
)
def test_dependencies_that_require_each_other_are_deleted_when_none_of_them_is_in_use(
    neighbour: Neighbour, expected: type
) -> None:
    observed = held(replace(KEPT_BY_CIRCLE, neighbours={"b": neighbour}), "required by Operator beta")
    assert isinstance(decide(observed).plan, expected)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(dependency(count=FRESH, counts=NONE), True, id="nothing uses it"),
        pytest.param(dependency(count=FRESH, counts=SOME), False, id="something uses it"),
        pytest.param(dependency(count=FRESH), False, id="a count is outstanding"),
        pytest.param(dependency(), False, id="no count is requested"),
        pytest.param(dependency(label=False, count=FRESH, counts=NONE), False, id="a person created it"),
        pytest.param(replace(dependency(), bundle_deployment=None), True, id="nothing was installed for it"),
    ],
)
def test_a_dependency_is_unused_when_its_custom_resources_were_counted_and_there_are_none(
    observed: World, expected: bool
) -> None:
    assert is_unused(observed) is expected


@pytest.mark.parametrize(("observed", "expected"), [pytest.param(w, e, id=name) for name, w, e in PLANS])
def test_a_dependency_stays_while_it_is_required_or_in_use(observed: World, expected: type) -> None:
    assert isinstance(decide(observed).plan, expected)


def test_a_dependency_is_deleted_only_as_it_was_observed() -> None:
    assert decide(dependency(count=FRESH, counts=NONE)).plan == DeleteDependency("alpha", "uid-alpha", "7")


def held(observed: World, reason: str) -> World:
    """The World in which the BundleDeployment has the annotation that holds its deletion."""
    assert observed.bundle_deployment is not None
    raw = dict(observed.bundle_deployment.raw)
    annotations = {**(raw["metadata"].get("annotations") or {}), DELETION_HOLD_ANNOTATION: reason}
    raw["metadata"] = {**raw["metadata"], "annotations": annotations}
    return replace(observed, bundle_deployment=ObservedBundleDeployment.load(raw))


NEWER = (offer("1.1.0", "1.2.0"),)


@pytest.mark.parametrize(
    "observed",
    [
        pytest.param(dependency(offers=NEWER), id="the count is not requested yet"),
        pytest.param(
            held(dependency(offers=NEWER), "required by Operator beta"),
            id="the hold of its deletion is not removed yet",
        ),
        pytest.param(dependency(offers=NEWER, count=FRESH), id="the count is not there yet"),
        pytest.param(dependency(offers=NEWER, count=FRESH, counts=SOME, handled="other"), id="an earlier count"),
        pytest.param(dependency(offers=NEWER, count=FRESH, counts=NONE), id="it has no custom resources"),
    ],
)
def test_what_nothing_requires_is_not_upgraded_before_its_deletion(observed: World) -> None:
    decision = decide(observed)
    assert not isinstance(decision.plan, ApplyBundleDeployment)
    outcome = decision.plan if isinstance(decision.plan, OlmError) else Done(decision.plan)
    assert report(observed, decision.evaluation, outcome) is None


def test_what_nothing_requires_and_is_in_use_follows_its_channel() -> None:
    assert isinstance(decide(dependency(offers=NEWER, count=FRESH, counts=SOME)).plan, ApplyBundleDeployment)


def test_a_dependency_without_an_answer_stays() -> None:
    observed = replace(dependency(), resolution=AnswerState(since=NOW))
    assert not isinstance(decide(observed).plan, DeleteDependency | RequestCount)


def test_the_count_of_a_dependency_stays_requested_until_it_is_known_whether_it_is_required() -> None:
    observed = replace(dependency(count=FRESH, counts=NONE), resolution=AnswerState(since=NOW))
    assert not isinstance(decide(observed).plan, WithdrawCount)


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        pytest.param(SOME, "kept: 500 certificates.cert-manager.io in use", id="some"),
        pytest.param(UNKNOWN, "kept: an unknown number of policies.g.example.com in use", id="not known"),
        pytest.param(
            [{"group": "g", "kind": "Bus", "plural": "busses", "count": 10000, "truncated": True}],
            "kept: 10000 or more busses.g in use",
            id="too many to count",
        ),
        pytest.param([{"group": "g", "kind": "Bus", "count": 2}], "kept: 2 Bus.g in use", id="the plural is not known"),
    ],
)
def test_a_dependency_in_use_is_ready_and_names_what_uses_it(counts: list[dict[str, Any]], note: str) -> None:
    observed = dependency(count=FRESH, counts=counts)
    decision = decide(observed)
    assert isinstance(decision.plan, Keep)
    status_report = report(observed, decision.evaluation, Done(decision.plan))
    assert status_report is not None
    ready = next(one for one in status_report.status.conditions if one.type == "Ready")
    assert (ready.status, ready.message.startswith(f"{note}; ")) == ("True", True)


# --- deletion


def deleting(neighbours: tuple[Neighbour, ...] = (), **answer: Any) -> World:
    """The World of an installed Operator that is being deleted."""
    observed = dependency(label=False, answer={"kind": AnswerKind.DELETING, **answer})
    raw = operator(deleting=True)
    return replace(
        observed, raw=raw, operator=Operator.load(raw), neighbours={each.package: each for each in neighbours}
    )


def rechecked(observed: World) -> World:
    """The World while a catalog is read again."""
    assert observed.resolution is not None
    return replace(observed, resolution=replace(observed.resolution, needs_recheck=True))


@pytest.mark.parametrize(
    ("observed", "hold"),
    [
        pytest.param(deleting(), "", id="nothing requires it"),
        pytest.param(
            held(deleting((DEPENDANT,), needed_by=("b",)), "required by Operator beta"),
            "Operator beta requires it: delete what requires it first",
            id="what runs requires it",
        ),
        pytest.param(
            held(
                deleting((replace(DEPENDANT, is_deleting=True),), required_by_deleting=("b",)),
                "required by Operator beta",
            ),
            "Operator beta requires it and is deleted first",
            id="what is being deleted requires it",
        ),
        pytest.param(
            deleting((replace(DEPENDANT, has_bundle_deployment=False),), needed_by=("b",)),
            "",
            id="what is not installed requires it",
        ),
        pytest.param(
            deleting((DEPENDANT,), members=(Member("b", "b.v1.0.0", "1.0.0", requires=("p",)),)),
            "",
            id="something else that stays satisfies what requires it",
        ),
    ],
)
def test_what_others_require_is_not_deleted_before_them(observed: World, hold: str) -> None:
    assert deletion_hold(observed) == hold
    plan = decide(observed).plan
    assert isinstance(plan, Keep if hold else DeleteBundleDeployment)
    status_report = report(observed, decide(observed).evaluation, Done(plan))
    assert status_report is not None
    ready = next(one for one in status_report.status.conditions if one.type == "Ready")
    assert (ready.status, ready.reason) == ("False", "DeletionBlocked" if hold else "Removing")
    assert hold in ready.message


REQUIRED = replace(dependency(answer={"needed_by": ("b",)}), neighbours={"b": DEPENDANT})


@pytest.mark.parametrize(
    ("observed", "reason"),
    [
        pytest.param(REQUIRED, "required by Operator beta", id="an Operator that another one requires"),
        pytest.param(held(REQUIRED, "required by Operator beta"), None, id="it is held already"),
        pytest.param(held(REQUIRED, "do not touch"), None, id="a person holds it"),
        pytest.param(held(dependency(label=False), "do not touch"), None, id="a person holds what nothing requires"),
        pytest.param(held(REQUIRED, "required by Operator gamma"), "required by Operator beta", id="others require it"),
        pytest.param(held(dependency(label=False), "required by Operator beta"), "", id="nothing requires it any more"),
        pytest.param(
            held(dependency(label=False, recheck=True), "required by Operator beta"), None, id="a catalog is read again"
        ),
        pytest.param(held(deleting(), "required by Operator beta"), "", id="a deletion that nothing keeps"),
        pytest.param(
            held(deleting((DEPENDANT,), needed_by=("b",)), "required by Operator beta"),
            None,
            id="a deletion that waits",
        ),
        pytest.param(
            held(replace(deleting(), running=None, resolution=None), "required by Operator beta"),
            "",
            id="a deletion of what was never installed",
        ),
        pytest.param(
            held(rechecked(deleting()), "required by Operator beta"), "", id="a deletion while a catalog is read again"
        ),
    ],
)
def test_rukpak_holds_the_deletion_of_what_others_require(observed: World, reason: str | None) -> None:
    plan = decide(observed).plan
    expected = None if reason is None else HoldDeletion("alpha", "uid-deployment", reason)
    assert (plan if isinstance(plan, HoldDeletion) else None) == expected


REPLACED = replace(
    world(bundle_deployment=deployment("1.1.0", owners=[EARLIER], deleting=True)), neighbours={"b": DEPENDANT}
)
REQUIRES = (Member("b", "b.v1", "1.0.0", requires=("p",)), Member("p", "p.v1.1.0", "1.1.0", is_changed=True))


def answered(observed: World, **answer: Any) -> World:
    """The World with changes of its answer."""
    assert observed.resolution is not None
    assert observed.resolution.answer is not None
    state = replace(observed.resolution, answer=replace(observed.resolution.answer, **answer))
    return replace(observed, resolution=state)


@pytest.mark.parametrize(
    ("observed", "reason"),
    [
        pytest.param(held(REPLACED, "required by Operator beta"), "", id="nothing requires it any more"),
        pytest.param(
            held(answered(REPLACED, members=REQUIRES), "required by Operator beta"), None, id="what runs requires it"
        ),
        pytest.param(
            held(
                replace(
                    answered(REPLACED, members=REQUIRES),
                    neighbours={"b": replace(DEPENDANT, has_bundle_deployment=False)},
                ),
                "required by Operator beta",
            ),
            "",
            id="what is not installed requires it",
        ),
        pytest.param(held(rechecked(REPLACED), "required by Operator beta"), None, id="a catalog is read again"),
        pytest.param(held(REPLACED, "do not touch"), None, id="a person holds it"),
        pytest.param(
            held(world(bundle_deployment=deployment("1.1.0", owners=[EARLIER])), "required by Operator beta"),
            None,
            id="it is not being deleted",
        ),
        pytest.param(REPLACED, None, id="it is not held"),
    ],
)
def test_the_hold_on_what_an_earlier_operator_left_ends_with_what_requires_it(
    observed: World, reason: str | None
) -> None:
    plan = decide(observed).plan
    expected = None if reason is None else HoldDeletion("alpha", "uid-deployment", reason)
    assert (plan if isinstance(plan, HoldDeletion) else None) == expected


def test_a_deletion_waits_until_it_is_known_who_requires_it() -> None:
    observed = replace(deleting(), resolution=AnswerState(since=NOW))
    plan = decide(observed).plan
    assert isinstance(plan, Keep)
    assert report(observed, decide(observed).evaluation, Done(plan)) is None


def test_a_deletion_whose_dependants_are_not_known_for_longer_is_reported() -> None:
    observed = replace(deleting(), resolution=AnswerState(since=NOW - timedelta(minutes=1)))
    plan = decide(observed).plan
    assert isinstance(plan, Keep)
    status_report = report(observed, decide(observed).evaluation, Done(plan))
    assert status_report is not None
    ready = next(one for one in status_report.status.conditions if one.type == "Ready")
    assert ready.message == "the deletion waits: it is not known yet whether others require it"
