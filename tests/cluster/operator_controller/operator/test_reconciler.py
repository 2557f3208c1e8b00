"""The Operator's controller on the real API server with the real catalogd."""

import http.client
import json
import re
import time

import pytest

from devcluster.errors import DevclusterError
from devcluster.suite import Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, CATALOGS, OPERATORS, Object, condition, is_true
from tests.bundle_properties import package_required
from tests.cluster.operator_controller.conftest import (
    FINALIZER,
    HEALTHY,
    Scene,
    blobs,
    image_of,
    wanted_catalog,
    wanted_version,
)
from tests.conditions import triple
from tests.e2e.packages import catalog_file

NOT_ATTEMPTED = ("Unknown", "InstallationStatusUnknown", "installation has not been attempted as resolution failed")


def test_an_operator_waits_for_a_catalog_and_requests_the_best_bundle(scene: Scene) -> None:
    name = scene.operator(scene.name)
    waiting = scene.condition_when(name, "Reconciling", "True", "not found")
    assert triple(waiting, "Resolved") == ("False", "ResolutionFailed", f"package '{scene.name}' not found")
    assert triple(waiting, "Installed") == NOT_ATTEMPTED
    assert condition(waiting, "Reconciling")["reason"] == "WaitingForCatalog"
    assert not is_true(waiting, "Stalled")
    assert "finalizers" not in waiting["metadata"]

    scene.catalog(scene.catalog_of("1.0.0"))
    deployment = scene.deployment_when(name, "1.0.0")
    operator = scene.condition_when(name, "Resolved", "True", f'resolved to "{image_of(scene.name, "1.0.0")}"')
    assert operator["metadata"]["finalizers"] == [FINALIZER]
    assert triple(operator, "Installed") == (
        "Unknown",
        "InstallationStatusUnknown",
        "bundledeployment status is unknown",
    )
    assert deployment["metadata"]["ownerReferences"] == [_owner_reference(operator)]
    _assert_requests_first_version(scene, deployment)

    scene.install(name, "1.0.0")
    ready = scene.ready_operator(name, "1.0.0")
    assert triple(ready, "Installed") == ("True", "Success", f'installed from "{image_of(scene.name, "1.0.0")}"')
    assert ready["status"]["installedBundleResource"] == image_of(scene.name, "1.0.0")
    wanted = {"name": f"{scene.name}.v1.0.0", "version": "1.0.0", "image": image_of(scene.name, "1.0.0")}
    assert ready["status"]["wanted"] == {**wanted, "applied": True}
    assert "failure" not in ready["status"]
    assert ready["status"]["installed"] == {
        "name": f"{scene.name}.v1.0.0",
        "version": "1.0.0",
        "catalog": scene.name,
        "channel": "stable",
        "apis": [{"group": f"{scene.name}.example.com", "version": "v1", "kind": "Thing"}],
    }
    assert {one["type"] for one in ready["status"]["conditions"]} == {"Resolved", "Installed", "Ready"}


