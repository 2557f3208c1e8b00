"""The page of the suite: its objects, judged as `olm suite status` judges them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmctl.questions.session import Session
from olmctl.questions.suite_status import suite_status
from olmctl.suite.objects import DEPLOYMENT
from olmkit.api.meta import Kind
from olmkit.errors import Conflict, NotFound
from olmkit.runtime.client import Client
from tests.cluster.console.pages.conftest import logged_in, words
from tests.console import NAMESPACE, Browser

NAMESPACES = Kind("", "v1", "Namespace", "namespaces")
NAME = "catalogd"


@pytest.fixture
async def deployment(kind: Cluster) -> AsyncIterator[Session]:
    """A Deployment of the suite without a node to run on, of an older version; and a session of an administrator."""
    labels = {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/part-of": "olm-suite",
        "app.kubernetes.io/component": "controller",
        "app.kubernetes.io/version": "v0.0.1",
    }
    container = {"name": "c", "image": "registry.example.com/olm-suite:v0.0.1"}
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    async with await Client.connect(str(kind.kubeconfig)) as client:
        with contextlib.suppress(Conflict):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
            await client.create(NAMESPACES, namespace)
        await client.create(DEPLOYMENT, body, NAMESPACE)
        yield Session(client, NAMESPACE)
        with contextlib.suppress(NotFound):
            await client.delete(DEPLOYMENT, NAME, NAMESPACE)


async def test_a_controller_is_judged_as_the_command_judges_it(deployment: Session, admin: Browser) -> None:
    found = await suite_status(deployment, lambda _: None)
    (state,) = [each for each in found.objects if (each.expected["kind"], each.name) == ("Deployment", NAME)]
    assert not state.is_good
    page = words(await admin.get("/suite"))
    assert f"{NAME} {NAMESPACE} {state.status} {state.message} {state.shown_version} {state.ready}" in page
    assert found.warnings[0].startswith("the cluster has v0.0.1, this command is of ")
    assert "The cluster has v0.0.1, this console is of " in page
    assert "Needs attention" in page


async def test_the_page_says_what_the_user_may_not_read(deployment: Session, kind: Cluster, admin: Browser) -> None:
    developer = await logged_in(admin, kind, "developer")
    page = words(await developer.get("/suite"))
    assert f"Deployments of {NAMESPACE} are not shown." in page
    assert f"Leases of {NAMESPACE} are not shown." in page
    assert "operators.operators.operatorframework.io Established" in page
