"""The flow of a new user in the console, without JavaScript: an operator is found, installed after its permissions were shown, an
instance is created, an upgrade is approved after its changes were shown, and everything is uninstalled."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from console.pages.previews import PENDING
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from tests.cluster.console.pages.conftest import fields, words
from tests.console import Answer, Browser, running_console
from tests.e2e.stage import Stage

PACKAGE = "hello-operator"
ICON = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><path d="M0 0h8v8z"/></svg>'
KIND = "operators.operators.operatorframework.io"
LIST = "/instances/hello.example.com/v1alpha1/greetings"


@pytest.fixture
def catalog(stage: Stage, tmp_path: Path) -> Iterator[str]:
    """The name of a Catalog that is served. Its package has an icon."""
    text = (SAMPLES / "catalog" / PACKAGE / "catalog.yaml").read_text()
    icon = f"icon: {{base64data: {base64.b64encode(ICON.encode()).decode()}, mediatype: image/svg+xml}}"
    (tmp_path / PACKAGE).mkdir()
    (tmp_path / PACKAGE / "catalog.yaml").write_text(
        text.replace("schema: olm.package\n", f"schema: olm.package\n{icon}\n", 1)
    )
    stage.publish(Content(tmp_path, SAMPLES / "bundles"), [PACKAGE])
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
    await look_at_the_catalog(browser, catalog)
    path = f"/catalog/{catalog}/{PACKAGE}/install"
    form = await browser.get(path)
    sent = {**fields(form), "follow": "pinned", "version": "0.1.0"}
    review = await complete(partial(browser.post, f"{path}/review", sent))
    account = "ServiceAccount hello-operator-system/hello-operator"
    for text in (f"{PACKAGE} 0.1.0", account, "greetings.hello.example.com", "1 Deployment.apps"):
        assert text in words(review), words(review)
    assert "without preview" not in words(review)
    for command in ("kubectl apply", f"olm install {PACKAGE}", "kind: Operator", "argoproj.io", "fluxcd.io"):
        assert command in words(review), words(review)
    made = await browser.post(path, fields(review))
    assert made.headers["Location"] == f"/operators/{PACKAGE}"
    stage.ready_operator(PACKAGE, "0.1.0")  # without another approval: the review was one

    await look_at_what_is_installed(browser, catalog)
    assert "Greeting hello.example.com/v1alpha1, from hello-operator" in words(await browser.get("/instances"))
    new = await browser.get(f"{LIST}/new?ns=default")
    sent = {**fields(new), "metadata.name": "mine", "/spec/message": "hello there", "action": "create"}
    assert (await browser.post(f"{LIST}/new?ns=default", sent)).headers["Location"] == f"{LIST}/default/mine?ns=default"
    greeting = json.loads(stage.cluster.kubectl("get", "greetings", "mine", "-n", "default", "-o", "json"))
    assert greeting["spec"] == {"message": "hello there"}
    assert "mine" in words(await browser.get(f"{LIST}?ns=default"))
    assert "message: hello there" in (await browser.get(f"{LIST}/default/mine/yaml")).text

    await approve_an_upgrade(stage, browser)
    leaving = await browser.get(f"/operators/{PACKAGE}/uninstall")
    assert "AND WITH IT 1 greetings.hello.example.com" in words(leaving)
    refused = await browser.post(f"/operators/{PACKAGE}/uninstall", fields(leaving))
    assert (refused.status, f"Type {PACKAGE} to confirm" in words(refused)) == (422, True)
    done = await browser.post(f"/operators/{PACKAGE}/uninstall", {**fields(leaving), "confirm": PACKAGE})
    assert done.status == 303


async def approve_an_upgrade(stage: Stage, browser: Browser) -> None:
    """The review shows what 0.2.0 changes."""
    stage.patch_operator(PACKAGE, {"approval": "Manual", "version": "0.2.0"})
    stage.operator_when(
        PACKAGE, "0.2.0 waits", lambda found: (found["status"].get("available") or {}).get("version") == "0.2.0"
    )
    upgrade = await complete(partial(browser.get, f"/operators/{PACKAGE}/upgrade"))
    for text in ("Approve 0.2.0", "Permissions", "CustomResourceDefinitions", "Objects"):
        assert text in words(upgrade), words(upgrade)
    assert "without preview" not in words(upgrade)
    await browser.post(f"/operators/{PACKAGE}/approve", fields(upgrade))
    stage.ready_operator(PACKAGE, "0.2.0")


async def look_at_the_catalog(browser: Browser, catalog: str) -> None:
    """A card with the icon of the publisher leads to a page that says what the package is, may do and needs."""
    cards = await browser.get(f"/catalog?catalog={catalog}&q=hello")
    assert f"{PACKAGE} of catalog {catalog}" in words(cards)
    assert f'href="/catalog/{catalog}/{PACKAGE}"' in cards.text
    icon = re.search(rf'src="(/icons/{catalog}/{PACKAGE}[^"]*)"', cards.text)
    assert icon is not None, cards.text
    picture = await browser.get(icon[1])
    assert (picture.status, picture.text, "sandbox" in picture.headers["Content-Security-Policy"]) == (200, ICON, True)
    for tab, shown in (
        ("", ("Greets each person that a Greeting names.", "Install", "As a command")),
        ("/versions", ("0.1.0", "0.2.0", "0.3.0", "Head of stable")),
        ("/permissions", ("What 0.2.0 may do on your cluster",)),
        ("/requirements", ("What 0.2.0 needs",)),
        ("/apis", ("Instance types",)),
        ("/apis?kind=hello.example.com%2FGreeting", ("Fields", "spec object", "message text")),
        ("/install", ("This installs", f"{PACKAGE} 0.2.0", "it is requested: 0.2.0 of channel stable")),
    ):
        page = await complete(partial(browser.get, f"/catalog/{catalog}/{PACKAGE}{tab}"))
        assert page.status == 200
        assert "cannot be read" not in words(page)
        for each in shown:
            assert each in words(page), (tab, words(page))


async def complete(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """The page that is answered, asked for again as its script does, until its preview has been made."""
    async with asyncio.timeout(60):
        while True:
            page = await ask()
            if "data-again" not in page.text and PENDING not in page.text:
                return page
            await asyncio.sleep(0.5)


async def look_at_what_is_installed(browser: Browser, catalog: str) -> None:
    """Kinds are in the catalog with a tag and a filter; the Operator is available everywhere, and has a graph of its versions."""
    kinds = words(await browser.get(f"/catalog?type=instances&catalog={catalog}"))
    assert "Instance type" in kinds
    assert "Greeting" in kinds
    assert "Greets each person that a Greeting names." not in kinds, "packages are left out by the filter"
    for place in ("", "?ns=default"):
        assert re.search(
            r"hello-operator .*all namespaces", words(await browser.get(f"/operators{place}")), re.IGNORECASE
        )
    graph = words(await browser.get(f"/operators/{PACKAGE}/graph"))
    assert "0.1.0" in graph
    assert "0.2.0" in graph
    assert "Deployment" in words(await browser.get(f"/operators/{PACKAGE}/objects"))
