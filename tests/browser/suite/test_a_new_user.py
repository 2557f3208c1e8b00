"""What a new user does without documentation and without kubectl: from a cluster without the suite to an operator that was found,
judged, installed, used, upgraded and removed."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from devcluster.cluster import Cluster
from devcluster.watch import CATALOGS
from tests.chromium import WIDE, Chromium

PACKAGE, NAME = "hello-operator", "Hello Operator"
GREETINGS = "/apis/hello.example.com/v1alpha1/namespaces/default/greetings"
LONG = 25_000


async def test_from_an_empty_cluster_to_an_operator_and_back(
    chromium: Chromium, cluster: Cluster, samples: str, request: pytest.FixtureRequest
) -> None:
    expect.set_options(timeout=LONG)
    try:
        async with chromium.open("/", **WIDE) as page:
            await expect(page.get_by_role("heading", level=1)).to_have_text(
                "olm-suite is not installed on this cluster"
            )
            request.getfixturevalue("suite")
            await expect(page.get_by_role("heading", level=1)).to_have_text("Catalog")

            await _add_the_catalog(page, samples)
            await _find_and_judge(page)
            await _install(page)
            await _create_an_instance(page, cluster)
            await _approve_the_upgrade(page)
            await _uninstall(page)
        status, _ = cluster.api.request(
            "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/greetings.hello.example.com"
        )
        assert status == 404
    finally:
        cluster.api.request("DELETE", f"{CATALOGS}/samples")


async def _add_the_catalog(page: Page, reference: str) -> None:
    await page.get_by_role("link", name="Add a catalog").first.click()
    await page.get_by_label("Image required", exact=True).fill(reference)
    await page.get_by_label("Name required", exact=True).fill("samples")
    await page.get_by_role("button", name=re.compile("^Add|^Create")).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("samples")
    await expect(page.locator("#title .badge")).to_have_text("Serving")


async def _find_and_judge(page: Page) -> None:
    await page.get_by_role("link", name="Catalog", exact=True).click()
    await page.get_by_role("searchbox").fill("greets")
    await page.get_by_role("searchbox").press("Enter")
    await page.get_by_role("link", name=NAME).first.click()
    await expect(page.get_by_role("heading", name="What it may do on your cluster")).to_be_visible()
    await page.get_by_role("link", name="All permissions").click()
    await expect(page.get_by_role("main")).to_contain_text("configmaps")


async def _install(page: Page) -> None:
    await page.get_by_role("link", name=re.compile("^Install")).first.click()
    await page.get_by_role("radio", name=re.compile("One version")).check()
    await page.get_by_label("Version", exact=True).fill("0.1.0")
    await page.get_by_role("button", name="Review").click()
    await expect(page.get_by_role("heading", name="Permissions")).to_be_visible()
    await expect(page.get_by_role("main")).to_contain_text("greetings.hello.example.com")
    await page.get_by_role("button", name="Install").click()
    await expect(page).to_have_url(re.compile(f"/operators/{PACKAGE}$"))
    await expect(page.locator("#title .badge").first).to_have_text("Ready")
    await expect(page.locator("#title")).to_contain_text("0.1.0")


async def _create_an_instance(page: Page, cluster: Cluster) -> None:
    await page.get_by_role("link", name="Instances", exact=True).first.click()
    await page.get_by_role("link", name=re.compile("^(New|Create)")).first.click()
    await page.get_by_label("Name required", exact=True).fill("mine")
    await page.get_by_label(re.compile("message", re.IGNORECASE)).fill("hello there")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("mine")
    greeting = cluster.api.call("GET", f"{GREETINGS}/mine")
    assert greeting["spec"] == {"message": "hello there"}
    _own_something(cluster, greeting["metadata"]["uid"])
    await page.get_by_role("link", name="YAML").click()
    await expect(page.get_by_label("YAML")).to_have_value(re.compile("message: hello there"))
    await page.get_by_role("link", name="Objects").click()
    await expect(page.get_by_role("main")).to_contain_text("ConfigMap mine-text")
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Instances").click()
    await expect(page.get_by_role("link", name="mine")).to_be_visible()


def _own_something(cluster: Cluster, uid: str) -> None:
    """What the operator would create, were its pod more than simulated."""
    owner = {"apiVersion": "hello.example.com/v1alpha1", "kind": "Greeting", "name": "mine", "uid": uid}
    metadata = {"name": "mine-text", "namespace": "default", "ownerReferences": [owner]}
    cluster.api.apply(
        "/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    )


async def _approve_the_upgrade(page: Page) -> None:
    await page.goto(f"/operators/{PACKAGE}")
    await page.get_by_role("link", name="Change version").click()
    await page.get_by_role("radio", name=re.compile("The newest")).check()
    await page.get_by_role("radio", name=re.compile("After approval")).check()
    await page.get_by_role("button", name="Review").click()
    await page.get_by_role("button", name=re.compile("Change|Save|Apply")).click()
    await expect(page.get_by_text("0.2.0 waits for your approval.")).to_be_visible()
    await page.get_by_role("link", name="Why", exact=True).click()
    await expect(page.get_by_role("main")).to_contain_text("0.2.0")
    await page.get_by_role("link", name=re.compile("Review and approve")).click()
    await expect(page.get_by_role("heading", name="Permissions")).to_be_visible()
    await expect(page.get_by_role("heading", name="CustomResourceDefinitions")).to_be_visible()
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator("#title")).to_contain_text("0.2.0")
    await expect(page.locator("#title .badge").first).to_have_text("Ready")


async def _uninstall(page: Page) -> None:
    await page.get_by_role("link", name="Uninstall").click()
    await expect(page.get_by_role("main")).to_contain_text("1 greetings.hello.example.com")
    await page.get_by_label(f"Type {PACKAGE} to confirm").fill(PACKAGE)
    await page.get_by_role("button", name="Uninstall").click()
    await page.goto("/operators")
    await expect(page.get_by_role("heading", name="No Operators found.")).to_be_visible()


async def _tab_to(page: Page, what: str) -> None:
    """Press Tab until the focus is on a control whose name begins so."""
    for _ in range(150):
        await page.keyboard.press("Tab")
        name = await page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).innerText?.trim().replace(/\\s+/g, ' ') ?? ''"
        )
        if name.startswith(what):
            return
    pytest.fail(f"Tab does not reach {what} on {page.url}")


async def _press(page: Page, what: str) -> None:
    """Press Enter on a control that leads to another page."""
    await _tab_to(page, what)
    async with page.expect_navigation():
        await page.keyboard.press("Enter")


@pytest.mark.usefixtures("suite")
async def test_the_way_to_an_instance_with_the_keyboard_alone(
    chromium: Chromium, cluster: Cluster, samples: str
) -> None:
    expect.set_options(timeout=LONG)
    async with chromium.open("/catalogs", **WIDE) as page:
        await _add_the_catalog_by_keys(page, samples)
        await _install_by_keys(page)
        await page.goto("/instances")
        await _press(page, "Create")
        await _tab_to(page, "Name required")
        await page.keyboard.type("typed")
        await page.keyboard.press("Control+Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("typed")
        await page.goto(f"/operators/{PACKAGE}")
        await _press(page, "Uninstall")
        await _tab_to(page, "Type")
        await page.keyboard.type(PACKAGE)
        await _press(page, "Uninstall")
        await page.goto("/operators")
        await expect(page.get_by_role("heading", name="No Operators found.")).to_be_visible()
    cluster.api.call("DELETE", f"{CATALOGS}/keys")


async def _add_the_catalog_by_keys(page: Page, reference: str) -> None:
    await _press(page, "Add a catalog")
    await _tab_to(page, "Image")  # the type of the source, and what it names
    await _tab_to(page, "Image")
    await page.keyboard.type(reference)
    await _tab_to(page, "Name required")
    await page.keyboard.type("keys")
    await _press(page, "Add")
    await expect(page.locator("#title .badge")).to_have_text("Serving")


async def _install_by_keys(page: Page) -> None:
    await page.goto("/catalog")
    await page.keyboard.press("/")
    await page.keyboard.type("greets")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile("q=greets"))
    await _press(page, NAME)
    await _press(page, "Install")
    await _tab_to(page, "After approval")
    await page.keyboard.press("ArrowUp")
    assert await page.get_by_role("radio", name=re.compile("^Automatic")).is_checked()
    await page.keyboard.press("Control+Enter")
    await page.wait_for_url(re.compile("/review"))
    await _press(page, "Install")
    await expect(page.locator("#title .badge").first).to_have_text("Ready")
