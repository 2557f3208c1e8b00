"""With rollback OnFailure the last good revision is brought back when the next one fails."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.customresourcedefinitions import Conversion
from olmkit.errors import Waiting
from rukpak.bundledeployment.bundle_info import BundleInfo
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import (
    Activate,
    Apply,
    ApplyBundle,
    DeleteBundles,
    Done,
    Keep,
    Prune,
    RollBack,
)
from rukpak.bundledeployment.rendered_bundle import MissingContent
from rukpak.bundledeployment.revisions.target import asked_digest
from rukpak.bundledeployment.world import World
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import CertificateMode, Endpoint
from tests.unit.rukpak.bundledeployment.rollback_worlds import (
    FAILED,
    GOOD,
    IN_PROGRESS,
    NEW,
    OLD,
    STARTING,
    V1,
    V2,
    brought_back,
    changed,
    half_way,
    rolled_back,
    running,
    serving,
    unwell,
)
from tests.unit.rukpak.bundledeployment.worlds import (
    ALL,
    DEFINITION,
    NOW,
    ROLE,
    SECRET,
    ago,
    bundle,
    crd,
    installed,
    inventoried,
    member,
    plan_of,
    rendered,
    report_of,
    revision,
)

SUCCEEDED = revision(2, V2)
EXTRA, EXTRA_CRD = ObjectKey("", "Secret", "ship-system", "extra"), ObjectKey(*DEFINITION[:2], "", "rafts.example.com")
CONVERTS = Endpoint("engine", "ship-system", CertificateMode.SELF, (), frozenset({DEFINITION}))
HOOK = Conversion("Webhook", "ship-system", "engine-service", "/convert")
CONVERTED = {DEFINITION.name: crd(served_versions=("v1", "v2"), conversion=HOOK)}
STORED_V2 = {DEFINITION.name: crd(served_versions=("v1", "v2"), storage_version="v2")}


@pytest.mark.parametrize("seen", [half_way(FAILED, GOOD), running(FAILED, GOOD)])
def test_what_failed_is_rolled_back_at_any_stage(seen: World) -> None:
    assert plan_of(seen) == RollBack()
    status = report_of(seen, Done(RollBack())).status
    newest, good = list(status.history or ())
    assert (newest.outcome, newest.reason, newest.asked) == ("RollingBack", "it crashes", asked_digest(seen.raw))
    assert good.outcome == "Succeeded"
    assert (status.active_bundle, status.revision) == (seen.active_bundle, seen.deployment.status.revision)


@pytest.mark.parametrize(
    ("seen", "is_rolled_back"),
    [
        pytest.param(running(IN_PROGRESS, GOOD), False, id="in progress"),
        pytest.param(running(SUCCEEDED, GOOD), False, id="it has succeeded"),
        pytest.param(running(FAILED, GOOD, rollback="Never"), False, id="nothing asks for a rollback"),
        pytest.param(running(FAILED), False, id="there is no earlier revision"),
        pytest.param(running(FAILED, revision(1, V1, "Failed")), False, id="no earlier one has succeeded"),
        pytest.param(running(FAILED, revision(3, V1, "Superseded"), GOOD), True, id="an earlier one has succeeded"),
        pytest.param(
            replace(running(FAILED, GOOD), fallback_content=MissingContent()), False, id="its content is unavailable"
        ),
        pytest.param(
            replace(running(FAILED, GOOD), fallback_content=rendered(faults=("it is damaged",))),
            False,
            id="it cannot be installed any more",
        ),
        pytest.param(
            replace(running(FAILED, GOOD), crds=CONVERTED),
            False,
            id="a webhook converts that the good one does not have",
        ),
        pytest.param(
            replace(running(FAILED, GOOD), crds=CONVERTED, fallback_content=serving(("v1", "v2"), HOOK)),
            True,
            id="the webhook of the good one converts",
        ),
        pytest.param(
            replace(running(FAILED, GOOD), content=rendered(digest="v2", bundle=NEW, endpoints=(CONVERTS,))),
            True,
            id="only the new one converts, and its conversion is not applied yet",
        ),
        pytest.param(
            replace(running(FAILED, GOOD), fallback_content=serving(("v1alpha1", "v1")), crds=STORED_V2),
            False,
            id="one of its versions is not served any more",
        ),
        pytest.param(
            replace(running(FAILED, GOOD), fallback_content=serving(("v1",)), crds=STORED_V2),
            True,
            id="its version is served, and another one stored",
        ),
    ],
)
def test_what_is_rolled_back(seen: World, is_rolled_back: bool) -> None:
    assert isinstance(plan_of(seen), RollBack) == is_rolled_back


def test_the_old_revision_is_brought_back_whole() -> None:
    seen = rolled_back(running(FAILED, GOOD))
    plan = plan_of(seen)
    assert isinstance(plan, Apply)
    assert plan.content.bundle == OLD
    assert {item.key for step in plan.steps for item in step.items} == set(ALL) - {DEFINITION}
    seen = replace(seen, last_applied=installed().last_applied)
    assert plan_of(seen) == Activate()
    status = report_of(seen, Done(Activate())).status
    assert (status.active_bundle, status.revision) == (OLD, 1)
    assert [one.outcome for one in status.history or ()] == ["RolledBack", "Succeeded"]
    assert plan_of(brought_back()) == Keep()


def test_an_upgrade_that_was_half_way_is_taken_back() -> None:
    """One object of it was applied, and its CustomResourceDefinition."""
    seen = rolled_back(half_way(FAILED, GOOD))
    new = {key: replace(seen.last_applied[key], digest="v2") for key in (SECRET, DEFINITION)}
    seen = replace(seen, last_applied={**seen.last_applied, **new})
    plan = plan_of(seen)
    assert isinstance(plan, Apply)
    assert [item.key for step in plan.steps for item in step.items] == [SECRET]
    assert plan_of(replace(seen, last_applied=installed().last_applied)) == DeleteBundles((seen.bundles[NEW],))


def test_objects_that_only_the_failed_revision_has_are_pruned_and_its_definitions_stay() -> None:
    added = {key: member(key) for key in (EXTRA, EXTRA_CRD)}
    seen = replace(brought_back(), labeled={**brought_back().labeled, **added})
    plan = plan_of(seen)
    assert isinstance(plan, Prune)
    assert [entry.key for entry in plan.objects] == [EXTRA]
    del added[EXTRA]
    assert plan_of(replace(seen, labeled={**brought_back().labeled, **added})) == Keep()


def test_a_definition_that_somebody_deleted_is_made_again() -> None:
    seen = brought_back()
    seen = replace(seen, labeled={key: one for key, one in seen.labeled.items() if key != DEFINITION}, crds={})
    plan = plan_of(seen)
    assert isinstance(plan, Apply)
    assert [item.key for step in plan.steps for item in step.items] == [DEFINITION]


def test_what_a_rollback_needs_is_kept_until_the_revision_has_succeeded() -> None:
    old = {key: entry for key, entry in running(IN_PROGRESS, GOOD).labeled.items() if key != ROLE}
    content = rendered(*(key for key in ALL if key != ROLE), digest="v2", bundle=NEW)
    for outcome, expected in ((IN_PROGRESS, Keep), (SUCCEEDED, Prune)):
        seen = replace(running(outcome, GOOD), content=content)
        assert ROLE in seen.labeled
        assert isinstance(plan_of(seen), expected), outcome
    seen = replace(running(IN_PROGRESS, GOOD), content=content, labeled=old)
    assert isinstance(plan_of(seen), Keep)
    done = inventoried(replace(running(SUCCEEDED, GOOD), content=content, labeled=old))
    assert plan_of(done) == DeleteBundles((seen.bundles[OLD],))


def test_a_third_bundle_leaves_the_last_good_one() -> None:
    """Version 2 is active and not healthy, and version 3 is asked for: a rollback of it goes back to version 1."""
    seen = running(revision(2, V2, "Failed"), GOOD)
    template = {"spec": {**seen.raw["spec"]["template"]["spec"], "provisionerClassName": "core-rukpak-io-plain"}}
    seen = changed(seen, FAILED, GOOD, spec={"template": template})
    assert seen.target_bundle not in (OLD, NEW)
    extra = BundleInfo(f"{OLD}x", "uid-x", bundle(OLD).unpack_state)
    plan = plan_of(replace(seen, bundles={**seen.bundles, extra.name: extra}))
    assert plan == DeleteBundles((extra,))


def test_a_bundle_that_a_rollback_needs_is_made_again_as_it_was() -> None:
    record = revision(1, V1, name="ship.v1", properties="[1]", image="registry.example.com/ship@sha256:1")
    seen = running(IN_PROGRESS, record)
    plan = plan_of(replace(seen, bundles={NEW: seen.bundles[NEW]}))
    assert isinstance(plan, ApplyBundle)
    assert plan.is_new
    assert plan.body["metadata"]["name"] == OLD
    assert plan.body["metadata"]["annotations"] == {
        "operators.operatorframework.io/bundle-name": "ship.v1",
        "operators.operatorframework.io/properties": "[1]",
        "core.rukpak.io/image-by-digest": "registry.example.com/ship@sha256:1",
    }


def test_properties_are_recorded_while_a_rollback_may_need_them() -> None:
    annotations = {"operators.operatorframework.io/properties": "[1]"}
    spec = GOOD["spec"]
    for seen, outcome, expected in (
        (half_way(IN_PROGRESS, GOOD), Waiting("Retrying", "x", timedelta(1)), ["[1]"]),
        (running(IN_PROGRESS, GOOD), Done(Keep()), []),  # it has succeeded
        (unwell(running(IN_PROGRESS, GOOD), STARTING), Done(Keep()), ["[1]"]),
        (half_way(IN_PROGRESS, GOOD, rollback="Never"), Waiting("Retrying", "x", timedelta(1)), []),
    ):
        old = replace(bundle(OLD), annotations=annotations, image="registry.example.com/ship@sha256:1", spec=spec)
        status = report_of(replace(seen, bundles={**seen.bundles, OLD: old}), outcome).status
        assert [one.properties for one in status.history or () if one.properties] == expected


@pytest.mark.parametrize(
    ("health", "installed_at", "deadline", "outcome"),
    [
        pytest.param(STARTING, ago(minutes=4), "5m", "InProgress", id="in time"),
        pytest.param(STARTING, ago(minutes=5), "5m", "Failed", id="not in time"),
        pytest.param(Health("False", "crashes"), ago(minutes=4), "5m", "InProgress", id="it may still become healthy"),
        pytest.param(Health("False", "crashes"), ago(minutes=5), "5m", "Failed", id="it did not become healthy"),
        pytest.param(Health("True"), ago(minutes=6), "5m", "Succeeded", id="healthy, though late"),
        pytest.param(STARTING, ago(minutes=50), "1h", "InProgress", id="a long time"),
        pytest.param(STARTING, ago(hours=1), None, "InProgress", id="by the deadline of its kind"),
        pytest.param(Health("False", "crashes"), ago(minutes=1), None, "Failed", id="failed by itself"),
    ],
)
def test_the_time_to_become_healthy(health: Health, installed_at: object, deadline: str | None, outcome: str) -> None:
    moment = f"{installed_at:%Y-%m-%dT%H:%M:%SZ}"
    history = revision(2, V2, "InProgress", installedAt=moment)
    seen = unwell(running(history, GOOD, **({"progressDeadline": deadline} if deadline else {})), health)
    assert seen.now == NOW
    status = report_of(seen, Done(Keep())).status
    assert next(iter(status.history or ())).outcome == outcome


@pytest.mark.parametrize(
    ("reported_at", "status"), [("2026-01-01T11:00:00Z", "Unknown"), ("2026-01-01T11:30:00Z", "False")]
)
def test_a_deadline_that_the_objects_before_have_missed_does_not_count(reported_at: str, status: str) -> None:
    """The revision was installed at 11:00: what was reported until then was about other objects of these names."""
    missed = {
        "type": "Healthy",
        "status": "False",
        "reason": "Unhealthy",
        "message": "",
        "lastTransitionTime": reported_at,
    }
    failed = {"objects": [{"group": "apps", "kind": "Deployment", "namespace": "ship-system", "name": "engine"}]}
    seen = unwell(running(revision(2, V2, "InProgress", installedAt="2026-01-01T11:00:00Z"), GOOD), STARTING)
    history = [one.dump() for one in seen.deployment.status.history or ()]
    seen = changed(seen, *history, activeBundle=NEW, revision=2, conditions=[missed], failed=failed)
    conditions = report_of(seen, Done(Keep())).status.conditions
    assert [one.status for one in conditions if one.type == "Healthy"] == [status]


def test_the_new_one_is_tried_again_when_something_else_is_asked_for() -> None:
    seen = brought_back()
    history = [one.dump() for one in seen.deployment.status.history or ()]
    retried = changed(seen, *history, spec={"progressDeadline": "20m"})
    assert retried.target_bundle == NEW
    assert retried.target.revision is None
    assert isinstance(plan_of(retried), ApplyBundle)


def test_drift_of_what_was_brought_back_is_repaired() -> None:
    seen = brought_back()
    seen = replace(seen, labeled={key: one for key, one in seen.labeled.items() if key != SECRET})
    plan = plan_of(seen)
    assert isinstance(plan, Apply)
    assert [item.key for step in plan.steps for item in step.items] == [SECRET]
