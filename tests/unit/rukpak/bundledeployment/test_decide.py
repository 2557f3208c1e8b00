"""Which step is next for a BundleDeployment."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.bundledeployment_status import BundleRecord
from olmkit.api.bundledeployments import FINALIZER, BundleDeployment, Reason
from olmkit.api.bundles import BundleSpec
from olmkit.api.conditions import format_timestamp
from olmkit.api.meta import Condition
from olmkit.errors import Blocked, Waiting
from olmkit.runtime.reconciler import Decision
from rukpak.bundledeployment.bundle_info import BundleInfo, UnpackState
from rukpak.bundledeployment.charts.chart_state import ChartInputs, ChartState
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.drift import is_up_to_date
from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import (
    Activate,
    Announce,
    Apply,
    ApplyBundle,
    DeleteBundles,
    Done,
    Keep,
    NamespaceRemoval,
    Prune,
    ReadUsage,
    RecordNamespaces,
    Release,
    RenderChart,
    UpdateInventory,
)
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle, RenderedNamespace, RenderedObject
from rukpak.bundledeployment.report import report
from rukpak.bundledeployment.revisions.bundle_bodies import desired_bundle_body
from rukpak.bundledeployment.world import NAMESPACE, ApplyRejected, BriefWait, DeletedWorld, LastApplied, Usage, World
from rukpak.format import BadBundle
from rukpak.format.objects import ObjectKey
from rukpak.render.install_options import InstallOptions
from tests.unit.rukpak.bundledeployment.worlds import (
    ALL,
    BOAT,
    DEFINITION,
    ENTRY,
    MANAGER,
    NOW,
    NS,
    ROLE,
    SECRET,
    UID,
    WORKLOAD,
    ago,
    applied,
    bundle,
    crd,
    installed,
    inventoried,
    member,
    namespace,
    plan_of,
    raw,
    recorded,
    rendered,
    report_of,
    unpacked,
    upgrading,
    world,
)

KINDS = frozenset(key[:2] for key in ALL) - {NAMESPACE}


def steps(seen: World) -> list[tuple[int, list[str]]]:
    """The stages and objects that are applied next, once it is recorded which Namespaces are created."""
    plan = plan_of(seen)
    if plan == RecordNamespaces():
        plan = plan_of(recorded(seen))
    assert isinstance(plan, Apply)
    return [(step.phase, [item.key.name for item in step.items]) for step in plan.steps]


# --- charts


def chart(**facts: Any) -> ChartState:
    return ChartState(ChartInputs("ship", "ship-a", "sha256:a", InstallOptions(), False, "v1.34.4"), **facts)


def test_a_chart_is_rendered_unless_it_is_or_its_rendering_runs_or_has_failed() -> None:
    seen = unpacked()
    due = chart()
    assert plan_of(replace(seen, charts=(due,))) == RenderChart(due.inputs)
    before = chart(digest="older")
    assert plan_of(replace(seen, charts=(chart(is_current=True), before))) == RenderChart(before.inputs), (
        "values changed"
    )
    for state in (chart(is_current=True), chart(is_running=True), chart(error=Blocked("X", "no"))):
        assert plan_of(replace(seen, charts=(state,))) == plan_of(seen)


# --- the Bundle


def test_a_provisioner_that_does_not_exist_is_said_with_the_one_that_does() -> None:
    with pytest.raises(Blocked, match=r'"core-rukpak-io-kustomize" does not exist: set .* to core-rukpak-io-plain'):
        plan_of(world(raw(provisioner="core-rukpak-io-kustomize")))


def test_the_class_of_helm_is_for_templates_of_charts() -> None:
    text = "installs Helm charts, and spec.template.spec.provisionerClassName is core-rukpak-io-registry: set both"
    with pytest.raises(Blocked, match=re.escape(text)):
        plan_of(world(raw(provisioner="core-rukpak-io-helm")))


def test_the_class_of_the_template_at_the_wrong_place_is_said_to_belong_there() -> None:
    text = (
        "spec.provisionerClassName must be core-rukpak-io-plain, which installs bundles of any format: "
        "core-rukpak-io-registry belongs in spec.template.spec.provisionerClassName"
    )
    with pytest.raises(Blocked, match=f"^{re.escape(text)}$"):
        plan_of(world(raw(provisioner="core-rukpak-io-registry")))


def test_a_config_that_nests_too_deep_is_refused_and_can_be_deleted() -> None:
    too_deep: Any = {}
    for _ in range(1_000):
        too_deep = {"a": too_deep}
    obj, gone = raw(), raw(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=[])
    for each in (obj, gone):
        each["spec"]["config"] = {"values": too_deep}
    with pytest.raises(Blocked, match=r"^spec\.config nests deeper than 200 levels$"):
        plan_of(unpacked(world(obj)))
    assert plan_of(world(gone)) == Keep()


def test_the_finalizer_comes_with_the_inventory() -> None:
    new = world(raw(finalizers=["other"]))
    assert plan_of(new) == ApplyBundle(desired_bundle_body(new), is_new=True), "the Bundle is deleted with its owner"
    assert plan_of(unpacked(new)) == UpdateInventory(KINDS)
    only_a_namespace = unpacked(new, rendered(NS))
    assert plan_of(only_a_namespace) == UpdateInventory(frozenset())


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(installed(), id="installed"),
        pytest.param(inventoried(unpacked()), id="being installed"),
    ],
)
def test_a_finalizer_that_somebody_removed_comes_back_at_once(seen: World) -> None:
    metadata = seen.deployment.metadata.model_copy(update={"finalizers": []})
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"metadata": metadata}))
    assert plan_of(replace(seen, bundles={})) == UpdateInventory(seen.inventory)


def test_the_desired_bundle_body_is_made_as_the_template_says() -> None:
    template = {"labels": {"a": "b", "core.rukpak.io/owner-name": "x"}, "annotations": {"c": "d"}}
    seen = world(raw(template=template))
    plan = plan_of(seen)
    assert plan == ApplyBundle(desired_bundle_body(seen), is_new=True)
    assert plan.body["spec"] == seen.raw["spec"]["template"]["spec"]
    metadata = plan.body["metadata"]
    assert metadata["labels"] == {
        "a": "b",
        "core.rukpak.io/owner-kind": "BundleDeployment",
        "core.rukpak.io/owner-name": "ship",
        "core.rukpak.io/bundle-template-hash": metadata["name"].rpartition("-")[2],
    }
    assert metadata["annotations"] == {"c": "d"}
    assert [(owner["kind"], owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]] == [
        ("BundleDeployment", UID, True)
    ]


NO_WEBHOOK = "the API server does not ask it"


def test_no_bundle_is_made_before_the_webhook_that_guards_it_answers() -> None:
    for seen in (world(), without_active()):
        assert isinstance(plan_of(seen), ApplyBundle)
        text = f"waiting for the webhook vbundles.core.rukpak.io, which guards Bundles: {NO_WEBHOOK}"
        with pytest.raises(Waiting, match=f"^{re.escape(text)}$") as caught:
            plan_of(replace(seen, admission_problem=NO_WEBHOOK))
        assert caught.value.after <= timedelta(seconds=2)


def test_a_bundle_that_exists_needs_no_webhook() -> None:
    for seen in (installed(), unpacked(world())):
        assert plan_of(replace(seen, admission_problem=NO_WEBHOOK)) == plan_of(seen)


def without_active(**other: Any) -> World:
    """In the middle of an upgrade the active Bundle is gone; its record is known."""
    seen = upgrading()
    assert seen.active_bundle is not None
    known = BundleRecord(
        bundle=seen.active_bundle, name="ship.v1", spec=BundleSpec.load(seen.raw["spec"]["template"]["spec"])
    )
    bundles = {name: facts for name, facts in seen.bundles.items() if name != seen.active_bundle}
    return replace(seen, **{"bundles": bundles, "derived_record": known, **other})


def test_an_active_bundle_that_somebody_deleted_is_made_again_before_the_upgrade_goes_on() -> None:
    plan = plan_of(without_active())
    assert isinstance(plan, ApplyBundle)
    assert plan.is_new
    assert plan.body["metadata"]["name"] == without_active().active_bundle
    assert plan.body["metadata"]["annotations"] == {"operators.operatorframework.io/bundle-name": "ship.v1"}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(without_active(derived_record=None), id="nobody knows what it was"),
        pytest.param(without_active(is_active_name_taken=True), id="somebody else has its name"),
        pytest.param(upgrading(), id="it is there"),
    ],
)
def test_the_upgrade_goes_on(seen: World) -> None:
    assert isinstance(plan_of(seen), Apply)


def test_a_bundle_of_that_name_that_is_another_s_is_not_taken() -> None:
    seen = replace(world(), bundle_owner="BundleDeployment fleet")
    with pytest.raises(Blocked, match=f"the Bundle {seen.target_bundle} belongs to BundleDeployment fleet"):
        plan_of(seen)


def test_a_bundle_of_an_earlier_deployment_of_that_name_is_deleted_and_waited_for() -> None:
    target = world().target_bundle
    left = BundleInfo(target, "uid-left", UnpackState.DONE)
    seen = replace(world(), bundle_owner=f"BundleDeployment {world().name}", left_bundle=left)
    assert plan_of(seen) == DeleteBundles((left,))
    seen = replace(seen, left_bundle=replace(left, is_deleting=True))
    with pytest.raises(
        Waiting, match=f"^the Bundle {seen.target_bundle} is left from an earlier BundleDeployment of this name"
    ):
        plan_of(seen)


@pytest.mark.parametrize(
    ("template", "facts", "is_applied"),
    [
        pytest.param({"annotations": {"a": "b"}}, {}, True, id="an annotation that is not there yet is applied"),
        pytest.param({"labels": {"a": "b"}}, {}, True, id="a label that is not there yet is applied"),
        pytest.param(
            {"annotations": {"a": "b"}},
            {"annotations": {"a": "b", "kubectl": "x"}},
            False,
            id="annotations of others are theirs",
        ),
        pytest.param(
            {},
            {"annotations": {"operators.operatorframework.io/bundle-version": "1"}},
            True,
            id="what the template no longer says of the bundle goes",
        ),
    ],
)
def test_labels_and_annotations_of_the_bundle_follow_the_template(
    template: dict[str, Any], facts: dict[str, Any], is_applied: bool
) -> None:
    seen = world(raw(template=template))
    known = bundle(seen.target_bundle, UnpackState.PENDING)
    seen = replace(seen, bundles={seen.target_bundle: replace(known, **facts)})
    if is_applied:
        assert plan_of(seen) == ApplyBundle(desired_bundle_body(seen), is_new=False)
    else:
        with pytest.raises(Waiting):
            plan_of(seen)


def test_a_bundle_that_the_template_left_before_it_was_installed_goes_at_once() -> None:
    seen = world()
    stale, going = bundle("ship-aaaaaa"), replace(bundle("ship-bbbbbb"), is_deleting=True)
    assert plan_of(replace(seen, bundles={stale.name: stale, going.name: going})) == DeleteBundles((stale,))


def test_the_active_bundle_stays_when_the_template_changes_in_the_middle_of_an_upgrade() -> None:
    """What the upgrade has applied of the other Bundle stays in the inventory, and is applied again or pruned."""
    seen = replace(installed(), inventory=KINDS)
    assert seen.active_bundle is not None
    first, second = bundle(seen.active_bundle), bundle("ship-222222")
    template = {**seen.raw["spec"]["template"]["spec"], "source": {"type": "image", "image": {"ref": "r/third:v3"}}}
    third = replace(world({**seen.raw, "spec": {**seen.raw["spec"], "template": {"spec": template}}}), inventory=KINDS)
    third = replace(third, bundles={each.name: each for each in (first, second)})
    assert third.active_bundle == first.name != third.target_bundle
    assert plan_of(third) == DeleteBundles((second,))
    third = replace(third, bundles={first.name: first})
    plan = plan_of(third)
    assert isinstance(plan, ApplyBundle)
    assert plan.is_new
    assert third.inventory == KINDS


def test_a_bundle_deployment_that_does_not_exist_is_released() -> None:
    decision = decide(DeletedWorld("ship"))
    assert decision == Decision(Release(), Evaluation())
    assert report(DeletedWorld("ship"), decision.evaluation, Done(Release())) is None


# --- what blocks the installation


@pytest.mark.parametrize(
    ("unpacking", "error", "reason", "text"),
    [
        pytest.param(UnpackState.PENDING, Waiting, Reason.UNPACK_PENDING, "Waiting for the", id="being unpacked"),
        pytest.param(UnpackState.RETRYING, Waiting, Reason.UNPACK_FAILED, "Bundle: no answer", id="tried again"),
        pytest.param(UnpackState.FAILED, Blocked, Reason.UNPACK_FAILED, "Bundle: no answer", id="never to be unpacked"),
    ],
)
def test_what_the_bundle_reports_is_passed_on(
    unpacking: UnpackState, error: type[Exception], reason: str, text: str
) -> None:
    seen = world()
    with pytest.raises(error, match=text) as caught:
        plan_of(replace(seen, bundles={seen.target_bundle: bundle(seen.target_bundle, unpacking, "no answer")}))
    assert getattr(caught.value, "reason", "") == reason
    assert not isinstance(caught.value, ApplyRejected)


@pytest.mark.parametrize(
    "name", [pytest.param("desired", id="the desired one"), pytest.param("active", id="the active one")]
)
def test_a_bundle_whose_spec_was_changed_is_created_again(name: str) -> None:
    seen = upgrading()
    spec = raw()["spec"]["template"]["spec"]
    other = {**spec, "source": {"type": "image", "image": {"ref": "registry.example.com/other:v1"}}}
    record = BundleRecord(bundle=seen.active_bundle or "", spec=BundleSpec.load(spec))
    status = seen.deployment.status.model_copy(update={"installed": record})
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))
    victim = seen.target_bundle if name == "desired" else record.bundle
    found = {**seen.bundles, victim: replace(seen.bundles[victim], spec=other, image="other@sha256:1")}
    seen = replace(seen, bundles=found)
    assert plan_of(seen) == DeleteBundles((found[victim],))
    result = report(seen, evaluate(seen), Done(plan_of(seen)))
    assert result is not None
    assert result.status == seen.deployment.status
    assert [event.reason for event in result.events] == ["DriftRepaired"]
    assert seen.record(record.bundle) == record


def test_content_of_what_is_installed_that_is_unpacked_again_is_waited_for_briefly() -> None:
    seen = installed()
    assert seen.active_bundle == seen.target_bundle
    with pytest.raises(BriefWait, match="is unavailable"):
        plan_of(replace(seen, content=MissingContent()))
    with pytest.raises(Waiting, match="no answer") as caught:
        plan_of(
            replace(seen, bundles={seen.target_bundle: bundle(seen.target_bundle, UnpackState.RETRYING, "no answer")})
        )
    assert not isinstance(caught.value, BriefWait)


@pytest.mark.parametrize(
    ("content", "error", "reason", "text"),
    [
        pytest.param(
            MissingContent(), Waiting, Reason.UNPACK_PENDING, "is unavailable", id="it is not on this machine"
        ),
        pytest.param(
            BadBundle("x", "no CSV"), Blocked, Reason.BUNDLE_LOAD_FAILED, "no CSV", id="it cannot be rendered"
        ),
        pytest.param(
            BadBundle("InvalidConfiguration", "watch less"),
            Blocked,
            Reason.INVALID_CONFIGURATION,
            "watch less",
            id="it cannot be installed as spec says",
        ),
        pytest.param(
            rendered(faults=("a is wrong", "b too")),
            Blocked,
            Reason.BUNDLE_LOAD_FAILED,
            "a is wrong; b too",
            id="it may never go into a cluster",
        ),
        pytest.param(
            rendered(missing_kinds=("Cup (v1)",)),
            Waiting,
            Reason.WAITING_FOR_KIND,
            r"not have: Cup \(v1\)",
            id="a kind is missing",
        ),
    ],
)
def test_content_that_cannot_be_installed_is_said_before_the_first_write(
    content: Any, error: type[Exception], reason: str, text: str
) -> None:
    seen = replace(unpacked(), content=content)
    with pytest.raises(error, match=text) as caught:
        plan_of(seen)
    assert getattr(caught.value, "reason", "") == reason


@pytest.mark.parametrize(
    "blocked",
    [
        pytest.param(rendered(digest="v2", faults=("x",)), id="faults"),
        pytest.param(BadBundle("x", "y"), id="unreadable"),
        pytest.param(rendered(digest="v2", missing_kinds=("Cup",)), id="a missing kind"),
        pytest.param(rendered(SECRET, digest="v2", required_namespaces=frozenset({"x"})), id="a missing Namespace"),
    ],
)
def test_while_the_new_bundle_cannot_come_the_old_one_is_kept_in_repair(blocked: Any) -> None:
    seen = upgrading(blocked)
    with pytest.raises((Blocked, Waiting)):
        plan_of(seen)
    broken = replace(seen, labeled={key: value for key, value in seen.labeled.items() if key != SECRET})
    plan = plan_of(broken)
    assert isinstance(plan, Apply)
    assert plan.content.bundle == seen.active_bundle
    assert [item.key for step in plan.steps for item in step.items] == [SECRET]
    assert not plan.dry_run_first


# --- its objects


def test_the_inventory_grows_before_the_first_object() -> None:
    assert plan_of(unpacked()) == UpdateInventory(KINDS)


def test_the_inventory_keeps_what_it_has_when_it_grows() -> None:
    seen = replace(unpacked(), inventory=frozenset({("batch", "Job")}))
    assert plan_of(seen) == UpdateInventory(KINDS | {("batch", "Job")})


def test_nothing_is_applied_before_it_is_known_what_is_there() -> None:
    seen = replace(inventoried(unpacked()), unsynced=frozenset({("apps", "Deployment")}))
    with pytest.raises(BriefWait, match="Deployment"):
        plan_of(seen)


def test_a_namespace_that_goes_away_is_waited_for() -> None:
    seen = inventoried(unpacked())
    with pytest.raises(Waiting, match="until it is gone: Namespace ship-system"):
        plan_of(replace(seen, namespaces={NS.name: namespace(deletion_timestamp=NOW)}))


def test_stages_are_applied_up_to_the_crds() -> None:
    seen = inventoried(unpacked())
    assert plan_of(seen) == RecordNamespaces()
    plan = plan_of(recorded(seen))
    assert isinstance(plan, Apply)
    assert plan.dry_run_first
    assert [(step.phase, [item.key for item in step.items]) for step in plan.steps] == [(1, [NS]), (2, [DEFINITION])]


def test_crds_are_waited_for() -> None:
    seen = applied(unpacked(), ROLE, SECRET, WORKLOAD, BOAT)
    with pytest.raises(BriefWait, match=DEFINITION.name):
        plan_of(replace(seen, crds={DEFINITION.name: crd(is_established=False)}))


def test_a_crd_whose_name_is_taken_is_named() -> None:
    seen = applied(unpacked(), ROLE, SECRET, WORKLOAD, BOAT)
    with pytest.raises(Waiting, match=r"boats.example.com \(boats is in use\)") as caught:
        plan_of(replace(seen, crds={DEFINITION.name: crd(is_established=False, problem="boats is in use")}))
    assert not isinstance(caught.value, BriefWait)


def test_after_the_crds_come_all_other_stages() -> None:
    assert steps(applied(unpacked(), ROLE, SECRET, WORKLOAD, BOAT)) == [
        (3, ["captain"]),
        (4, ["log"]),
        (5, ["engine"]),
        (6, ["dinghy"]),
    ]


def test_when_everything_is_there_the_bundle_is_the_active_one() -> None:
    assert plan_of(applied(unpacked())) == Activate()


def test_nothing_is_to_be_done_when_all_is_as_it_was_applied() -> None:
    assert plan_of(installed()) == Keep()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda seen: replace(
                seen, labeled={**seen.labeled, SECRET: member(SECRET, applied_fields={MANAGER: "else"})}
            ),
            id="somebody changed what is ours in it",
        ),
        pytest.param(
            lambda seen: replace(seen, labeled={key: known for key, known in seen.labeled.items() if key != SECRET}),
            id="it was deleted",
        ),
        pytest.param(
            lambda seen: replace(seen, labeled={**seen.labeled, SECRET: member(SECRET, applied_fields={})}),
            id="nothing in it is ours any more",
        ),
    ],
)
def test_what_is_not_as_it_was_applied_is_applied_again(change: Callable[[World], World]) -> None:
    plan = plan_of(change(installed()))
    assert isinstance(plan, Apply)
    assert SECRET in [item.key for step in plan.steps for item in step.items]
    assert not plan.dry_run_first


def test_after_a_restart_everything_is_applied_once_again_and_not_rehearsed() -> None:
    plan = plan_of(replace(installed(), last_applied={}))
    assert isinstance(plan, Apply)
    assert not plan.dry_run_first
    assert [step.phase for step in plan.steps] == [1, 2]


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(None, id="it is gone"),
        pytest.param(namespace(applied_fields={MANAGER: "else"}), id="somebody changed a label of ours"),
        pytest.param(namespace(NS.name, "uid-other"), id="somebody removed our membership"),
    ],
)
def test_a_namespace_is_applied_again(facts: Any) -> None:
    assert steps(replace(installed(), namespaces={NS.name: facts} if facts else {})) == [(1, [NS.name])]


def test_an_object_that_somebody_deleted_is_made_again_only_when_it_is_gone() -> None:
    seen = installed()
    seen = replace(
        seen, labeled={**seen.labeled, SECRET: member(SECRET, deletion_timestamp=NOW, applied_fields={MANAGER: "else"})}
    )
    with pytest.raises(Waiting, match="waiting until it is gone: Secret ship-system/log"):
        plan_of(seen)


def test_an_object_that_others_change_over_and_over_rests() -> None:
    seen = installed()
    note = LastApplied("v1", ENTRY, ago(seconds=30), quick_reverts=3)
    seen = replace(
        seen,
        labeled={**seen.labeled, SECRET: member(SECRET, applied_fields={MANAGER: "else"})},
        last_applied={**seen.last_applied, SECRET: note},
    )
    assert plan_of(seen) == Keep(timedelta(seconds=30))
    assert steps(replace(seen, now=NOW + timedelta(minutes=1))) == [(4, ["log"])]


def test_progress_is_observed_again_at_its_deadline() -> None:
    workload = member(WORKLOAD, health=Health("Unknown", "0 of 1", timedelta(minutes=10)))
    seen = installed()
    seen = replace(seen, labeled={**seen.labeled, WORKLOAD: workload})
    assert plan_of(seen) == Keep(), "its status does not report the progress yet: that is the next thing to happen"
    began = Condition(
        type="Healthy",
        status="Unknown",
        reason="Progressing",
        message="",
        last_transition_time=format_timestamp(ago(minutes=4)),
    )
    status = seen.deployment.status.model_copy(update={"conditions": [began]})
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))
    assert plan_of(seen) == Keep(timedelta(minutes=6))
    assert plan_of(replace(seen, now=NOW + timedelta(minutes=6))) == Keep(), "it has failed, and nothing is waited for"


def dry_runs(seen: World) -> list[int]:
    """The phases that are first applied as a dry run."""
    plan = plan_of(recorded(seen) if not seen.namespaces else seen)
    assert isinstance(plan, Apply)
    return [step.phase for step in plan.steps if plan.has_dry_run(step)]


OAR, CREW = ObjectKey("example.com", "Boat", "ship-system", "oar"), ObjectKey(*ROLE[:2], "", "crew")


@pytest.mark.parametrize(
    ("present", "phases"),
    [
        pytest.param((), [6], id="new objects of kinds of Kubernetes are not, custom resources are"),
        pytest.param((ROLE,), [3, 6], id="a phase that changes an object is"),
        pytest.param((ROLE, CREW, BOAT, OAR), [3, 6], id="a phase that changes all is"),
    ],
)
def test_a_phase_is_rehearsed_if_its_apply_could_do_harm(present: tuple[ObjectKey, ...], phases: list[int]) -> None:
    more = {"accounts and roles": CREW, "custom resources": OAR}
    content = rendered()
    content = replace(
        content,
        phases=tuple(
            replace(phase, objects=(*phase.objects, RenderedObject(more[phase.name], "v1", "v1")))
            if phase.name in more
            else phase
            for phase in content.phases
        ),
    )
    seen = applied(replace(unpacked(), content=content), ROLE, CREW, SECRET, WORKLOAD, BOAT, OAR)
    labeled = {**seen.labeled, **{key: member(key, applied_fields={MANAGER: "else"}) for key in present}}
    assert dry_runs(replace(seen, labeled=labeled)) == phases


@pytest.mark.parametrize(
    ("change", "phases"),
    [
        pytest.param(lambda seen: replace(seen, taken=frozenset({CREW})), [3], id="another BundleDeployment has one"),
        pytest.param(
            lambda seen: replace(seen, namespaces={NS.name: namespace(created=False)}),
            [4],
            id="the Namespace is of others, and may contain one",
        ),
        pytest.param(lambda seen: replace(seen, namespaces={}), [], id="the Namespace is new"),
    ],
)
def test_a_phase_is_rehearsed_if_one_of_its_objects_may_exist(
    change: Callable[[World], World], phases: list[int]
) -> None:
    page = ObjectKey(*SECRET[:3], "page")
    content = rendered(NS, ROLE, CREW, SECRET, page)
    numbers = {"accounts and roles": 3, "configuration": 4}
    seen = change(applied(unpacked(content=content), ROLE, CREW, SECRET, page))
    assert [numbers[content.phases[number - 1].name] for number in dry_runs(seen)] == phases


def test_new_crds_are_not_rehearsed_unless_one_of_them_exists() -> None:
    content = rendered()
    cup = replace(content.phases[1].objects[0], key=ObjectKey(*DEFINITION[:3], "cups.example.com"))
    two = replace(content.phases[1], objects=(*content.phases[1].objects, cup))
    content = replace(content, phases=(content.phases[0], two, *content.phases[2:]))
    seen = inventoried(replace(unpacked(), content=content))
    assert dry_runs(seen) == []
    assert dry_runs(replace(seen, crds={DEFINITION.name: crd(owner_uid="uid-other")})) == [2]


# --- an upgrade


def test_an_upgrade_applies_what_differs_and_rehearses_it() -> None:
    plan = plan_of(upgrading())
    assert isinstance(plan, Apply)
    assert plan.dry_run_first
    assert [step.phase for step in plan.steps] == [1, 2]


def test_objects_that_are_the_same_in_both_bundles_are_not_written() -> None:
    assert plan_of(upgrading(rendered(digest="v1"))) == Activate()


def test_what_left_the_bundle_stays_until_the_new_one_is_active() -> None:
    seen = applied(upgrading(rendered(NS, DEFINITION, WORKLOAD, digest="v2")))
    assert SECRET in seen.labeled
    assert plan_of(seen) == Activate()


def active(seen: World) -> World:
    """The wanted bundle has just become the active one."""
    status = {"activeBundle": seen.target_bundle, "observedGeneration": 2}
    obj = {**seen.raw, "status": status}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj), active_content=MissingContent())


def test_then_what_left_the_bundle_is_removed() -> None:
    seen = active(applied(upgrading(rendered(NS, DEFINITION, WORKLOAD, digest="v2"))))
    seen = replace(seen, inventory=KINDS)
    plan = plan_of(seen)
    assert isinstance(plan, Prune)
    assert [entry.key for entry in plan.delete] == [SECRET, BOAT, ROLE]


def test_nothing_is_removed_before_everything_was_read() -> None:
    seen = active(applied(upgrading(rendered(NS, WORKLOAD, digest="v2"))))
    seen = replace(seen, inventory=KINDS, unsynced=frozenset({("", "Secret")}))
    with pytest.raises(BriefWait):
        plan_of(seen)
    with pytest.raises(Waiting, match="nothing is removed: Secret"):
        plan_of(replace(seen, unreachable_kinds=frozenset({("", "Secret")})))


def test_what_only_bears_our_label_is_not_removed() -> None:
    seen = installed()
    copied = ObjectKey("", "Endpoints", "ship-system", "engine")
    seen = replace(seen, labeled={**seen.labeled, copied: member(copied, applied_fields={})})
    assert plan_of(seen) == Keep()


def test_a_namespace_that_left_the_bundle_is_removed_last() -> None:
    seen = installed()
    old = namespace("old-system")
    seen = replace(seen, namespaces={**seen.namespaces, "old-system": old})
    assert plan_of(seen) == ReadUsage(namespaces=(old,))
    seen = replace(seen, usage={old.uid: Usage.UNUSED})
    assert plan_of(seen) == Prune(namespaces=(NamespaceRemoval(old, Retention.DELETE),))
    inside = ObjectKey("", "Secret", "old-system", "key")
    seen = replace(seen, labeled={**seen.labeled, inside: member(inside)})
    assert plan_of(seen) == Prune((seen.labeled[inside],)), "what is in it goes first"
    assert plan_of(replace(seen, usage={})) == plan_of(seen), "and is not looked at before"


def test_the_inventory_shrinks_after_the_removal_but_for_what_cannot_be_read() -> None:
    job, cup = ("batch", "Job"), ("cups.example.com", "Cup")
    seen = replace(installed(), inventory=KINDS | {job, cup})
    assert plan_of(seen) == UpdateInventory(KINDS)


def test_the_old_bundle_goes_last() -> None:
    seen = installed()
    old = bundle("ship-000000")
    seen = replace(seen, bundles={**seen.bundles, old.name: old})
    assert plan_of(seen) == DeleteBundles((old,))


def test_what_was_removed_and_does_not_go_is_said() -> None:
    stuck = ObjectKey("", "Secret", "ship-system", "old")
    seen = installed()
    seen = replace(seen, labeled={**seen.labeled, stuck: member(stuck, deletion_timestamp=NOW)})
    with pytest.raises(Waiting, match="waiting until it is gone: Secret ship-system/old") as caught:
        plan_of(seen)
    assert caught.value.reason == Reason.REMOVING


def test_an_upgrade_that_moves_a_storage_version_is_announced_before_it_begins() -> None:
    seen = upgrading(rendered(digest="v2", storage="v2"))
    assert evaluate(seen).irreversible == (
        "this cannot be reversed: it moves the storage version of boats.example.com from v1 to v2"
    )
    assert plan_of(seen) == Announce()
    announced = report_of(seen, Done(Announce())).status.announced
    status = seen.deployment.status.model_copy(update={"announced": announced})
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))
    assert isinstance(plan_of(seen), Apply)
    moved = upgrading(rendered(digest="v2", storage="v3")).content
    assert plan_of(replace(seen, content=moved)) == Announce(), "it is another one"


# --- all steps together


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(world(raw(finalizers=[])), id="from nothing"),
        pytest.param(replace(installed(), last_applied={}), id="after a restart"),
        pytest.param(upgrading(), id="an upgrade"),
        pytest.param(upgrading(rendered(NS, WORKLOAD, digest="v2")), id="an upgrade that drops objects"),
    ],
)
def test_every_step_leads_on_until_nothing_is_to_be_done(start: World) -> None:
    """decide after what its plan brings about comes to Keep, and never removes before all is applied."""
    seen, plans = start, []
    for _ in range(40):
        plan = plan_of(seen)
        plans.append(type(plan))
        if isinstance(plan, Keep):
            break
        seen = brought_about(seen, plan)
    assert plans[-1] is Keep
    if Prune in plans:
        assert plans.index(Prune) > plans.index(Activate)
        assert DeleteBundles not in plans[: plans.index(Prune)]
    assert {item.key for item in content_of(seen).objects()} == {*seen.labeled, NS}


def content_of(seen: World) -> RenderedBundle:
    assert isinstance(seen.content, RenderedBundle)
    return seen.content


def brought_about(seen: World, plan: object) -> World:
    """The World after a plan was carried out, as the API server would show it."""
    match plan:
        case ApplyBundle():
            return unpacked(seen)
        case UpdateInventory():
            obj = {**seen.raw, "metadata": {**seen.raw["metadata"], "finalizers": [FINALIZER]}}
            return replace(seen, raw=obj, deployment=BundleDeployment.load(obj), inventory=plan.kinds)
        case Apply():
            done = {item.key for step in plan.steps for item in step.items}
            held = {item.key for item in content_of(seen).objects() if is_up_to_date(seen, item)}
            return applied(seen, *(set(ALL) - done - held))
        case Activate():
            return active(seen)
        case RecordNamespaces():
            return recorded(seen)
        case ReadUsage():
            return replace(seen, usage=dict.fromkeys(plan.uids, Usage.UNUSED))
        case Prune():
            gone = {entry.key for entry in plan.objects}
            return replace(seen, labeled={key: known for key, known in seen.labeled.items() if key not in gone})
        case DeleteBundles():
            gone_bundles = {entry.name for entry in plan.bundles}
            return replace(seen, bundles={name: b for name, b in seen.bundles.items() if name not in gone_bundles})
    raise AssertionError(plan)


# --- Namespaces that a bundle only writes into


def writing_into(name: str) -> RenderedBundle:
    """The ordinary bundle, which has an object in another Namespace too."""
    content = rendered()
    first = content.phases[0]
    item = RenderedObject(ObjectKey("", "Namespace", "", name), "v1", "joined")
    return replace(
        content,
        phases=(replace(first, objects=(*first.objects, item)), *content.phases[1:]),
        namespaces=(*content.namespaces, RenderedNamespace(name, is_in_bundle=False)),
    )


def test_a_namespace_that_a_bundle_only_writes_into_is_joined_and_not_made() -> None:
    seen = inventoried(unpacked(content=writing_into("harbour")))
    with pytest.raises(Waiting, match=r"neither exist nor are in the bundle: harbour; create them first"):
        plan_of(seen)
    there = replace(namespace("harbour", created=False), labels={}, applied_fields={})
    assert steps(replace(seen, namespaces={"harbour": there}))[0] == (1, [NS.name, "harbour"])


def test_when_somebody_removed_a_joined_namespace_the_rest_is_kept_in_repair() -> None:
    seen = installed()
    content = replace(writing_into("harbour"), bundle=seen.target_bundle)
    seen = replace(seen, content=content, labeled={key: one for key, one in seen.labeled.items() if key != SECRET})
    assert [name for _, found in steps(seen) for name in found] == [SECRET.name]


def test_a_kind_that_cannot_be_read_for_long_is_named() -> None:
    seen = inventoried(unpacked())
    kinds = frozenset({SECRET[:2]})
    with pytest.raises(BriefWait):
        plan_of(replace(seen, unsynced=kinds))
    with pytest.raises(Waiting, match=r"cannot be read now, so nothing is changed: Secret$") as caught:
        plan_of(replace(seen, unsynced=kinds, unreachable_kinds=kinds))
    assert not isinstance(caught.value, BriefWait)


def test_a_group_that_does_not_answer_is_asked_about_again_soon() -> None:
    content = rendered(
        missing_kinds=("Gauge (metrics.example.com/v1)",), unreachable_groups=frozenset({"metrics.example.com"})
    )
    with pytest.raises(Waiting) as caught:
        plan_of(inventoried(unpacked(content=content)))
    assert caught.value.after == timedelta(seconds=20)
