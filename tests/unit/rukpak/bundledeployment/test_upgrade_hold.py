"""When the OperatorCondition of the installed bundle holds an upgrade, and what the BundleDeployment says meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.bundledeployment_status import UpgradeHold
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.errors import Waiting
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.operator_condition import ConditionState
from rukpak.bundledeployment.plan import (
    Activate,
    Apply,
    BeginRevision,
    CopyConditions,
    Done,
    Keep,
    RollBack,
    UpdateInventory,
)
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.upgrade_hold import upgrade_hold
from rukpak.bundledeployment.world import BriefWait, LastApplied, World
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import (
    ALL,
    ENTRY,
    WORKLOAD,
    applied,
    deleting,
    installed,
    member,
    plan_of,
    rendered,
    report_of,
    revision,
    unpacked,
    upgrading,
    world,
)

CONDITION = ObjectKey("operators.coreos.com", "OperatorCondition", "ship-system", "ship.v1")
FOREIGN = CONDITION._replace(namespace="tenant")
KIND = CONDITION[:2]
TEXT = "The operator is not upgradeable: migrating"
HOLD = UpgradeHold(operator_condition="ship-system/ship.v1", message=TEXT)
HELD, COPY = ConditionState(TEXT), ({"type": "Upgradeable", "status": "True"},)
V2, V3 = "registry.example.com/ship:v2", "registry.example.com/ship:v3"


def with_status(seen: World, **changes: Any) -> World:
    obj = {**seen.raw, "status": {**seen.raw["status"], **changes}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def recorded(*history: Any) -> list[Any]:
    """The history, in which the first revision has its OperatorCondition."""
    return [*history, revision(1, operatorCondition="ship-system/ship.v1")]


def with_condition(seen: World, state: ConditionState = HELD, key: ObjectKey = CONDITION, **facts: Any) -> World:
    """The OperatorCondition is there, in this state."""
    known = {**seen.labeled, key: member(key, operator_condition=state, **facts)}
    return replace(seen, labeled=known, inventory=seen.inventory | {KIND})


def requested(state: ConditionState = HELD, **changes: Any) -> World:
    """Version 1 is installed, and the template has been changed to version 2, of which nothing is applied."""
    seen = with_condition(with_status(upgrading(), history=recorded()), state)
    return replace(seen, **changes)


def in_force(state: ConditionState = HELD) -> World:
    """Version 1 is installed, as requested."""
    seen = with_status(installed(), history=recorded())
    content = rendered(*ALL, CONDITION, bundle=seen.target_bundle)
    return with_condition(applied(replace(seen, content=content)), state)


def with_options(seen: World) -> World:
    """Another field of spec than the template has been changed."""
    obj = {**seen.raw, "spec": {**seen.raw["spec"], "watchNamespaces": ["sea"]}}
    seen = replace(seen, raw=obj, deployment=BundleDeployment.load(obj))
    return unpacked(seen, rendered(digest="v1-sea"))


def returning() -> World:
    """The template is version 1 again, while version 2 was being applied."""
    seen = with_status(in_force(), history=recorded(revision(2, V2, "InProgress")))
    return replace(seen, last_applied={**seen.last_applied, WORKLOAD: LastApplied("v2", ENTRY, seen.now)})


def rolling_back() -> World:
    """Version 2 has failed, and the policy is to roll back."""
    seen = requested()
    seen = with_status(seen, history=recorded(revision(2, V2, "Failed")))
    obj = {**seen.raw, "spec": {**seen.raw["spec"], "rollback": "OnFailure"}}
    content = seen.active_content
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj), fallback_content=content)


def test_an_upgrade_waits_and_says_for_what() -> None:
    with pytest.raises(Waiting) as found:
        plan_of(requested())
    assert not isinstance(found.value, BriefWait)
    assert found.value.reason == "OperatorConditionNotUpgradeable"
    assert found.value.message == (
        f"OperatorCondition ship-system/ship.v1: {TEXT}; an override of Upgradeable in its spec.overrides lifts this"
    )
    status = report_of(requested(), found.value).status
    by_type = {each.type: each for each in status.conditions}
    waits = f"the upgrade to {requested().target_bundle} waits: {found.value.message}"
    for name, expected in (
        ("Ready", "False/OperatorConditionNotUpgradeable"),
        ("Reconciling", "True/OperatorConditionNotUpgradeable"),
    ):
        each = by_type[name]
        assert (f"{each.status}/{each.reason}", each.message) == (expected, waits)
    assert [(by_type[name].status, by_type[name].reason) for name in ("HasValidBundle", "Installed", "Healthy")] == [
        ("True", "UnpackSuccessful"),
        ("True", "InstallationSucceeded"),
        ("True", "Healthy"),
    ]
    assert status.upgrade_hold == HOLD
    assert status.active_bundle == requested().active_bundle


def test_a_held_upgrade_is_no_reason_to_leave_the_installed_bundle_unrepaired() -> None:
    seen = requested()
    broken = replace(seen, last_applied={key: each for key, each in seen.last_applied.items() if key != WORKLOAD})
    plan = plan_of(broken)
    assert isinstance(plan, Apply)
    assert [item.key for step in plan.steps for item in step.items] == [WORKLOAD]
    assert plan.content is broken.active_content


@pytest.mark.parametrize(
    ("seen", "plan"),
    [
        pytest.param(requested(ConditionState()), BeginRevision, id="it permits upgrades"),
        pytest.param(
            replace(requested(), labeled={key: each for key, each in requested().labeled.items() if key != CONDITION}),
            BeginRevision,
            id="it does not exist",
        ),
        pytest.param(
            with_status(requested(), history=[revision(1)]), BeginRevision, id="the installed revision has none"
        ),
        pytest.param(
            requested(
                labeled={
                    **upgrading().labeled,
                    CONDITION: member(CONDITION, operator_condition=HELD, applied_fields={}),
                }
            ),
            BeginRevision,
            id="another client gave an object the label",
        ),
        pytest.param(
            requested(labeled={**upgrading().labeled, FOREIGN: member(FOREIGN, operator_condition=HELD)}),
            BeginRevision,
            id="one of another namespace",
        ),
        pytest.param(
            with_status(requested(), history=recorded(revision(2, V2, "InProgress"))), Apply, id="the upgrade has begun"
        ),
        pytest.param(with_options(in_force()), BeginRevision, id="only other fields of spec are changed"),
        pytest.param(returning(), BeginRevision, id="the template is that of the installed bundle again"),
        pytest.param(rolling_back(), RollBack, id="a rollback"),
        pytest.param(unpacked(world(has_operator_conditions=True)), UpdateInventory, id="the first installation"),
        pytest.param(in_force(), Keep, id="nothing is requested"),
    ],
)
def test_what_is_not_held(seen: World, plan: type) -> None:
    assert isinstance(plan_of(seen), plan)


def test_a_deletion_is_not_held() -> None:
    assert not isinstance(plan_of(deleting(in_force())), Keep)


def test_an_upgrade_does_not_begin_before_the_objects_are_listed() -> None:
    """A process that has just started does not know the OperatorCondition yet."""
    seen = requested(labeled=upgrading().labeled, unsynced=frozenset({KIND}))
    with pytest.raises(BriefWait) as found:
        plan_of(seen)
    assert found.value.message == "listing OperatorCondition"


def test_the_hold_is_reported_while_nothing_is_requested() -> None:
    """The Operator does not request an upgrade that would be held."""
    status = report_of(in_force(), Done(Keep())).status
    assert status.upgrade_hold == HOLD
    assert next(each.status for each in status.conditions if each.type == "Ready") == "True"
    assert report_of(in_force(ConditionState()), Done(Keep())).status.upgrade_hold is None


def test_the_hold_of_the_bundle_before_is_gone_with_the_upgrade() -> None:
    seen = applied(with_status(requested(), history=recorded(revision(2, V2, "InProgress"))))
    assert report_of(seen, Done(Activate())).status.upgrade_hold is None


def test_the_hold_stays_reported_while_the_objects_are_listed() -> None:
    seen = with_status(in_force(), upgradeHold=HOLD.dump())
    seen = replace(seen, labeled=installed().labeled, unsynced=frozenset({KIND}))
    assert upgrade_hold(seen) == HOLD


def test_conditions_are_copied_before_anything_is_decided_from_them() -> None:
    seen = requested(ConditionState(TEXT, COPY))
    assert plan_of(seen) == CopyConditions(CONDITION, "uid-ship.v1", "3", COPY)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(
            replace(in_force(ConditionState("", COPY)), uncopied={"uid-ship.v1": "3"}), id="the API server refuses it"
        ),
        pytest.param(
            with_condition(in_force(), ConditionState("", COPY), deletion_timestamp=installed().now),
            id="it is being deleted",
        ),
        pytest.param(
            with_condition(in_force(ConditionState()), ConditionState("", COPY), FOREIGN),
            id="it is of another namespace",
        ),
        pytest.param(with_condition(installed(), ConditionState("", COPY)), id="no revision has it"),
    ],
)
def test_what_is_not_copied(seen: World) -> None:
    assert not isinstance(decide(seen).plan, CopyConditions)


def test_a_copy_that_was_refused_is_tried_again_when_the_object_has_changed() -> None:
    seen = replace(in_force(ConditionState("", COPY)), uncopied={"uid-ship.v1": "2"})
    assert isinstance(plan_of(seen), CopyConditions)


def test_a_new_revision_records_its_condition() -> None:
    seen = requested(ConditionState(), has_operator_conditions=True)
    assert isinstance(seen.content, RenderedBundle)
    new = CONDITION._replace(name="ship.v2")
    seen = replace(seen, content=replace(seen.content, operator_condition=new))
    history = report_of(seen, Done(BeginRevision())).status.history
    assert history is not None
    assert [each.operator_condition for each in history] == ["ship-system/ship.v2", "ship-system/ship.v1"]
