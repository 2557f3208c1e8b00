"""What GitOps tools conclude from our objects at every moment of the life of an Operator: Argo CD with the scripts of
config/argocd, and Flux with the rules of kstatus and with config/flux."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.watch import BUNDLE_DEPLOYMENTS, BUNDLES, CATALOGS, OPERATORS, Event, Object, Watch, condition, is_true
from tests import argocd_scripts, flux_expressions, kstatus
from tests.e2e.packages import catalog_file, package_blobs, publish, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import Stage
from tests.kstatus import KStatus

APPROVED = "operators.operatorframework.io/approved-version"
REFRESH = "catalogd.operatorframework.io/refresh"
KINDS = {CATALOGS: "Catalog", OPERATORS: "Operator", BUNDLES: "Bundle", BUNDLE_DEPLOYMENTS: "BundleDeployment"}


class History:
    """Every state of the objects whose names begin with `prefix`."""

    def __init__(self, stage: Stage) -> None:
        self._prefix = stage.name
        self._events: queue.Queue[Event] = queue.Queue()
        self._watches = [Watch(stage.cluster, path, self._events) for path in KINDS]
        self.states: list[Object] = []

    def until_gone(self, kind: str) -> None:
        """Take events until one says that the object of that kind is deleted; the other kinds' are taken as they come."""
        known: dict[str, Object] = {}
        while True:
            event = self._events.get(timeout=90)
            if event.object is not None and event.name.startswith(self._prefix):
                self.states.append(event.object)
                known[event.name + event.object["kind"]] = event.object
            if event.object is None and event.name + kind in known:
                return

    def close(self) -> None:
        for watch in self._watches:
            watch.close()


@pytest.fixture
def history(stage: Stage) -> Iterator[History]:
    """Watches from before the first object exists."""
    found = History(stage)
    try:
        yield found
    finally:
        found.close()


def ready_message(obj: Object) -> str:
    return str(condition(obj, "Ready")["message"])


def check(obj: Object, argocd: str, status: KStatus) -> None:
    """All three conclude this, and Argo CD shows the message of Ready."""
    assert argocd_scripts.health(obj) == (argocd, ready_message(obj))
    assert (kstatus.compute(obj), flux_expressions.compute(obj)) == (status, status)


def test_each_state_of_an_operator_is_what_gitops_tools_show(stage: Stage, history: History) -> None:
    package = stage.name
    stage.operator(package, package, approval="Manual")
    waiting = stage.operator_when(package, "waits for a Catalog", lambda o: is_true(o, "Reconciling"))
    check(waiting, "Progressing", KStatus.IN_PROGRESS)

    images = {"1.0.0": push_bundle(stage, package, registry_bundle(package))}
    catalog = publish(stage, package_blobs(package, images))
    check(stage.get("Catalog", catalog), "Healthy", KStatus.CURRENT)
    first = stage.operator_when(
        package, "waits for its first approval", lambda o: has_reason(o, "Ready", "ApprovalRequired")
    )
    check(first, "Suspended", KStatus.IN_PROGRESS)

    approve(stage, first)
    check(stage.ready_operator(package, "1.0.0"), "Healthy", KStatus.CURRENT)
    images["1.1.0"] = push_bundle(stage, package, registry_bundle(package, "1.1.0"), "1.1.0")
    push_catalog(stage, package_blobs(package, images))
    second = stage.operator_when(package, "has an upgrade", lambda o: has_reason(o, "Ready", "UpgradeAvailable"))
    check(second, "Healthy", KStatus.CURRENT)

    stage.patch_operator(package, argocd_scripts.run_action(second, "pause")["spec"])
    paused = stage.operator_when(package, "is paused", lambda o: has_reason(o, "Ready", "Paused"))
    check(paused, "Suspended", KStatus.CURRENT)
    assert "paused" not in argocd_scripts.run_action(paused, "resume")["spec"]
    check_required_version(stage, package)
    check(stage.ready_operator(package, "1.1.0"), "Healthy", KStatus.CURRENT)

    stage.patch_operator(package, {"version": "7.0.0"})
    refused = stage.operator_when(package, "is refused", lambda o: is_true(o, "Stalled"))
    check(refused, "Degraded", KStatus.FAILED)
    assert "7.0.0" in ready_message(refused)
    stage.delete("Operator", package)
    history.until_gone("BundleDeployment")
    check_history(history)


