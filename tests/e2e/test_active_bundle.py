"""The active Bundle is deleted while an upgrade is stuck: the installed version keeps running, and the next upgrade succeeds."""

from __future__ import annotations

from devcluster.watch import BUNDLE_DEPLOYMENTS, BUNDLES, Object, is_true
from tests.conditions import triple
from tests.e2e.packages import package_blobs, publish, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import Stage

NOWHERE = f"sha256:{'0' * 64}"


def test_the_active_bundle_is_deleted_during_a_stuck_upgrade(stage: Stage) -> None:
    package = stage.name
    images = {"1.0.0": push_bundle(stage, package, registry_bundle(package))}
    publish(stage, package_blobs(package, images))
    stage.operator(package, package)
    stage.ready_operator(package, "1.0.0")
    images["1.1.0"] = f"{images['1.0.0'].partition('@')[0]}@{NOWHERE}"
    push_catalog(stage, package_blobs(package, images))
    stage.operator_when(package, "stuck on the way to 1.1.0", is_stuck)
    active = stage.until(BUNDLE_DEPLOYMENTS, "an active Bundle", lambda found: active_bundle(found.get(package)))
    before = stage.until(BUNDLES, "the active Bundle", lambda o: o.get(active))

    stage.cluster.kubectl("delete", "bundles.core.rukpak.io", active)
    again = stage.until(BUNDLES, "the active Bundle is recreated", lambda o: is_recreated(o.get(active), before))
    assert again["spec"] == before["spec"]
    stage.operator_when(package, "stuck as before", is_stuck)

    del images["1.1.0"]
    images["1.2.0"] = push_bundle(stage, package, registry_bundle(package, "1.2.0"), "1.2.0")
    push_catalog(stage, package_blobs(package, images))
    stage.ready_operator(package, "1.2.0")


def is_stuck(operator: Object) -> bool:
    """1.0.0 is installed, and 1.1.0 cannot be unpacked."""
    status, reason, message = triple(operator, "Ready")
    installed = (operator["status"].get("installed") or {}).get("version")
    return (status, reason, installed) == ("False", "Upgrading", "1.0.0") and "1.1.0" in message


def active_bundle(deployment: Object | None) -> str | None:
    """The name of the active Bundle."""
    status: Object = (deployment or {}).get("status") or {}
    return status.get("activeBundle")


def is_recreated(found: Object | None, before: Object) -> Object | None:
    """Whether it is another object of that name, unpacked."""
    is_other = found is not None and found["metadata"]["uid"] != before["metadata"]["uid"]
    return found if is_other and is_true(found, "Unpacked") else None
