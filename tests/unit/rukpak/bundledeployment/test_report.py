"""The status of a BundleDeployment."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from olmkit.api.bundledeployment_status import BundleDeploymentStatus, BundleRecord, RejectedBundle
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION, RELEASED_ANNOTATION, BundleDeployment, Reason
from olmkit.api.bundles import BundleSpec
from olmkit.api.conditions import StatusReport, format_timestamp
from olmkit.api.deployed_objects import ObjectReference
from olmkit.api.meta import Condition
from olmkit.errors import Blocked, Conflict, OlmError, Unavailable, Waiting
from rukpak.bundledeployment.bundle_info import UnpackState
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import (
    Activate,
    Announce,
    Apply,
    ApplyBundle,
    BeginRevision,
    DeleteObjects,
    Done,
    Keep,
    ObjectChange,
    PhaseStep,
    Plan,
    UpdateInventory,
    Verb,
)
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle
from rukpak.bundledeployment.report import BundleDeploymentReport
from rukpak.bundledeployment.world import CRD, ApplyRejected, BriefWait, LastApplied, World
from rukpak.format import BadBundle
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    ENTRY,
    MANAGER,
    NS,
    ROLE,
    SECRET,
    WORKLOAD,
    ago,
    applied,
    bundle,
    crd,
    deleting,
    events_after,
    installed,
    inventoried,
    member,
    namespace,
    raw,
    rendered,
    report_of,
    unpacked,
    unwell,
    upgrading,
    world,
)

MINUTE = timedelta(minutes=1)
Report = StatusReport[BundleDeploymentStatus]


def conditions(result: Report) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    return {entry.type: (entry.status, entry.reason, entry.message) for entry in result.status.conditions}


def brief(result: Report) -> dict[str, str]:
    """`Status/Reason` by type."""
    return {kind: f"{status}/{reason}" for kind, (status, reason, _) in conditions(result).items()}


def ready(result: Report) -> str:
    """The message of Ready."""
    return conditions(result)["Ready"][2]


def apply(seen: World, last: int = 2) -> Done:
    """Stages up to that one were applied."""
    content = seen.content
    assert isinstance(content, RenderedBundle)
    return Done(Apply(content, (PhaseStep(last, content.phases[last - 1].objects),), dry_run_first=True))


def pending(unpacking: UnpackState, message: str = "") -> World:
    """The wanted Bundle is not unpacked."""
    seen = world()
    return replace(seen, bundles={seen.target_bundle: bundle(seen.target_bundle, unpacking, message)})


FIRST = inventoried(unpacked())
ROLLOUT = Health("Unknown", "0 of 1 run", timedelta(minutes=10))


def reported(seen: World, outcome: Done | Exception, **changed: str) -> World:
    """The same World after what was reported of its health; `changed` is said of its condition Healthy then."""
    result = report_of(seen, outcome).status
    conditions = [entry.model_copy(update=changed) if entry.type == "Healthy" else entry for entry in result.conditions]
    status = seen.deployment.status.model_copy(update={"conditions": conditions, "failed": result.failed})
    return replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))


UNHEALTHY = unwell(Health("False", "makes no progress"))
ROLLING_OUT = unwell(ROLLOUT)
REFUSED = ApplyRejected(Reason.BLOCKED, "Secret ship-system/log is another's", MINUTE)
KIND = Waiting(Reason.WAITING_FOR_KIND, "needs kinds that this cluster does not have: Cup", MINUTE)


def test_what_is_installed_is_recorded_in_the_status_that_names_it() -> None:
    seen = upgrading()
    facts = replace(bundle(seen.target_bundle), image="r@sha256:2", spec=seen.raw["spec"]["template"]["spec"])
    seen = replace(seen, bundles={**seen.bundles, seen.target_bundle: facts})
    assert report_of(seen, apply(seen)).status.installed is None
    status = report_of(seen, Done(Activate())).status
    assert status.installed is not None
    assert (status.active_bundle, status.installed.bundle) == (seen.target_bundle, seen.target_bundle)
    assert status.installed.image == "r@sha256:2"


def test_what_is_installed_on_no_cluster_is_named_with_its_image() -> None:
    seen = unpacked(content=rendered(faults=("webhooks", "an old kind"), unsupported=("webhooks",)))
    facts = replace(seen.bundles[seen.target_bundle], image="r@sha256:1")
    seen = replace(seen, bundles={seen.target_bundle: facts})
    error = Blocked(Reason.BUNDLE_LOAD_FAILED, "webhooks")
    assert report_of(seen, error).status.refused == RejectedBundle(image="r@sha256:1", message="webhooks")
    other = replace(seen, content=rendered(faults=("an old kind",)))
    assert report_of(other, error).status.refused is None


def test_the_record_stays_while_its_bundle_is_missing_and_while_all_is_removed() -> None:
    seen = installed()
    known = BundleRecord(bundle=seen.target_bundle, spec=BundleSpec.load(seen.raw["spec"]["template"]["spec"]))
    obj = {**seen.raw, "status": {**seen.raw["status"], "installed": known.dump()}}
    seen = replace(seen, raw=obj, deployment=BundleDeployment.load(obj), bundles={})
    assert report_of(seen, Done(ApplyBundle({}, is_new=True))).status.installed == known
    assert report_of(deleting(seen), Done(DeleteObjects("objects", ()))).status.installed == known


@pytest.mark.parametrize(
    ("seen", "outcome", "expected", "message"),
    [
        pytest.param(
            world(raw(finalizers=[])),
            Done(ApplyBundle({}, is_new=True)),
            {
                "HasValidBundle": "False/UnpackPending",
                "Installed": "Unknown/InstallPending",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/UnpackPending",
                "Reconciling": "True/UnpackPending",
            },
            "Waiting for the ship-.* Bundle to be unpacked",
            id="before it is reported",
        ),
        pytest.param(
            pending(UnpackState.RETRYING, "no answer"),
            Waiting(Reason.UNPACK_FAILED, "Failed to unpack the b Bundle: no answer", MINUTE),
            {
                "HasValidBundle": "False/UnpackFailed",
                "Installed": "Unknown/InstallPending",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/UnpackFailed",
                "Reconciling": "True/UnpackFailed",
            },
            "Failed to unpack the b Bundle: no answer",
            id="the image cannot be had now",
        ),
        pytest.param(
            pending(UnpackState.FAILED, "no CSV"),
            Blocked(Reason.UNPACK_FAILED, "Failed to unpack the b Bundle: no CSV"),
            {
                "HasValidBundle": "False/UnpackFailed",
                "Installed": "False/InstallFailed",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/Blocked",
                "Stalled": "True/Blocked",
            },
            "Failed to unpack the b Bundle: no CSV",
            id="the content is wrong",
        ),
        pytest.param(
            replace(unpacked(), content=BadBundle("x", "two CSVs")),
            Blocked(Reason.BUNDLE_LOAD_FAILED, "two CSVs"),
            {
                "HasValidBundle": "False/BundleLoadFailed",
                "Installed": "False/InstallFailed",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/Blocked",
                "Stalled": "True/Blocked",
            },
            "two CSVs",
            id="it cannot be installed as it is",
        ),
        pytest.param(
            replace(unpacked(), content=rendered(missing_kinds=("Cup",))),
            KIND,
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "Unknown/InstallPending",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/WaitingForKind",
                "Reconciling": "True/WaitingForKind",
            },
            "needs kinds that this cluster does not have: Cup",
            id="a kind is missing",
        ),
        pytest.param(
            FIRST,
            apply(FIRST),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "False/Installing",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/Installing",
                "Reconciling": "True/Installing",
            },
            "installing ship-.*, phase 2 of 6",
            id="under way",
        ),
        pytest.param(
            FIRST,
            REFUSED,
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "False/InstallFailed",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/Blocked",
                "Stalled": "True/Blocked",
            },
            "Secret ship-system/log is another's",
            id="an object is another's",
        ),
        pytest.param(
            FIRST,
            Unavailable(503, "ServiceUnavailable", "etcd is away"),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "False/InstallFailed",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/Retrying",
                "Reconciling": "True/Retrying",
            },
            "Unavailable: etcd is away",
            id="the API server does not answer",
        ),
        pytest.param(
            installed(),
            Done(Keep()),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "True/Healthy",
                "Ready": "True/Succeeded",
            },
            "Instantiated bundle ship-.* successfully",
            id="installed",
        ),
        pytest.param(
            UNHEALTHY,
            Done(Keep()),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "False/Unhealthy",
                "Ready": "False/Unhealthy",
                "Stalled": "True/Unhealthy",
            },
            "Deployment.apps ship-system/engine: makes no progress",
            id="a workload that failed",
        ),
        pytest.param(
            ROLLING_OUT,
            Done(Keep()),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "Unknown/Progressing",
                "Ready": "False/Progressing",
                "Reconciling": "True/Progressing",
            },
            "Deployment.apps ship-system/engine: 0 of 1 run",
            id="an ordinary rollout",
        ),
        pytest.param(
            replace(installed(), unsynced=frozenset({("apps", "Deployment")})),
            Done(Keep()),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "Unknown/ObjectLookupFailure",
                "Ready": "False/ObjectLookupFailure",
                "Reconciling": "True/Retrying",
            },
            "cannot be read now: Deployment",
            id="its objects cannot be seen",
        ),
        pytest.param(
            installed(),
            REFUSED,
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "True/Healthy",
                "Ready": "False/Blocked",
                "Stalled": "True/Blocked",
            },
            "cannot repair: Secret ship-system/log is another's",
            id="installed, and cannot be repaired",
        ),
        pytest.param(
            replace(installed(), content=rendered(missing_kinds=("Cup",))),
            KIND,
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "True/Healthy",
                "Ready": "False/WaitingForKind",
                "Reconciling": "True/WaitingForKind",
            },
            "needs kinds",
            id="installed, and a kind went away",
        ),
        pytest.param(
            replace(installed(), content=MissingContent()),
            Waiting(Reason.UNPACK_PENDING, "the content of the b Bundle is unavailable", MINUTE),
            {
                "HasValidBundle": "False/UnpackPending",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "Unknown/ObjectLookupFailure",
                "Ready": "False/UnpackPending",
                "Reconciling": "True/UnpackPending",
            },
            "^cannot repair: content unavailable$",
            id="installed, and its content is nowhere",
        ),
        pytest.param(
            upgrading(),
            apply(upgrading(), 3),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "True/Healthy",
                "Ready": "False/Upgrading",
                "Reconciling": "True/Upgrading",
            },
            "upgrading to ship-.*, phase 3 of 6",
            id="an upgrade under way",
        ),
        pytest.param(
            replace(upgrading(), bundles={}),
            Done(ApplyBundle({}, is_new=True)),
            {
                "HasValidBundle": "False/UnpackPending",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "True/Healthy",
                "Ready": "False/Upgrading",
                "Reconciling": "True/UnpackPending",
            },
            "upgrading to ship-.*: Waiting for the ship-.* Bundle to be unpacked",
            id="an upgrade that has not begun",
        ),
        pytest.param(
            upgrading(),
            REFUSED,
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "True/Healthy",
                "Ready": "False/Upgrading",
                "Stalled": "True/Blocked",
            },
            "cannot upgrade to ship-.*: Secret ship-system/log is another's$",
            id="an upgrade that failed before its first write",
        ),
        pytest.param(
            deleting(),
            Waiting(Reason.REMOVING, "removing objects", MINUTE),
            {"Ready": "False/Removing", "Reconciling": "True/Removing"},
            "removing objects",
            id="being deleted",
        ),
        pytest.param(
            deleting(annotations={DELETION_HOLD_ANNOTATION: "party needs it"}),
            Waiting(Reason.DELETION_HELD, "deletion is held: party needs it", MINUTE),
            {"Ready": "False/DeletionHeld", "Reconciling": "True/DeletionHeld"},
            "^deletion is held: party needs it$",
            id="being deleted, which an annotation holds",
        ),
    ],
)
def test_conditions(seen: World, outcome: Done | Exception, expected: dict[str, str], message: str) -> None:
    result = report_of(seen, outcome)
    assert brief(result) == expected
    assert re.search(message, ready(result))
    assert result.status.observed_generation == seen.deployment.metadata.generation
    assert {entry.observed_generation for entry in result.status.conditions} == {seen.deployment.metadata.generation}
    assert not {"Reconciling", "Stalled"} <= expected.keys()


def test_every_reason_is_said_somewhere() -> None:
    """Reasons are API: each of them is the expectation of a row of this file, or of another about the report."""
    here = Path(__file__).parent
    more = (here / "test_account_rules.py", here / "test_upgrade_hold.py")
    source = "".join(path.read_text() for path in (*here.glob("test_report*.py"), *more))
    assert {reason for reason in Reason if f"/{reason.value}" not in source} == set()


def test_the_literals_of_the_guide() -> None:
    result = conditions(report_of(installed(), Done(Keep())))
    name = installed().target_bundle
    assert result["HasValidBundle"][2] == f"Successfully unpacked the {name} Bundle"
    assert result["Installed"][2] == f"Instantiated bundle {name} successfully"
    assert result["Healthy"][2] == "BundleDeployment is healthy"
    result = conditions(report_of(pending(UnpackState.PENDING), Done(Keep())))
    assert result["HasValidBundle"][2] == f"Waiting for the {world().target_bundle} Bundle to be unpacked"
    assert result["Healthy"][2] == "Installed condition is false"


def test_the_target_is_named_as_people_know_it() -> None:
    obj = raw(template={"annotations": {"operators.operatorframework.io/bundle-name": "ship.v2.0.0"}})
    seen = inventoried(unpacked(world(obj)))
    assert ready(report_of(seen, apply(seen))) == "installing ship.v2.0.0, phase 2 of 6"


def test_the_active_bundle_is_the_old_one_until_the_new_one_is_whole() -> None:
    seen = upgrading()
    assert report_of(seen, apply(seen)).status.active_bundle == seen.active_bundle
    assert report_of(seen, REFUSED).status.active_bundle == seen.active_bundle
    result = report_of(applied(seen), Done(Activate()))
    assert result.status.active_bundle == seen.target_bundle
    assert conditions(result)["Installed"][2] == f"Instantiated bundle {seen.target_bundle} successfully"


def test_a_failed_upgrade_names_which_objects_are_new() -> None:
    seen = upgrading(rendered(NS, DEFINITION, ROLE, SECRET, WORKLOAD, digest="v2"))
    seen = replace(seen, last_applied={**seen.last_applied, DEFINITION: LastApplied("v2", ENTRY, ago(hours=1))})
    error = ApplyRejected(Reason.BLOCKED, "no", MINUTE, applied=frozenset({ROLE}))
    assert ready(report_of(seen, error)).endswith(
        "no; already new: ClusterRole.rbac.authorization.k8s.io captain, "
        "CustomResourceDefinition.apiextensions.k8s.io boats.example.com"
    )


def test_what_cannot_be_reversed_is_said_as_long_as_it_can_be_stopped() -> None:
    seen = upgrading(rendered(digest="v2", storage="v2"))
    sentence = "this cannot be reversed: it moves the storage version of boats.example.com from v1 to v2"
    for outcome in (Done(Announce()), apply(seen), REFUSED):
        assert ready(report_of(seen, outcome)).endswith(sentence)
    moved = replace(seen, crds={DEFINITION.name: crd(storage_version="v2")})
    assert sentence not in ready(report_of(moved, apply(moved)))
    refused = replace(seen, content=replace(rendered(digest="v2", storage="v2"), faults=("two CSVs",)))
    error = Blocked(Reason.BUNDLE_LOAD_FAILED, "two CSVs", [])
    assert sentence not in ready(report_of(refused, error)), "it is not done"


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(BriefWait(Reason.RETRYING, "x", MINUTE), id="what is known in a moment"),
        pytest.param(Done(UpdateInventory(frozenset())), id="a step that the next one follows at once"),
        pytest.param(apply(FIRST, 6), id="the last stage: the next pass says installed"),
    ],
)
def test_what_is_superseded_in_a_moment_is_not_written(outcome: Done | Exception) -> None:
    seen = inventoried(unpacked(world(raw(status={"observedGeneration": 1}))))
    since = seen.now if isinstance(outcome, BriefWait) else None
    assert report_of(seen, outcome) == BundleDeploymentReport(seen.deployment.status, brief_wait_since=since)
    is_new = replace(seen, deployment=world().deployment)
    assert report_of(is_new, outcome).status.observed_generation == (-1 if since else 1)


def test_what_cannot_be_reversed_is_written_before_it_is_done() -> None:
    seen = upgrading(rendered(digest="v2", storage="v2"))
    assert all(report_of(seen, Done(plan)).is_required for plan in (Announce(), BeginRevision()))
    assert not report_of(seen, apply(seen)).is_required


def test_a_conflict_reports_nothing() -> None:
    assert report_of(FIRST, Conflict(409, "Conflict", "x")) == BundleDeploymentReport(FIRST.deployment.status)


def test_a_repair_and_a_removal_of_leftovers_are_no_news() -> None:
    before = report_of(installed(), Done(Keep())).status
    seen = installed()
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": before}))
    for done in (apply(seen, 2), Done(DeleteObjects("x", ()))):
        assert report_of(seen, done) == BundleDeploymentReport(before)


def test_at_most_three_objects_that_are_not_well_are_named() -> None:
    ill = [
        member(ObjectKey("apps", "Deployment", "n", f"d{number}"), health=Health("False", "x")) for number in range(5)
    ]
    seen = installed()
    seen = replace(seen, labeled={**seen.labeled, **{entry.key: entry for entry in reversed(ill)}})
    assert ready(report_of(seen, Done(Keep()))) == (
        "Deployment.apps n/d0: x; Deployment.apps n/d1: x; Deployment.apps n/d2: x; and 2 more"
    )


def test_what_is_odd_is_said_when_all_is_well() -> None:
    monitor = ObjectKey("monitoring.coreos.com", "ServiceMonitor", "ship-system", "m")
    seen = installed()
    assert isinstance(seen.content, RenderedBundle)
    seen = replace(
        seen,
        content=replace(seen.content, left_out=(monitor,), warnings=("a template does not parse",)),
    )
    result = report_of(seen, Done(Keep()))
    assert ready(result) == (
        f"Instantiated bundle {seen.target_bundle} successfully; a template does not parse; "
        "left out, because the cluster lacks their kinds: ServiceMonitor.monitoring.coreos.com ship-system/m"
    )
    assert result.status.left_out == [
        ObjectReference(group="monitoring.coreos.com", kind="ServiceMonitor", namespace="ship-system", name="m")
    ]


def conditions_of(seen: World, outcome: Done | Exception) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.message) for each in report_of(seen, outcome).status.conditions}


def test_an_object_that_is_not_there_is_not_well_whatever_the_pass_waits_for() -> None:
    seen = installed()
    seen = replace(seen, labeled={key: entry for key, entry in seen.labeled.items() if key != SECRET})
    result = conditions_of(
        seen, Waiting(Reason.RETRYING, "waiting until it is gone: Namespace ship-system", timedelta(1))
    )
    assert result["Healthy"] == ("Unknown", "Secret ship-system/log: it does not exist")
    assert result["Ready"][0] == "False"


def test_an_object_that_others_change_over_and_over_is_not_well() -> None:
    seen = installed()
    seen = replace(
        seen,
        labeled={**seen.labeled, SECRET: member(SECRET, applied_fields={MANAGER: "else"})},
        last_applied={**seen.last_applied, SECRET: LastApplied("v1", ENTRY, seen.now, quick_reverts=3)},
    )
    result = conditions_of(seen, Done(Keep()))
    assert result["Ready"] == (
        "False",
        "Secret ship-system/log: changed repeatedly by others, and left unchanged for a while",
    )


def test_what_was_released_is_named_while_it_is_there_and_without_an_owner() -> None:
    note = {RELEASED_ANNOTATION: "ship"}
    crds = [
        crd("a.x", owner_uid="", released_by="ship"),
        crd("b.x", owner_uid="other", released_by="ship"),
        crd("c.x", owner_uid=""),
    ]
    spaces = [
        replace(namespace("d", annotations=note), labels={}),
        namespace("e", "uid-other", annotations=note),
        replace(namespace("f", annotations={RELEASED_ANNOTATION: "boat"}), labels={}),
    ]
    seen = replace(
        installed(),
        crds={facts.name: facts for facts in crds},
        namespaces={facts.name: facts for facts in spaces},
    )
    expected = [
        ObjectReference(group="", kind="Namespace", name="d"),
        ObjectReference(group=CRD[0], kind=CRD[1], name="a.x"),
    ]
    assert report_of(seen, Done(Keep())).status.released == expected
    assert report_of(seen, REFUSED).status.released == expected
    assert report_of(installed(), REFUSED).status.released is None


def test_the_install_namespace_is_that_of_what_runs() -> None:
    assert report_of(FIRST, apply(FIRST)).status.install_namespace == "ship-system"
    old = replace(rendered(), namespace="old-system")
    assert report_of(upgrading(old=old), REFUSED).status.install_namespace == "old-system"
    seen = replace(upgrading(), active_content=MissingContent())
    assert report_of(seen, REFUSED).status.install_namespace is None


def test_what_is_left_out_stays_known_while_the_content_is_away() -> None:
    entry = ObjectReference(group="g", kind="K", name="n")
    seen = replace(installed(), content=MissingContent())
    status = seen.deployment.status.model_copy(update={"left_out": [entry]})
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))
    assert report_of(seen, REFUSED).status.left_out == [entry]


def test_deletion_leaves_what_was_said_of_the_bundle() -> None:
    seen = installed()
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": report_of(seen, Done(Keep())).status}))
    result = report_of(replace(deleting(seen), deployment=_deleted(seen)), Done(DeleteObjects("custom resources", ())))
    assert brief(result) == {
        "HasValidBundle": "True/UnpackSuccessful",
        "Installed": "True/InstallationSucceeded",
        "Healthy": "True/Healthy",
        "Ready": "False/Removing",
        "Reconciling": "True/Removing",
    }
    assert ready(result) == "removing custom resources"
    assert ready(report_of(deleting(), Unavailable(503, "x", "y"))) == "cannot remove: Unavailable: y"


def _deleted(seen: World) -> Any:
    gone = seen.deployment.metadata.model_copy(update={"deletion_timestamp": "2026-01-01T11:00:00Z"})
    return seen.deployment.model_copy(update={"metadata": gone})


# --- Events


def step(plan: Plan) -> Done:
    return Done(plan)


def test_an_installation_has_few_events_and_no_warning() -> None:
    assert events_after(
        [
            (world(raw(finalizers=[])), step(ApplyBundle({}, is_new=True))),
            (pending(UnpackState.PENDING), Waiting(Reason.UNPACK_PENDING, "x", MINUTE)),
            (unpacked(), step(UpdateInventory(frozenset()))),
            (FIRST, apply(FIRST)),
            (replace(ROLLING_OUT, deployment=world().deployment), Done(Activate())),
            (ROLLING_OUT, Done(Keep())),
            (installed(), Done(Keep())),
        ]
    ) == [("Normal", "Succeeded")]


def test_an_upgrade_has_few_events_and_no_warning() -> None:
    seen = upgrading()
    assert events_after(
        [
            (installed(), Done(Keep())),
            (seen, apply(seen, 3)),
            (unwell(ROLLOUT, applied(seen)), Done(Activate())),
            (applied(seen), Done(Keep())),
        ]
    ) == [("Normal", "Succeeded"), ("Normal", "Upgrading"), ("Normal", "Succeeded")]


def test_a_workload_that_fails_is_one_warning_and_its_recovery_one_event() -> None:
    assert events_after(
        [
            (installed(), Done(Keep())),
            (ROLLING_OUT, Done(Keep())),
            (UNHEALTHY, Done(Keep())),
            (UNHEALTHY, Done(Keep())),
            (installed(), Done(Keep())),
        ]
    ) == [("Normal", "Succeeded"), ("Normal", "Progressing"), ("Warning", "Unhealthy"), ("Normal", "Recovered")]


@pytest.mark.parametrize(
    ("error", "event"),
    [
        pytest.param(
            Blocked(Reason.UNPACK_FAILED, "x"),
            ("Warning", "UnpackFailed"),
            id="what needs user action is reported once",
        ),
        pytest.param(
            Waiting(Reason.UNPACK_FAILED, "x", MINUTE), ("Warning", "UnpackFailed"), id="a failure that may pass"
        ),
        pytest.param(REFUSED, ("Warning", "InstallFailed"), id="an object that is another's"),
        pytest.param(KIND, ("Normal", "WaitingForKind"), id="a missing kind"),
    ],
)
def test_what_goes_wrong_is_reported_once(error: OlmError, event: tuple[str, str]) -> None:
    unpacking = UnpackState.FAILED if isinstance(error, Blocked) else UnpackState.RETRYING
    seen = FIRST if error in (KIND, REFUSED) else pending(unpacking, "x")
    assert events_after([(seen, error), (seen, error)]) == [event]


def changes(*changed: ObjectChange) -> Done:
    """Objects were applied, and that is what it did to them."""
    content = installed().content
    assert isinstance(content, RenderedBundle)
    plan = Apply(content, (PhaseStep(2, ()),), dry_run_first=False)
    return Done(plan, applied=frozenset(each.key for each in changed), changes=changed)


REVERTED = ObjectChange(SECRET, Verb.REVERTED, "changed by kubectl-edit")
WAITS = Waiting(Reason.RETRYING, "it was deleted, waiting until it is gone: Secret", MINUTE)
ABSENT = replace(installed(), labeled={key: entry for key, entry in installed().labeled.items() if key != SECRET})
HELD = replace(
    ABSENT, labeled={**ABSENT.labeled, SECRET: member(SECRET, deletion_timestamp=ago(minutes=1), finalizers=("x",))}
)
RECREATED = ObjectChange(WORKLOAD, Verb.RECREATED, "it was deleted")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param([REVERTED], "reverted Secret ship-system/log: changed by kubectl-edit", id="changed"),
        pytest.param(
            [REVERTED, RECREATED],
            "recreated Deployment.apps ship-system/engine: it was deleted; "
            "reverted Secret ship-system/log: changed by kubectl-edit",
            id="changed and deleted: one Event",
        ),
        pytest.param([replace(REVERTED, is_first=False)], "", id="the same again soon after"),
        pytest.param([ObjectChange(SECRET, Verb.CREATED, "bundle b")], "", id="made for the first time"),
        pytest.param([ObjectChange(SECRET, Verb.CHANGED, "bundle b")], "", id="changed with the bundle"),
    ],
)
def test_drift_that_was_repaired_is_one_warning(changed: list[ObjectChange], expected: str) -> None:
    result = report_of(installed(), changes(*changed))
    assert [notice.message for notice in result.events] == ([expected] if expected else [])
    assert {(notice.type, notice.reason) for notice in result.events} <= {("Warning", "DriftRepaired")}


def test_drift_that_was_reported_when_its_repair_exceeded_the_deadline_is_not_reported_again() -> None:
    late = reported(HELD, WAITS, last_transition_time=format_timestamp(ago(minutes=10)))
    late = reported(late, WAITS)
    assert brief(report_of(late, WAITS))["Healthy"] == "False/Unhealthy"
    assert report_of(late, changes(ObjectChange(SECRET, Verb.RECREATED, "it was deleted"))).events == ()


def test_what_somebody_deleted_is_one_warning_also_when_it_takes_a_while_to_go() -> None:
    """As it is for a Namespace with what is in it, and for a CRD with its custom resources."""
    assert events_after(
        [
            (installed(), Done(Keep())),
            (HELD, WAITS),
            (HELD, WAITS),
            (ABSENT, changes(ObjectChange(SECRET, Verb.RECREATED, "it was deleted"))),
            (installed(), Done(Keep())),
        ]
    ) == [("Normal", "Succeeded"), ("Normal", "Progressing"), ("Warning", "DriftRepaired"), ("Normal", "Succeeded")]


@pytest.mark.parametrize(
    ("began", "deadline", "expected"),
    [
        pytest.param(9, MINUTE * 10, "Unknown/Progressing", id="within its deadline"),
        pytest.param(10, MINUTE * 10, "False/Unhealthy", id="at its deadline"),
        pytest.param(600, None, "Unknown/Progressing", id="its own status reports the end of it"),
    ],
)
def test_progress_is_ordinary_until_its_deadline(began: int, deadline: timedelta | None, expected: str) -> None:
    seen = unwell(Health("Unknown", "0 of 1 run", deadline))
    began_at = format_timestamp(ago(minutes=began))
    result = report_of(reported(seen, Done(Keep()), last_transition_time=began_at), Done(Keep()))
    assert brief(result)["Healthy"] == expected


def test_what_exceeded_its_deadline_has_failed_until_it_is_well_also_after_a_restart() -> None:
    seen = reported(ROLLING_OUT, Done(Keep()), last_transition_time=format_timestamp(ago(minutes=10)))
    late = reported(seen, Done(Keep()))
    assert brief(report_of(late, Done(Keep())))["Healthy"] == "False/Unhealthy"
    assert report_of(late, Done(Keep())).transitions == ()
    well = replace(late, labeled=installed().labeled)
    assert brief(report_of(well, Done(Keep())))["Ready"] == "True/Succeeded"


def test_what_is_made_again_after_it_was_deleted_has_not_failed() -> None:
    seen = installed()
    absent = {key: entry for key, entry in seen.labeled.items() if key != WORKLOAD}
    waiting = Waiting(Reason.RETRYING, "waiting until it is gone: Namespace ship-system", MINUTE)
    held = reported(replace(seen, labeled=absent), waiting, last_transition_time=format_timestamp(ago(minutes=10)))
    assert brief(report_of(held, waiting))["Healthy"] == "False/Unhealthy"
    late = reported(held, waiting)
    assert brief(report_of(late, waiting))["Healthy"] == "False/Unhealthy", "as long as it is not there"
    assert brief(report_of(unwell(ROLLOUT, late), Done(Keep())))["Healthy"] == "Unknown/Progressing"


def test_what_this_pass_made_again_is_there() -> None:
    seen = installed()
    seen = replace(seen, labeled={key: entry for key, entry in seen.labeled.items() if key != SECRET})
    assert brief(report_of(seen, changes(ObjectChange(SECRET, Verb.RECREATED, "x"))))["Ready"] == "True/Succeeded"


def returning() -> World:
    """An upgrade had begun, and the template went back to what is installed."""
    seen = installed()
    ready = Condition(type="Ready", status="False", reason="Upgrading", message="", last_transition_time="t")
    status = seen.deployment.status.model_copy(update={"conditions": [ready]})
    metadata = seen.deployment.metadata.model_copy(update={"generation": 2})
    deployment = seen.deployment.model_copy(update={"status": status, "metadata": metadata})
    return replace(
        seen,
        deployment=deployment,
        bundles={**seen.bundles, "ship-b": bundle("ship-b")},
        last_applied={**seen.last_applied, SECRET: LastApplied("v2", ENTRY, ago(minutes=1))},
    )


def test_on_the_way_back_to_what_is_installed_it_is_not_ready() -> None:
    seen = returning()
    result = report_of(seen, apply(seen))
    assert brief(result) == {
        "HasValidBundle": "True/UnpackSuccessful",
        "Installed": "True/InstallationSucceeded",
        "Healthy": "True/Healthy",
        "Ready": "False/Upgrading",
        "Reconciling": "True/Upgrading",
    }
    assert ready(result) == f"returning to {seen.target_bundle}, phase 2 of 6"
    assert (
        ready(report_of(seen, REFUSED)) == f"cannot return to {seen.target_bundle}: Secret ship-system/log is another's"
    )
    changing = replace(seen, bundles=installed().bundles)
    assert ready(report_of(changing, apply(seen))) == f"changing {seen.target_bundle}, phase 2 of 6"
    back = replace(seen, last_applied=installed().last_applied)
    assert brief(report_of(back, Done(Keep())))["Ready"] == "True/Succeeded"


def test_a_repair_of_what_is_installed_is_no_upgrade() -> None:
    seen = replace(installed(), last_applied={})
    assert brief(report_of(seen, apply(seen, last=2)))["Ready"] == "True/Succeeded"


def test_what_should_be_known_in_a_moment_is_said_when_it_is_not() -> None:
    settling = BriefWait(Reason.OBJECT_LOOKUP_FAILURE, "reading what there is of Cup", MINUTE)
    seen = installed()
    assert report_of(seen, settling).status == seen.deployment.status
    assert report_of(replace(seen, brief_wait_since=ago(seconds=29)), settling).status == seen.deployment.status
    result = report_of(replace(seen, brief_wait_since=ago(seconds=30)), settling)
    assert conditions(result)["Reconciling"] == ("True", "Retrying", "reading what there is of Cup")
