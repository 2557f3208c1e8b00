"""The scenario of OLM v1 that needs real pods: an operator with three kinds of webhooks, installed by a ClusterExtension."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devcluster.images import Content
from devcluster.operators.manifests import NEW
from devcluster.processes import REPOSITORY
from olmkit.runtime.client import Client
from tests.conditions import triple
from tests.e2e.stage import CLUSTER_EXTENSIONS, ClusterStage
from tests.node.operators.test_reservations import GUESTS, NAMESPACE, PACKAGE, SECONDS, remains
from tests.reservations import assert_refused, book

API = "olm.operatorframework.io/v1"


@pytest.fixture(autouse=True)
def namespaces(stage: ClusterStage) -> Iterator[None]:
    """The namespace to install into, which has to exist, and that of the Reservations."""
    for name in (NAMESPACE, GUESTS):
        stage.cluster.kubectl("create", "namespace", name)
    yield
    for name in (NAMESPACE, GUESTS):
        stage.cluster.kubectl("delete", "namespace", name, "--wait=false")


async def test_install_operator_having_webhooks(stage: ClusterStage, content: Content) -> None:
    # The controllers check every 30 seconds whether they serve these kinds.
    rendered = stage.cluster.kubectl("kustomize", str(REPOSITORY / "config" / "v1"))
    stage.cluster.kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", input=rendered)
    image = {"ref": stage.publish(content, [PACKAGE]).reference}
    source = {"type": "Image", "image": image}
    stage.apply(
        {"apiVersion": API, "kind": "ClusterCatalog", "metadata": {"name": stage.name}, "spec": {"source": source}}
    )
    wanted = {"sourceType": "Catalog", "catalog": {"packageName": PACKAGE}}
    spec = {"namespace": NAMESPACE, "source": wanted}
    stage.apply({"apiVersion": API, "kind": "ClusterExtension", "metadata": {"name": PACKAGE}, "spec": spec})
    stage.until(
        CLUSTER_EXTENSIONS,
        "it is available",
        lambda found: triple(found.get(PACKAGE), "Available")[:2] == ("True", "ProbesSucceeded"),
        SECONDS,
    )
    found = stage.get("ClusterExtension", PACKAGE)
    assert found["status"]["install"]["bundle"]["version"] == NEW
    async with Client(str(stage.cluster.kubeconfig)) as client:
        await assert_refused(client, GUESTS, nights=61, maximum_nights=60)
        await book(client, GUESTS, "guest-0")
    stage.delete("ClusterExtension", PACKAGE)
    assert [each for each in remains(stage) if each != f"namespace {NAMESPACE}"] == []
