"""The flow of a new user in the console, without JavaScript: an operator is installed after its permissions were shown, an
instance is created, an upgrade is approved after its changes were shown, and everything is uninstalled."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from tests.cluster.console.pages.conftest import fields, words
from tests.console import Browser, running_console
from tests.e2e.stage import Stage

PACKAGE = "hello-operator"
CONTENT = Content(SAMPLES / "catalog", SAMPLES / "bundles")
KIND = "operators.operators.operatorframework.io"
LIST = "/instances/hello.example.com/v1alpha1/greetings"


@pytest.fixture
def catalog(stage: Stage) -> Iterator[str]:
    """The name of a Catalog that is served."""
    stage.publish(CONTENT, [PACKAGE])
    yield stage.ready_catalog(stage.repository().reference)
    stage.cluster.kubectl("delete", KIND, PACKAGE, "--ignore-not-found", "--timeout=90s")


@pytest.fixture
async def browser(stage: Stage) -> AsyncIterator[Browser]:
    """A browser of an administrator."""
    cluster = stage.cluster
    cluster.kubectl("create", "serviceaccount", "console-admin", "-n", "default")
    account = "--serviceaccount=default:console-admin"
    cluster.kubectl("create", "clusterrolebinding", "console-admin", "--clusterrole=cluster-admin", account)
    token = cluster.kubectl("create", "token", "console-admin", "-n", "default").strip()
    async with running_console(str(cluster.kubeconfig)) as browser:
        await browser.log_in(token)
        yield browser
    cluster.kubectl("delete", "clusterrolebinding", "console-admin")
    cluster.kubectl("delete", "serviceaccount", "console-admin", "-n", "default")


async def test_from_the_catalog_to_an_instance_and_an_upgrade(stage: Stage, catalog: str, browser: Browser) -> None:
    path = f"/catalog/{catalog}/{PACKAGE}/install"
    form = await browser.get(path)
    review = await browser.post(f"{path}/review", {**fields(form), "follow": "pinned", "version": "0.1.0"})
    account = "ServiceAccount hello-operator-system/hello-operator"
    for text in (f"{PACKAGE} 0.1.0", account, "greetings.hello.example.com", "1 Deployment.apps"):
        assert text in words(review), words(review)
    assert "without preview" not in words(review)
    made = await browser.post(path, fields(review))
    assert made.headers["Location"] == f"/operators/{PACKAGE}"
    stage.patch_operator(PACKAGE, {"approval": "Automatic"})
    stage.ready_operator(PACKAGE, "0.1.0")

    assert "Greeting hello.example.com/v1alpha1, from hello-operator" in words(await browser.get("/instances"))
    new = await browser.get(f"{LIST}/new?ns=default")
    sent = {**fields(new), "metadata.name": "mine", "/spec/message": "hello there", "action": "create"}
    assert (await browser.post(f"{LIST}/new?ns=default", sent)).headers["Location"] == f"{LIST}/default/mine?ns=default"
    greeting = json.loads(stage.cluster.kubectl("get", "greetings", "mine", "-n", "default", "-o", "json"))
    assert greeting["spec"] == {"message": "hello there"}
    assert "mine" in words(await browser.get(f"{LIST}?ns=default"))

    stage.patch_operator(PACKAGE, {"approval": "Manual", "version": "0.2.0"})
    stage.operator_when(
        PACKAGE, "0.2.0 waits", lambda found: (found["status"].get("available") or {}).get("version") == "0.2.0"
    )
    upgrade = await browser.get(f"/operators/{PACKAGE}/upgrade")
    for text in ("Approve 0.2.0", "Permissions", "CustomResourceDefinitions", "Objects"):
        assert text in words(upgrade), words(upgrade)
    assert "without preview" not in words(upgrade)
    await browser.post(f"/operators/{PACKAGE}/approve", fields(upgrade))
    stage.ready_operator(PACKAGE, "0.2.0")

    leaving = await browser.get(f"/operators/{PACKAGE}/uninstall")
    assert "AND WITH IT 1 greetings.hello.example.com" in words(leaving)
    refused = await browser.post(f"/operators/{PACKAGE}/uninstall", fields(leaving))
    assert (refused.status, f"Type {PACKAGE} to confirm" in words(refused)) == (422, True)
    done = await browser.post(f"/operators/{PACKAGE}/uninstall", {**fields(leaving), "confirm": PACKAGE})
    assert done.status == 303
