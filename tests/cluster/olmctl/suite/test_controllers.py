"""Before `olm suite uninstall` does anything in the place of a controller, it knows that nothing of the controller runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from olmkit.api import bundledeployments, operators
from olmkit.runtime.client import Client
from olmkit.runtime.election import Election, LeaseDurations
from tests.cluster.olmctl.suite import held
from tests.cluster.olmctl.suite.conftest import Olm, is_installed
from tests.cluster.olmctl.suite.held import BUNDLE_DEPLOYMENTS, OPERATORS

NAMESPACE = "olm-suite-system"
REMOVE = ("suite", "uninstall", "--remove", "--yes")
FORCED = (*REMOVE, "--force")
POLICY = LeaseDurations(renew_period=0.5)

pytestmark = pytest.mark.usefixtures("installed")


@pytest.fixture
def kept_pod(bare_cluster: Cluster) -> Iterator[str]:
    """A pod of rukpak that does not end with its Deployment."""
    template = json.loads(bare_cluster.kubectl("get", "deployment", "rukpak", "-n", NAMESPACE, "-o", "json"))["spec"][
        "template"
    ]
    metadata = {**template["metadata"], "name": "rukpak-kept", "namespace": NAMESPACE}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**template["spec"], "schedulerName": "none"},
    }
    bare_cluster.kubectl("apply", "-f", "-", input=json.dumps(pod))
    yield "rukpak-kept"
    bare_cluster.kubectl("delete", "pod", "rukpak-kept", "-n", NAMESPACE, "--ignore-not-found")


def test_nothing_is_deleted_that_nobody_would_finish(olm: Olm, bare_cluster: Cluster) -> None:
    with held.operator(bare_cluster) as name, held.bundle_deployment(bare_cluster):
        status, out, err = olm(*REMOVE)
        assert (status, out) == (5, ""), err
        assert "operator-controller and rukpak do not run" in err
        assert "nothing is deleted. Start them (olm suite install), or use --force" in err
        assert held.finalizers(bare_cluster, OPERATORS, name) == [operators.FINALIZER]
        assert is_installed(olm)


def test_what_waits_for_a_controller_is_not_orphaned_without_it(olm: Olm, bare_cluster: Cluster) -> None:
    with held.bundle_deployment(bare_cluster) as name:
        bare_cluster.kubectl("delete", BUNDLE_DEPLOYMENTS, name, "--wait=false")
        status, out, err = olm("suite", "uninstall", "--orphan", "--yes")
        assert (status, out, "rukpak does not run" in err) == (5, "", True), err
        assert is_installed(olm)


def test_what_the_garbage_collector_will_delete_is_not_left_to_a_controller_that_is_gone(
    olm: Olm, bare_cluster: Cluster
) -> None:
    with held.operator(bare_cluster) as name, held.bundle_deployment(bare_cluster, owner=name):
        bare_cluster.kubectl("delete", OPERATORS, name, "--wait=false")
        status, out, err = olm("suite", "uninstall", "--orphan", "--yes", "--force")
        assert (status, f"operator.operators.operatorframework.io/{name} deleted" in out.splitlines()) == (0, True), err
        assert held.finalizers(bare_cluster, BUNDLE_DEPLOYMENTS, name) == []


def test_force_waits_for_the_end_of_each_pod(olm: Olm, bare_cluster: Cluster, kept_pod: str) -> None:
    with held.bundle_deployment(bare_cluster) as name:
        status, out, err = olm(*FORCED, "--timeout", "25s")
        assert (status, out) == (4, "deployment.apps/rukpak deleted\n"), err
        assert err.splitlines()[-1].startswith("rukpak still runs, and its finalizers stay: ")
        assert f"pod/{kept_pod}" in err.splitlines()[-1]
        assert held.finalizers(bare_cluster, BUNDLE_DEPLOYMENTS, name) == [bundledeployments.FINALIZER]
        bare_cluster.kubectl("delete", "pod", kept_pod, "-n", NAMESPACE)
        status, out, err = olm(*FORCED)
        assert (status, f"bundledeployment.core.rukpak.io/{name} deleted" in out.splitlines()) == (0, True), err
        assert f"{name}: its finalizers of the suite are removed; its objects stay" in err


async def test_force_does_nothing_in_the_place_of_a_process_that_renews_the_lease(
    olm: Olm, bare_cluster: Cluster
) -> None:
    """It leads, and does not finish within the time."""
    with held.bundle_deployment(bare_cluster) as name:
        async with Client(str(bare_cluster.kubeconfig)) as client:
            leads = asyncio.Event()

            async def lead() -> None:
                leads.set()
                await asyncio.Event().wait()

            election = Election(client, "rukpak", NAMESPACE, holder="elsewhere_1", durations=POLICY)
            leader = asyncio.create_task(election.run(lead))
            try:
                await leads.wait()
                status, out, err = await asyncio.to_thread(olm, *FORCED, "--timeout", "5s")
            finally:
                leader.cancel()
                await asyncio.gather(leader, return_exceptions=True)
        assert (status, "deployment.apps/rukpak deleted" in out.splitlines()) == (4, True), err
        assert "rukpak still runs, and its finalizers stay: elsewhere, which holds the lease rukpak. End it" in err
        assert held.finalizers(bare_cluster, BUNDLE_DEPLOYMENTS, name) == [bundledeployments.FINALIZER, "deleted"]
        status, _, err = await asyncio.to_thread(olm, *FORCED)
        assert (status, "its finalizers of the suite are removed" in err) == (0, True), err


def test_a_lease_that_nobody_renews_expires(olm: Olm, bare_cluster: Cluster) -> None:
    spec = {"holderIdentity": "rukpak-killed_1", "leaseDurationSeconds": 2, "renewTime": "2126-01-01T00:00:00.000000Z"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    lease["metadata"] = {"name": "rukpak", "namespace": NAMESPACE}
    bare_cluster.kubectl("apply", "-f", "-", input=json.dumps(lease))
    with held.bundle_deployment(bare_cluster):
        status, _, err = olm(*FORCED)
        assert (status, "its finalizers of the suite are removed" in err) == (0, True), err
