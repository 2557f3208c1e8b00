"""An operator that is a real pod and validates, mutates and converts: no request is lost, and nothing of it remains."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from devcluster.images import Content
from devcluster.operators.manifests import NEW, OLD
from olmkit.runtime.client import Client
from tests.e2e.stage import ClusterStage
from tests.load import load
from tests.node.operators.rotation import rotate
from tests.reservations import CRD, GROUP, assert_converted, assert_refused, book, stored_versions

PACKAGE, NAMESPACE, SERVICE = "reservations", "reservations-system", "reservations-service"
GUESTS = "guests"
"""The namespace of the Reservations."""
REQUESTS = 40
"""So many requests are made before and after each change."""
SECONDS = 180.0


@pytest.fixture(autouse=True)
def guests(stage: ClusterStage) -> Iterator[None]:
    stage.cluster.kubectl("create", "namespace", GUESTS)
    yield
    stage.cluster.kubectl("delete", "namespace", GUESTS, "--wait=false")


def remains(stage: ClusterStage) -> list[str]:
    """The objects of the operator that are still there."""
    named = [
        ("validatingwebhookconfiguration", f"validate.{GROUP}"),
        ("mutatingwebhookconfiguration", f"mutate.{GROUP}"),
        ("crd", CRD),
        ("namespace", NAMESPACE),
    ]
    return [f"{kind} {name}" for kind, name in named if stage.exists(kind, name)]


async def test_it_refuses_mutates_and_converts_in_a_rotation_and_an_upgrade(
    stage: ClusterStage, content: Content
) -> None:
    pushed = stage.publish(content, [PACKAGE], without=[f"{PACKAGE}.v{NEW}"])
    stage.ready_catalog(pushed.reference)
    operator = stage.operator(PACKAGE)
    stage.ready_operator(operator, OLD, SECONDS)
    async with Client(str(stage.cluster.kubeconfig)) as client:
        await assert_refused(client, GUESTS, nights=31, maximum_nights=30)
        async with load(lambda number: book(client, GUESTS, f"guest-{number}")) as requests:
            await requests.after(REQUESTS)
            await asyncio.to_thread(rotate, stage, SERVICE, NAMESPACE)
            await requests.after(REQUESTS)
            await asyncio.to_thread(stage.publish, content, [PACKAGE])
            await asyncio.to_thread(stage.ready_operator, operator, NEW, SECONDS)
            await requests.after(REQUESTS)
        assert requests.failures == []
        await assert_converted(client, GUESTS, "guest-0")
        assert await stored_versions(client) == ["v1", "v2"]
        await assert_refused(client, GUESTS, nights=61, maximum_nights=60)
    assert remains(stage) != []
    stage.delete("Operator", operator)
    assert remains(stage) == []
