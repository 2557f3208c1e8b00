"""An operator that is a real pod and serves an aggregated API: no request is lost, and nothing of it remains."""

from __future__ import annotations

import asyncio

from devcluster.images import Content
from devcluster.operators.manifests import NEW, OLD
from olmkit.runtime.client import Client
from tests.e2e.stage import ClusterStage
from tests.library import ALPHA, BETA, assert_serves, assert_serves_both_versions, borrow, served
from tests.load import load
from tests.node.operators.rotation import rotate

PACKAGE, NAMESPACE, SERVICE = "library", "library-system", "library-service"
READERS = "default"
"""The namespace of the Books."""
REQUESTS = 40
"""So many requests are made before and after each change."""
SECONDS = 180.0


def remains(stage: ClusterStage) -> list[str]:
    """The objects of the operator that are still there."""
    named = [
        *(("apiservice", f"{each.version}.{each.group}") for each in (ALPHA, BETA)),
        ("clusterrolebinding", f"{PACKAGE}-service-system:auth-delegator"),
        ("namespace", NAMESPACE),
    ]
    found = [f"{kind} {name}" for kind, name in named if stage.exists(kind, name)]
    bindings = stage.cluster.kubectl("get", "rolebindings", "--namespace=kube-system", "--output=name").split()
    return found + [each for each in bindings if PACKAGE in each]


async def test_it_serves_in_a_rotation_and_an_upgrade(stage: ClusterStage, content: Content) -> None:
    pushed = stage.publish(content, [PACKAGE], without=[f"{PACKAGE}.v{NEW}"])
    stage.ready_catalog(pushed.reference)
    operator = stage.operator(PACKAGE)
    stage.ready_operator(operator, OLD, SECONDS)
    async with Client(str(stage.cluster.kubeconfig)) as client:
        await served(stage.cluster, client, [ALPHA])
        await assert_serves(client, READERS)
        async with load(lambda number: borrow(client, READERS, f"book-{number}")) as requests:
            await requests.after(REQUESTS)
            await asyncio.to_thread(rotate, stage, SERVICE, NAMESPACE)
            await requests.after(REQUESTS)
            await asyncio.to_thread(stage.publish, content, [PACKAGE])
            await asyncio.to_thread(stage.ready_operator, operator, NEW, SECONDS)
            await requests.after(REQUESTS)
        assert requests.failures == []
        await served(stage.cluster, client, [ALPHA, BETA])
        await assert_serves_both_versions(client, READERS)
    assert remains(stage) != []
    stage.delete("Operator", operator)
    assert remains(stage) == []