def test_kubectl_get_shows_the_reason_and_the_wanted_version_before_installation(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0"))
    name = scene.operator(scene.name)
    scene.condition_when(name, "Resolved", "True")
    header, row = scene.cluster.kubectl("get", "operators.operators.operatorframework.io", name).splitlines()
    assert header.split() == [
        *("NAME", "READY", "REASON", "PACKAGE", "VERSION", "WANTED", "AVAILABLE", "CHANNEL", "AGE")
    ]
    assert row.split()[:5] == [name, "False", "Installing", scene.name, "1.1.0"]
    assert row[header.index("WANTED") :].startswith("1.1.0")


def test_upgrades_follow_a_channel_step_by_step_and_report_the_running_bundle(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")

    scene.catalog_of("1.0.0", "1.1.0", "1.2.0")
    scene.deployment_when(name, "1.1.0")
    upgrading = scene.condition_when(name, "Resolved", "True", image_of(scene.name, "1.1.0"))
    assert triple(upgrading, "Installed")[2] == f'installed from "{image_of(scene.name, "1.0.0")}"'
    assert upgrading["status"]["installedBundleResource"] == image_of(scene.name, "1.0.0")
    assert triple(upgrading, "Ready")[:2] == ("False", "Upgrading")
    assert "of the upgrade from 1.0.0 to 1.2.0" in upgrading["status"]["resolution"]

    scene.install(name, "1.1.0")
    scene.install(name, "1.2.0")
    scene.ready_operator(name, "1.2.0")


def test_a_pinned_version_stays_and_an_unreachable_one_is_refused(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0", "1.2.0"))
    name = scene.operator(scene.name, version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")

    scene.patch_operator(name, {"version": "1.2.0"})
    refused = scene.condition_when(name, "Stalled", "True", "next step 1.1.0")
    assert triple(refused, "Resolved") == (
        "False",
        "ResolutionFailed",
        "1.2.0 cannot be reached from 1.0.0 directly: next step 1.1.0",
    )
    assert triple(refused, "Installed")[:2] == ("True", "Success")
    assert refused["status"]["failure"] == {
        "reason": "NoUpgradeEdge",
        "message": "1.2.0 cannot be reached from 1.0.0 directly: next step 1.1.0",
        "package": scene.name,
        "version": "1.2.0",
        "catalogs": [scene.name],
        "installedVersion": "1.0.0",
    }

    scene.patch_operator(name, {"version": "999.99.9"})
    missing = scene.condition_when(name, "Resolved", "False", f"package '{scene.name}' at version '999.99.9' not found")
    assert triple(missing, "Installed")[2] == f'installed from "{image_of(scene.name, "1.0.0")}"'
    assert missing["status"]["installedBundleResource"] == image_of(scene.name, "1.0.0")
    assert "stable has 1.0.0, 1.1.0, 1.2.0; none is 999.99.9" in triple(missing, "Ready")[2]
    assert wanted_version(scene.deployment_when(name, "1.0.0")) == "1.0.0"

    scene.patch_operator(name, {"version": "1.1.0"})
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")


def test_a_failed_bundle_is_reported_with_its_reason(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.deployment_when(name, "1.0.0")
    scene.set_status(
        name, [("HasValidBundle", "False", "UnpackFailed"), ("Ready", "False", "Installing")], message="no image"
    )
    failed = scene.condition_when(name, "Installed", "False")
    assert triple(failed, "Installed")[1:] == ("InstallationFailed", "bundledeployment not ready: no image")
    assert "no image" in triple(failed, "Ready")[2]
    scene.set_status(
        name, [("Stalled", "True", "Blocked"), ("Installed", "False", "InstallFailed")], message="webhooks"
    )
    stalled = scene.condition_when(name, "Stalled", "True")
    assert triple(stalled, "Installed")[2] == "bundledeployment not ready: webhooks"


def test_a_rejected_image_is_not_requested_again(scene: Scene) -> None:
    image = f"registry.example.com/{scene.name}@sha256:{'1' * 64}"
    content = blobs(scene.name, ["1.0.0"], {})
    next(blob for blob in content if blob["schema"] == "olm.bundle")["image"] = image
    scene.repository().push_files(catalog_file(content))
    scene.ready_catalog(scene.repository().reference)
    name = scene.operator(scene.name)
    scene.deployment_when(name, "1.0.0")
    message = f'bundle "{scene.name}.v1.0.0" has webhooks'
    scene.set_status(
        name,
        [
            ("HasValidBundle", "False", "BundleLoadFailed"),
            ("Stalled", "True", "Blocked"),
            ("Ready", "False", "Blocked"),
        ],
        message=message,
        refused={"image": image, "message": message},
    )
    assert triple(scene.condition_when(name, "Stalled", "True"), "Ready") == ("False", "Blocked", message)
    scene.delete("Operator", name)
    scene.operator(scene.name)
    assert triple(scene.condition_when(name, "Stalled", "True"), "Ready") == ("False", "Blocked", message)
    assert not scene.exists("bundledeployment", name)


def test_a_bundle_whose_dependency_no_catalog_offers_is_refused(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0", properties={"1.1.0": [package_required("b")]}))
    name = scene.operator(scene.name, version="1.1.0")
    refused = scene.condition_when(name, "Stalled", "True")
    why = f'{scene.name} v1.1.0 requires b ">=1.0.0", which no catalog offers'
    assert triple(refused, "Resolved") == ("False", "ResolutionFailed", f"Unable to resolve because {why}")
    assert not scene.exists("bundledeployment", name)
    scene.patch_operator(name, {"version": None})
    scene.install(name, "1.0.0")
    found = scene.ready_operator(name, "1.0.0")
    assert found["status"]["resolution"].endswith(f"1.1.0 is available too, but {why}")


def test_a_second_operator_for_a_package_is_blocked_until_the_first_is_deleted(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    first = scene.operator(scene.name)
    scene.install(first, "1.0.0")
    scene.ready_operator(first, "1.0.0")
    second = scene.operator(scene.name, f"{scene.name}-2")
    refused = scene.condition_when(second, "Stalled", "True")
    assert triple(refused, "Resolved") == (
        "False",
        "ResolutionFailed",
        f'package "{scene.name}" is already managed by Operator "{first}"; delete the one that has installed nothing',
    )
    assert is_true(scene.condition_when(first, "Ready", "True"), "Ready")
    scene.delete("Operator", first)
    scene.install(second, "1.0.0")
    scene.ready_operator(second, "1.0.0")


def test_a_bundle_deployment_that_another_client_has_made_is_not_adopted_unasked(scene: Scene) -> None:
    scene.foreign_deployment()
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    refused = scene.condition_when(name, "Stalled", "True", "already exists and is owned by no Operator")
    assert triple(refused, "Installed")[:2] == ("False", "InstallationFailed")
    scene.cluster.kubectl("delete", "bundledeployment", name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")


def test_an_active_bundle_that_was_deleted_is_reported_and_upgrades_continue(scene: Scene) -> None:
    """For two Operators at once, because operator-controller waits half a minute before it reports that: what is installed is
    recorded for one of them and not for the other."""
    unrecorded = Scene(scene.cluster, scene.suite, f"{scene.name}-b")
    try:
        bundles = [_lose_bundle(scene, is_recorded=True), _lose_bundle(unrecorded, is_recorded=False)]
        for each, bundle in zip((scene, unrecorded), bundles, strict=True):
            _assert_reported_and_upgraded(each, bundle)
    finally:
        unrecorded.close()


def _lose_bundle(scene: Scene, *, is_recorded: bool) -> str:
    """Install version 1.0.0 of the scene's package, offer two newer ones, and delete the active Bundle; returns its name."""
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    bundle = scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    prefix = "operators.operatorframework.io/"
    template = scene.deployment_when(name, "1.0.0")["spec"]["template"]
    annotations = template["metadata"]["annotations"]
    record = {field: annotations[prefix + field] for field in ("package", "catalog", "channel", "properties")}
    record |= {"bundle": bundle, "spec": template["spec"]}
    record |= {"name": annotations[f"{prefix}bundle-name"], "version": annotations[f"{prefix}bundle-version"]}

    scene.catalog_of("1.0.0", "1.1.0", "1.2.0")
    scene.deployment_when(name, "1.1.0")
    scene.set_status(
        name,
        [("Installed", "True", "InstallationSucceeded"), ("Ready", "False", "Upgrading")],
        message="no image",
        installed=record if is_recorded else None,
    )
    scene.cluster.kubectl("delete", "bundle", bundle)
    scene.patch_operator(name, {"version": "9.9.9"})
    return bundle


def _assert_reported_and_upgraded(scene: Scene, bundle: str) -> None:
    name = scene.name
    missing = scene.condition_when(name, "Installed", "True", f'its Bundle "{bundle}" is missing')
    assert triple(missing, "Resolved")[:2] == ("False", "ResolutionFailed")
    assert triple(missing, "Ready")[0] == "False"
    assert f'the installed Bundle "{bundle}" is missing' in triple(missing, "Ready")[2]
    assert missing["status"]["installed"] == {
        "name": f"{scene.name}.v1.0.0",
        "version": "1.0.0",
        "catalog": scene.name,
        "channel": "stable",
        "apis": [{"group": f"{scene.name}.example.com", "version": "v1", "kind": "Thing"}],
    }
    scene.patch_operator(name, {"version": None})
    scene.condition_when(name, "Resolved", "True", image_of(scene.name, "1.1.0"))
    scene.install(name, "1.1.0")
    scene.install(name, "1.2.0")
    assert "missing" not in triple(scene.ready_operator(name, "1.2.0"), "Installed")[2]


def test_an_operator_is_deleted_after_its_bundle_deployment(scene: Scene) -> None:
    catalog = scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.set_finalizers(name, "example.com/hold")
    scene.delete("Catalog", catalog)
    scene.request_deletion("Operator", name)
    scene.until(
        BUNDLE_DEPLOYMENTS, "it is being deleted", lambda o: "deletionTimestamp" in o.get(name, {}).get("metadata", {})
    )
    scene.set_status(name, [("Ready", "False", "Removing")], active=f"{name}-100", message="2 things are left")
    removing = scene.condition_when(name, "Reconciling", "True", "removing the installed bundle: 2 things are left")
    assert condition(removing, "Reconciling")["reason"] == "Removing"
    assert triple(removing, "Installed")[0] == "True"
    scene.set_finalizers(name)
    scene.until(OPERATORS, "the Operator is deleted", lambda objects: name not in objects)


def test_the_log_reports_creation_and_deletion_without_errors(scene: Scene, suite: Suite) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.delete("Operator", name)
    log = suite.log("operator-controller").read_text().splitlines()
    lines = [line for line in map(json.loads, log) if line.get("name") == name]
    messages = [line["msg"] for line in lines]
    assert messages.count(f"created BundleDeployment {name} (bundle {scene.name}.v1.0.0)") == 1
    assert messages.count(f"deleted BundleDeployment {name} (the Operator is being deleted)") == 1
    ready = [line for line in lines if line.get("condition") == "Ready" and line["status"] == "True"]
    assert [(line["kind"], line["reason"], line["controller"]) for line in ready] == [
        ("Operator", "Succeeded", "operator")
    ]
    assert [line for line in lines if line["level"] != "info"] == []


def test_an_operator_that_never_resolved_is_deleted_at_once(scene: Scene) -> None:
    name = scene.operator(scene.name)
    scene.condition_when(name, "Resolved", "False")
    scene.delete("Operator", name)
    assert not scene.exists("operator.operators.operatorframework.io", name)


def test_the_installed_bundle_stays_when_its_catalog_is_deleted(scene: Scene) -> None:
    catalog = scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0"))
    name = scene.operator(scene.name, version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    before = scene.deployment_when(name, "1.0.0")["metadata"]
    scene.delete("Catalog", catalog)
    operator = scene.condition_when(
        name, "Ready", "True", "was deleted, and no other catalog that is served offers bundle"
    )
    assert triple(operator, "Ready")[1] == "CatalogDeleted"
    assert triple(operator, "Installed")[0] == "True"
    scene.patch_operator(name, {"version": "1.1.0"})
    waiting = scene.condition_when(name, "Reconciling", "True", "was deleted")
    assert condition(waiting, "Reconciling")["reason"] == "WaitingForCatalog"
    assert triple(waiting, "Installed")[0] == "True"
    after = scene.deployment_when(name, "1.0.0")["metadata"]
    assert (after["uid"], after["generation"]) == (before["uid"], before["generation"])
    scene.catalog(scene.repository().reference)
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")


def test_an_operator_follows_another_catalog_that_offers_its_bundle(scene: Scene) -> None:
    reference = scene.catalog_of("1.0.0", "1.1.0")
    catalog = scene.ready_catalog(reference)
    name = scene.operator(scene.name, version="1.0.0")
    bundle = scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    other = scene.ready_catalog(reference, f"{scene.name}-2")
    scene.delete("Catalog", catalog)
    followed = f'catalog "{catalog}", which it came from, was deleted: it follows catalog "{other}"'
    following = scene.condition_when(name, "Ready", "False", followed)
    assert triple(following, "Ready")[1] == "FollowingCatalog"
    assert triple(following, "Installed")[0] == "True"

    scene.until(
        BUNDLE_DEPLOYMENTS, f"BundleDeployment {name} names {other}", lambda o: wanted_catalog(o[name]) == other
    )
    assert scene.install(name, "1.0.0") == bundle
    settled = scene.operator_when(
        name, f"installed from {other}", lambda o: is_true(o, "Ready") and o["status"]["installed"]["catalog"] == other
    )
    assert triple(settled, "Ready")[1] == "Succeeded"
    scene.patch_operator(name, {"version": "1.1.0"})
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")


def test_the_successor_catalog_is_recorded_even_if_its_upgrade_is_refused(scene: Scene) -> None:
    refused = {"1.1.0": [{"type": "olm.bundle.mediatype", "value": "helm"}]}
    reference = scene.catalog_of("1.0.0", "1.1.0", properties=refused)
    catalog = scene.ready_catalog(reference)
    name = scene.operator(scene.name, version="1.0.0")
    bundle = scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"version": None})
    scene.condition_when(name, "Stalled", "True", "unknown bundle mediatype: helm")
    other = scene.ready_catalog(reference, f"{scene.name}-2")
    scene.delete("Catalog", catalog)
    scene.until(
        BUNDLE_DEPLOYMENTS, f"BundleDeployment {name} names {other}", lambda o: wanted_catalog(o[name]) == other
    )
    assert scene.install(name, "1.0.0") == bundle
    settled = scene.operator_when(
        name,
        f"refuses the upgrade of {other}",
        lambda o: is_true(o, "Stalled") and o["status"]["installed"]["catalog"] == other,
    )
    assert "was deleted" not in triple(settled, "Ready")[2]
    assert triple(settled, "Installed")[0] == "True"


def test_an_unavailable_catalog_is_kept_and_not_reported_as_deleted(scene: Scene) -> None:
    reference = scene.catalog_of("1.0.0", "1.1.0")
    catalog = scene.ready_catalog(reference)
    name = scene.operator(scene.name, version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.ready_catalog(reference, f"{scene.name}-2")
    scene.patch_catalog(catalog, {"availability": "Unavailable"})
    operator = scene.condition_when(
        name, "Ready", "True", f'catalog "{catalog}", which it came from, has spec.availability Unavailable'
    )
    assert triple(operator, "Ready")[1] == "CatalogUnavailable"
    assert operator["status"]["installed"]["catalog"] == catalog


def test_a_manual_change_is_reverted(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    bundle = scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    other = {"spec": {"template": {"spec": {"source": {"image": {"ref": "registry.example.com/other:v1"}}}}}}
    scene.cluster.kubectl("patch", "bundledeployment", name, "--type=merge", "--patch", json.dumps(other))
    image = image_of(scene.name, "1.0.0")
    scene.until(
        BUNDLE_DEPLOYMENTS,
        "the change is reverted",
        lambda o: (
            o[name]["metadata"]["generation"] > 2
            and o[name]["spec"]["template"]["spec"]["source"]["image"]["ref"] == image
        ),
    )
    uid = scene.until(BUNDLE_DEPLOYMENTS, "it exists", lambda o: o[name]["metadata"]["uid"])
    scene.cluster.kubectl("delete", "bundledeployment", name)
    _install_again(scene, name, bundle, uid)
    scene.ready_operator(name, "1.0.0")


def test_a_deleted_bundle_deployment_is_installed_again_and_not_reported_as_upgrade(scene: Scene, suite: Suite) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    bundle = scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    uid = scene.until(BUNDLE_DEPLOYMENTS, "it exists", lambda o: o[name]["metadata"]["uid"])
    scene.set_finalizers(name, "example.com/hold")
    scene.cluster.kubectl("delete", "bundledeployment", name, "--wait=false")
    operator = scene.condition_when(
        name, "Ready", "False", "1.0.0 will be installed again when the deletion is complete"
    )
    assert triple(operator, "Ready")[1] == "Installing"
    assert triple(operator, "Reconciling")[:2] == ("True", "Installing")
    scene.set_finalizers(name)
    _install_again(scene, name, bundle, uid)
    scene.ready_operator(name, "1.0.0")
    log = suite.log("operator-controller").read_text().splitlines()
    lines = [line["msg"] for line in map(json.loads, log) if line.get("name") == name]
    assert lines.count(f"recreated BundleDeployment {name} (bundle {scene.name}.v1.0.0), which had been deleted") == 1
    assert [line for line in lines if "(Upgrading)" in line] == []


def test_a_catalog_change_without_effect_on_resolution_causes_no_pass(scene: Scene, suite: Suite) -> None:
    catalog = scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    ready = scene.ready_operator(name, "1.0.0")
    passes = _settled_passes(suite)
    scene.cluster.kubectl("annotate", "catalogs.catalogd.operatorframework.io", catalog, "example.com/note=1")
    scene.until(
        CATALOGS, "it is annotated", lambda o: "example.com/note" in o[catalog]["metadata"].get("annotations", {})
    )
    assert _settled_passes(suite) == passes
    assert scene.get("Operator", name)["metadata"]["resourceVersion"] == ready["metadata"]["resourceVersion"]
    resolved = _resolutions(_metrics(suite))
    scene.patch_catalog(catalog, {"priority": 5})
    deadline = time.monotonic() + 30
    while _resolutions(_metrics(suite)) == resolved and time.monotonic() < deadline:
        scene.watch(CATALOGS).next(0.2)
    assert _resolutions(_metrics(suite)) > resolved
    assert _settled_passes(suite) == passes  # resolved again, with the same answer
    scene.patch_catalog(catalog, {"availability": "Unavailable"})
    deadline = time.monotonic() + 30
    while _passes(_metrics(suite)) == passes and time.monotonic() < deadline:
        scene.watch(CATALOGS).next(0.2)
    assert _passes(_metrics(suite)) > passes


@pytest.mark.parametrize("version", ["latest", "1.2.3.4", "==1", "1.0.0 - 2.0.0", "1.2.3-01"])
def test_the_api_rejects_invalid_versions(scene: Scene, version: str) -> None:
    with pytest.raises(
        DevclusterError, match=re.escape(f'invalid version expression "{version}": a version is "1.2.3"')
    ):
        scene.operator(scene.name, version=version)


@pytest.mark.parametrize("version", ["", " "])
def test_the_api_rejects_an_empty_version_with_advice(scene: Scene, version: str) -> None:
    with pytest.raises(DevclusterError, match=r"leave spec\.version out to follow the channel"):
        scene.operator(scene.name, version=version)


def test_an_invalid_range_is_reported_with_the_messages_of_the_guide(scene: Scene) -> None:
    name = scene.operator(scene.name, version="99999999999999999999.0.0")
    operator = scene.condition_when(name, "Stalled", "True", "Major number is too large")
    assert triple(operator, "Resolved") == (
        "Unknown",
        "ResolutionUnknown",
        "validation has not been attempted as spec is invalid",
    )
    assert triple(operator, "Installed") == (
        "Unknown",
        "InstallationStatusUnknown",
        "installation has not been attempted as spec is invalid",
    )


def test_a_failed_upgrade_leaves_the_running_bundle_reported(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    bundle = scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.catalog_of("1.0.0", "1.1.0")
    scene.deployment_when(name, "1.1.0")
    refused = [("Ready", "False", "Upgrading"), ("Stalled", "True", "Blocked")]
    scene.set_status(
        name, [*[one for one in HEALTHY if one[0] != "Ready"], *refused], active=bundle, message="cannot upgrade"
    )
    failed = scene.condition_when(name, "Stalled", "True", "upgrading from 1.0.0 to 1.1.0: cannot upgrade")
    assert triple(failed, "Installed")[2] == f'installed from "{image_of(scene.name, "1.0.0")}"'
    assert triple(failed, "Ready")[:2] == ("False", "Blocked")


def _owner_reference(operator: Object) -> Object:
    return {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "name": operator["metadata"]["name"],
        "uid": operator["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _assert_requests_first_version(scene: Scene, deployment: Object) -> None:
    prefix = "operators.operatorframework.io/"
    gvk = {"type": "olm.gvk", "value": {"group": f"{scene.name}.example.com", "kind": "Thing", "version": "v1"}}
    annotations = dict(deployment["spec"]["template"]["metadata"]["annotations"])
    assert json.loads(annotations.pop(f"{prefix}properties")) == [gvk]
    assert annotations == {
        f"{prefix}package": scene.name,
        f"{prefix}bundle-name": f"{scene.name}.v1.0.0",
        f"{prefix}bundle-version": "1.0.0",
        f"{prefix}catalog": scene.name,
        f"{prefix}channel": "stable",
    }
    assert deployment["spec"]["provisionerClassName"] == "core-rukpak-io-plain"
    assert deployment["spec"]["template"]["spec"] == {
        "provisionerClassName": "core-rukpak-io-registry",
        "source": {"type": "image", "image": {"ref": image_of(scene.name, "1.0.0")}},
    }
    managers = {entry["manager"]: entry["operation"] for entry in deployment["metadata"]["managedFields"]}
    assert managers == {"operator-controller": "Apply"}


def _install_again(scene: Scene, name: str, bundle: str, uid: str) -> None:
    """Install version 1.0.0 once the BundleDeployment of the uid has been replaced by another one.

    Kubernetes deletes the Bundle of the old one at any time, possibly while it is being created again: so it is deleted here.
    """
    scene.until(BUNDLE_DEPLOYMENTS, "another one exists", lambda o: name in o and o[name]["metadata"]["uid"] != uid)
    scene.cluster.kubectl("delete", "bundle", bundle, "--ignore-not-found")
    scene.install(name, "1.0.0")


def _metrics(suite: Suite) -> str:
    """The metrics of operator-controller."""
    connection = http.client.HTTPConnection(suite.addresses["operator-controller"].metrics, timeout=30)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def _passes(metrics: str) -> float:
    """How many passes of the Operator's controller have ended since it started."""
    return _sum(r'controller_runtime_reconcile_total\{controller="operator".*\}', metrics)


def _resolutions(metrics: str) -> float:
    """How often Operators were resolved since operator-controller started."""
    return _sum(r'resolution_total\{result="success"\}', metrics)


def _unfinished(metrics: str) -> float:
    """How many passes are running, and how many keys are queued."""
    return _sum(r'(?:controller_runtime_active_workers|workqueue_depth)\{\w+="operator"\}', metrics)


def _sum(samples: str, metrics: str) -> float:
    return sum(map(float, re.findall(rf"^{samples} (\S+)$", metrics, re.MULTILINE)))


def _settled_passes(suite: Suite) -> float:
    """The number of passes once none has ended for a second, and none is running or queued."""
    before = -1.0
    while True:
        metrics = _metrics(suite)
        if _passes(metrics) == before and not _unfinished(metrics):
            return before
        before = _passes(metrics)
        time.sleep(1.0)