def check_required_version(stage: Stage, package: str) -> None:
    """A version that does not run is requested while the Operator is paused; then it waits for approval, and is approved."""
    stage.patch_operator(package, {"version": "1.1.0"})
    held = stage.operator_when(package, "lacks its version", lambda o: condition(o, "Ready")["status"] == "False")
    check(held, "Suspended", KStatus.IN_PROGRESS)
    assert has_reason(held, "Ready", "Paused")
    stage.patch_operator(package, {"paused": None})
    resumed = stage.operator_when(package, "is resumed", lambda o: has_reason(o, "Ready", "ApprovalRequired"))
    check(resumed, "Suspended", KStatus.IN_PROGRESS)
    assert "meanwhile 1.0.0 runs" in ready_message(resumed)
    approve(stage, resumed)


def test_a_commit_with_new_content_and_what_needs_it_fails_at_no_moment(stage: Stage, history: History) -> None:
    """The image of the new content is pushed after the commit that names it."""
    package = stage.name
    images = {"1.0.0": push_bundle(stage, package, registry_bundle(package))}
    catalog = publish(stage, package_blobs(package, images))
    stage.operator(package, package, version="1.0.0")
    stage.ready_operator(package, "1.0.0")

    images["1.1.0"] = push_bundle(stage, package, registry_bundle(package, "1.1.0"), "1.1.0")
    next_content = stage.repository("next")
    stage.patch_catalog(catalog, {"source": {"image": {"ref": next_content.reference}}})
    stage.patch_operator(package, {"version": "1.1.0"})
    waiting = stage.operator_when(package, "waits for the content", lambda o: "serves old content" in ready_message(o))
    check(waiting, "Progressing", KStatus.IN_PROGRESS)
    old = stage.catalog_when(catalog, "serves old content", lambda o: has_reason(o, "Ready", "ServingOldContent"))
    check(old, "Progressing", KStatus.IN_PROGRESS)
    next_content.push_files(catalog_file(package_blobs(package, images)))
    stage.cluster.kubectl("annotate", "catalogs.catalogd.operatorframework.io", catalog, f"{REFRESH}=now")
    stage.ready_operator(package, "1.1.0")
    stage.delete("Operator", package)
    history.until_gone("BundleDeployment")
    check_history(history)
    for obj in history.states:
        assert not is_true(obj, "Stalled"), obj
        if obj["kind"] == "Catalog" and argocd_scripts.health(obj)[0] == "Healthy":
            source = obj["spec"]["source"]["image"]["ref"].rpartition(":")[0]
            assert obj["status"]["resolvedSource"]["image"]["ref"].startswith(f"{source}@")


def approve(stage: Stage, operator: Object) -> None:
    """Run the action on the object that waits, and write its annotation."""
    assert argocd_scripts.discover_actions(operator)["approve"] is False
    version = argocd_scripts.run_action(operator, "approve")["metadata"]["annotations"][APPROVED]
    stage.cluster.kubectl(
        "annotate", "operators.operators.operatorframework.io", stage.name, "--overwrite", f"{APPROVED}={version}"
    )


def has_reason(obj: Object, type_: str, reason: str) -> bool:
    return bool(condition(obj, type_)["reason"] == reason)


def check_history(history: History) -> None:
    """No tool was misled at any moment."""
    seen: set[tuple[str, str]] = set()
    for obj in history.states:
        argocd, message = argocd_scripts.health(obj)
        status = kstatus.compute(obj)
        seen.add((obj["kind"], argocd))
        is_stalled = is_true(obj, "Stalled") and not obj["metadata"].get("deletionTimestamp")
        assert (argocd == "Degraded") == is_stalled, obj
        assert (status == KStatus.FAILED) == is_stalled, obj
        if status == KStatus.CURRENT:
            assert is_true(obj, "Ready"), obj
            assert TRULY_CURRENT[obj["kind"]](obj), obj
        if not obj["metadata"].get("deletionTimestamp"):
            assert flux_expressions.compute(obj) == status, obj
        if obj["status"].get("conditions") and obj["status"]["observedGeneration"] == obj["metadata"]["generation"]:
            assert message == ready_message(obj)
    for kind in KINDS.values():
        assert {(kind, "Progressing"), (kind, "Healthy")} <= seen


def _operator_is_current(obj: Object) -> bool:
    installed = obj["status"]["installed"]["version"]
    is_requested = obj["spec"].get("version") in (None, installed)
    return is_true(obj, "Installed") and is_true(obj, "Resolved") and bool(installed) and is_requested


TRULY_CURRENT: dict[str, Any] = {
    "Catalog": lambda obj: is_true(obj, "Serving") and is_true(obj, "Unpacked"),
    "Operator": _operator_is_current,
    "Bundle": lambda obj: is_true(obj, "Unpacked"),
    "BundleDeployment": lambda obj: is_true(obj, "Installed") and is_true(obj, "Healthy"),
}
