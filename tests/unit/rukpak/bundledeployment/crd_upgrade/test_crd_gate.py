"""Which CustomResourceDefinitions are compared before an upgrade, and when an upgrade does not begin."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.bundledeployments import BundleDeployment, Reason
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.crd_safety.evidence import Evidence, Form
from olmkit.crd_safety.problem import InvalidObject, Problem
from olmkit.errors import Blocked, Unavailable, Waiting
from rukpak.bundledeployment.crd_upgrade.crd_gate import CHECK_AGAIN_AFTER, candidates
from rukpak.bundledeployment.plan import Apply, BeginRevision, CheckExistingObjects, Done
from rukpak.bundledeployment.world import CRD, ApplyRejected, ExistingObjects, Refused, World
from tests.conditions import triple
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    NOW,
    WORKLOAD,
    crd,
    installed,
    plan_of,
    rendered,
    report_of,
    unpacked,
    upgrading,
)

NAME_OF_CRD = DEFINITION.name
SIZE = Problem("v1", "spec.size", Rule.TYPE_CHANGED, "integer -> string")


def with_settings(seen: World, **settings: Any) -> World:
    raw = {**seen.raw, "spec": {**seen.raw["spec"], "crdUpgradeSafety": settings}}
    return replace(seen, raw=raw, deployment=BundleDeployment.load(raw))


def names(seen: World) -> list[str]:
    return [item.key.name for item in candidates(seen)]


def refused(seen: World | None = None, *problems: Problem, **settings: Any) -> World:
    """An upgrade whose CRD breaks a rule, by the policy Enforce."""
    seen = replace(seen or upgrading(), crd_problems={NAME_OF_CRD: problems or (SIZE,)})
    return with_settings(seen, **(settings or {"policy": "Enforce"}))


def test_a_definition_of_ours_is_compared_before_an_upgrade() -> None:
    assert names(upgrading()) == [NAME_OF_CRD]


def released() -> World:
    """A first installation; another BundleDeployment released the CRD."""
    return replace(unpacked(), crds={NAME_OF_CRD: crd(owner_uid="", released_by="other")})


def test_a_definition_that_is_taken_over_is_compared_before_the_first_installation() -> None:
    assert names(released()) == [NAME_OF_CRD]


def test_a_definition_that_nobody_manages_is_compared_if_it_may_be_taken_over() -> None:
    seen = replace(unpacked(), crds={NAME_OF_CRD: crd(owner_uid="")})
    assert names(seen) == []
    raw = {**seen.raw, "spec": {**seen.raw["spec"], "adoptionPolicy": "IfUnowned"}}
    assert names(replace(seen, raw=raw, deployment=BundleDeployment.load(raw))) == [NAME_OF_CRD]


NOT_COMPARED = {
    "one that does not exist": unpacked(),
    "one of others, which is not taken over": replace(unpacked(), crds={NAME_OF_CRD: crd(owner_uid="uid-other")}),
    "one that is equal": upgrading(rendered(digest="v1")),
    "one that somebody changed, which is repaired": replace(installed(), last_applied={}),
    "one that is being deleted": replace(upgrading(), crds={NAME_OF_CRD: crd(is_terminating=True)}),
    "one of a bundle with faults": upgrading(rendered(digest="v2", faults=("it is broken",))),
    "one whose kind has not been listed": replace(upgrading(), unsynced=frozenset({CRD})),
    "one that is not to be checked": with_settings(upgrading(), policy="None"),
}


@pytest.mark.parametrize("name", NOT_COMPARED)
def test_a_definition_is_not_compared(name: str) -> None:
    assert names(NOT_COMPARED[name]) == []


def test_a_definition_is_compared_when_the_template_is_reverted_during_an_upgrade() -> None:
    seen = installed()
    ready = {"type": "Ready", "status": "False", "reason": Reason.UPGRADING, "message": "", "observedGeneration": 1}
    raw = {
        **seen.raw,
        "status": {**seen.raw["status"], "conditions": [{**ready, "lastTransitionTime": "2026-01-01T11:00:00Z"}]},
    }
    reverted = replace(seen, raw=raw, deployment=BundleDeployment.load(raw), last_applied={})
    assert names(reverted) == [NAME_OF_CRD]


def test_a_broken_rule_stops_the_upgrade_before_its_first_write() -> None:
    with pytest.raises(
        Refused, match=r'^validating upgrade for CRD "boats.example.com": v1: spec.size: type-changed'
    ) as refusal:
        plan_of(refused())
    assert refusal.value.permitted_by == {"crdUpgradeSafety.ignoredRules"}


def test_the_status_of_a_refused_upgrade_is_stalled_and_what_is_installed_stays() -> None:
    seen = refused()
    with pytest.raises(Blocked) as refusal:
        plan_of(seen)
    status = report_of(seen, refusal.value).status.dump()
    found = {entry["type"]: triple({"status": status}, entry["type"]) for entry in status["conditions"]}
    assert found["Stalled"][:2] == ("True", "Blocked")
    assert "spec.size: type-changed: integer -> string" in found["Stalled"][2]
    assert found["Installed"][:2] == ("True", "InstallationSucceeded")
    assert found["HasValidBundle"][:2] == ("True", "UnpackSuccessful")
    assert found["Ready"][0] == "False"
    assert "Reconciling" not in found


def test_the_installed_bundle_is_repaired_while_an_upgrade_is_refused() -> None:
    plan = plan_of(replace(refused(), labeled={k: v for k, v in upgrading().labeled.items() if k != WORKLOAD}))
    assert isinstance(plan, Apply)
    assert [item.key for step in plan.steps for item in step.items] == [WORKLOAD]
    assert plan.content.bundle == upgrading().active_bundle


def test_an_upgrade_goes_on_when_no_rule_is_broken() -> None:
    assert isinstance(plan_of(replace(upgrading(), crd_problems={NAME_OF_CRD: ()})), Apply)


def test_a_definition_that_cannot_be_read_is_waited_for() -> None:
    seen = replace(upgrading(), crd_problems={NAME_OF_CRD: Unavailable(503, "", "no answer")})
    with pytest.raises(Waiting, match=r"^CustomResourceDefinitions cannot be read now: boats.example.com: no answer$"):
        plan_of(seen)


def test_a_rule_is_switched_off_by_policy() -> None:
    assert isinstance(plan_of(refused(policy="None")), Apply)


# --- custom resources on the cluster

IGNORED: dict[str, Any] = {"policy": "Enforce", "ignoredRules": ["type-changed"]}
IF_USED: dict[str, Any] = {"ignoredRules": []}
FORM = Form(NAME_OF_CRD, "v1", "v1")


def check(settings: dict[str, Any] = IGNORED) -> CheckExistingObjects:
    plan = plan_of(refused(**settings))
    assert isinstance(plan, CheckExistingObjects)
    return plan


def checked(settings: dict[str, Any] = IGNORED, shown: Evidence | None = None, **facts: Any) -> World:
    """The check of the upgrade has ended, unless it is running."""
    evidence = {FORM: shown} if shown is not None else {}
    state = ExistingObjects(check(settings).identity, NOW, evidence=evidence, **facts)
    return replace(refused(**settings), existing_objects=state)


@pytest.mark.parametrize("settings", [IGNORED, IF_USED], ids=["a broken rule is ignored", "the policy is the default"])
def test_custom_resources_are_checked_when(settings: dict[str, Any]) -> None:
    assert check(settings).forms == (FORM,)


def test_custom_resources_are_not_checked_when_that_is_ignored_too() -> None:
    assert isinstance(
        plan_of(refused(policy="Enforce", ignoredRules=["type-changed", "existing-object-invalid"])), Apply
    )


def test_an_upgrade_waits_for_a_check_that_runs() -> None:
    with pytest.raises(
        Waiting, match=r"^checking the custom resources on the cluster against the new schemas of boats"
    ):
        plan_of(checked(is_running=True))


def test_an_upgrade_begins_when_all_custom_resources_are_valid() -> None:
    assert isinstance(plan_of(checked(shown=Evidence(7))), Apply)
    assert isinstance(plan_of(checked(IF_USED, Evidence(7))), Apply)


DINGHY = InvalidObject("harbour", "dinghy", "spec.size: type")
INVALID = Evidence(7, invalid=(DINGHY,), invalid_count=1)


@pytest.mark.parametrize("settings", [IGNORED, IF_USED], ids=["an ignored rule", "the default policy"])
def test_custom_resources_that_are_not_valid_stop_the_upgrade_with(settings: dict[str, Any]) -> None:
    with pytest.raises(
        ApplyRejected, match=r"^1 custom resource is not valid .* harbour/dinghy: spec.size: type;"
    ) as refusal:
        plan_of(checked(settings, INVALID))
    assert refusal.value.permitted_by == {"crdUpgradeSafety.ignoredRules"}


def test_a_loss_that_is_permitted_is_said_when_the_upgrade_begins_and_while_it_goes_on() -> None:
    lost = InvalidObject("harbour", "ark", "spec.size is dropped")
    settings = {"ignoredRules": ["existing-object-loses-data"]}
    seen = checked(settings, Evidence(7, lossy=(lost,), lossy_count=3))
    said = "3 custom resources lose data by the new schema, as crdUpgradeSafety.ignoredRules permits: "
    result = report_of(seen, Done(plan_of(seen)))
    assert said in triple({"status": result.status.dump()}, "Ready")[2]
    assert result.events == ()
    event, clients = report_of(seen, Done(BeginRevision())).events
    assert (event.type, event.reason, clients.reason) == ("Warning", "FieldsDropped", "DefinitionChanged")
    assert event.message.startswith(said)
    assert event.message.endswith("harbour/ark: spec.size is dropped")


def test_custom_resources_are_checked_again_after_some_time() -> None:
    later = replace(checked(shown=INVALID), now=NOW + CHECK_AGAIN_AFTER)
    assert plan_of(later) == check()


def test_a_check_that_runs_long_is_not_started_again() -> None:
    seen = replace(checked(is_running=True), now=NOW + 2 * CHECK_AGAIN_AFTER)
    with pytest.raises(Waiting, match=r"^checking the custom resources"):
        plan_of(seen)


def test_what_the_api_server_refuses_anyway_is_refused_without_a_check() -> None:
    scope = Problem("", "", Rule.SCOPE_CHANGED, "Namespaced -> Cluster")
    with pytest.raises(
        Refused, match=r"scope-changed: Namespaced -> Cluster; the API server does not permit this"
    ) as refusal:
        plan_of(refused(None, SIZE, scope, **IF_USED))
    assert not refusal.value.permitted_by


def test_a_default_that_changes_needs_no_check_and_is_said() -> None:
    seen = refused(None, Problem("v1", "spec.size", Rule.DEFAULT_CHANGED, "1 -> 2"), **IF_USED)
    ready = triple({"status": report_of(seen, Done(plan_of(seen))).status.dump()}, "Ready")
    said = f"no custom resource is concerned by the changes of {NAME_OF_CRD} (default-changed), clients may be"
    assert ready[2].endswith(f"; {said}")


@pytest.mark.parametrize(
    "seen", [checked(error="no answer"), checked(shown=Evidence(failed="no answer"))], ids=["all", "one"]
)
def test_a_check_that_failed_is_waited_for_and_repeated(seen: World) -> None:
    with pytest.raises(Waiting, match=r"cannot be checked against the new schemas: .*no answer"):
        plan_of(seen)
    assert plan_of(replace(seen, now=NOW + CHECK_AGAIN_AFTER + timedelta(seconds=1))) == check()


def test_a_check_of_another_bundle_does_not_count() -> None:
    other = replace(checked(), existing_objects=ExistingObjects("other", NOW))
    assert plan_of(other) == check()


def test_what_was_not_checked_is_said_while_the_upgrade_goes_on() -> None:
    seen = checked(shown=Evidence(7, unchecked=frozenset({"format"})))
    ready = triple({"status": report_of(seen, Done(plan_of(seen))).status.dump()}, "Ready")
    assert ready[2].endswith(f"; {NAME_OF_CRD} v1: not checked in custom resources: format")
