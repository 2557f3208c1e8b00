"""The actions of config/argocd, run by Argo CD itself on the objects of an Application."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from devcluster.watch import Object
from olmkit.api.catalogs import REFRESH_ANNOTATION
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION
from tests.conditions import triple
from tests.gitops.argocd_delivery import WAVES, ArgoCdDelivery

pytestmark = pytest.mark.timeout(600)


def test_actions(delivery: ArgoCdDelivery) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(WAVES, approval="Manual"))

    def health(application: Object, kind: str, name: str) -> str:
        resources = (application.get("status") or {}).get("resources", ())
        return next((r["health"]["status"] for r in resources if (r["kind"], r["name"]) == (kind, name)), "")

    def until(kind: str, name: str, status: str) -> None:
        delivery.until(f"{kind} {name} is {status}", lambda found: health(found, kind, name) == status)

    def run(action: str, kind: str, name: str) -> None:
        resource = ("--kind", kind, "--resource-name", name)
        delivery.argocd.cli("app", "actions", "run", delivery.name, action, *resource)

    until("Operator", delivery.other, "Suspended")
    run("approve", "Operator", delivery.other)
    delivery.stage.ready_operator(delivery.other, "1.0.0")
    delivery.until_synced_and_healthy()

    run("pause", "Operator", delivery.other)
    until("Operator", delivery.other, "Suspended")
    paused = delivery.stage.get("Operator", delivery.other)
    assert triple(paused, "Ready")[:2] == ("True", "Paused")
    run("resume", "Operator", delivery.other)
    delivery.until_synced_and_healthy()
    assert "paused" not in delivery.stage.get("Operator", delivery.other)["spec"]

    catalog = f"{WAVES.catalog}-{delivery.name}"
    run("refresh", "Catalog", catalog)
    handled = delivery.stage.catalog_when(
        catalog, "is refreshed", lambda found: "lastHandledRefresh" in found["status"]
    )
    requested = handled["metadata"]["annotations"][REFRESH_ANNOTATION]
    assert requested.startswith("By Argo CD at: 20")
    assert handled["status"]["lastHandledRefresh"] == requested
    delivery.until_synced_and_healthy()


def test_what_olm_approves_stays(delivery: ArgoCdDelivery) -> None:
    """The annotation and the field are not in git, so Argo CD does not heal them."""
    stage = delivery.stage
    delivery.publish()
    delivery.deliver(delivery.objects(WAVES, approval="Manual"))
    delivery.until("is Suspended", lambda found: found["status"].get("health", {}).get("status") == "Suspended")
    printed = subprocess.run(
        [sys.executable, "-m", "olmctl", "approve", delivery.other],
        env={**os.environ, "KUBECONFIG": str(stage.cluster.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert printed.returncode == 0, printed.stderr
    stage.ready_operator(delivery.other, "1.0.0")
    delivery.until_synced_and_healthy()

    stage.patch_operator(delivery.other, {"paused": True})
    delivery.until("is Suspended", lambda found: found["status"].get("health", {}).get("status") == "Suspended")
    delivery.refresh()
    delivery.until("is compared", lambda found: found["status"]["sync"]["status"] == "Synced")
    found = stage.get("Operator", delivery.other)
    assert found["spec"]["paused"] is True
    assert found["metadata"]["generation"] == 2
    assert found["metadata"]["annotations"][APPROVED_VERSION_ANNOTATION] == "1.0.0"
