"""Every page beside the running suite: rules of accessibility in four looks, no page wider than its screen, and its picture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Page

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.suite import Suite
from devcluster.watch import OPERATORS
from tests import pictures
from tests.chromium import LOOKS, WIDE, Chromium, broken_rules, too_wide, visit
from tests.console import running_console
from tests.e2e.stage import Stage

CATALOG, OPERATOR, WAITING, EXCLUDING = "samples", "hello-operator", "party-operator", "message-board"
KIND = "/instances/hello.example.com/v1alpha1/greetings"
GREETINGS = "/apis/hello.example.com/v1alpha1/namespaces/default/greetings"
PACKAGE = f"/catalog/{CATALOG}/{OPERATOR}"
PAGES = {
    "catalog": "/catalog",
    "search": "/catalog?q=greets",
    "package": PACKAGE,
    "versions": f"{PACKAGE}/versions",
    "permissions": f"{PACKAGE}/permissions",
    "requirements": f"/catalog/{CATALOG}/{WAITING}/requirements",
    "apis": f"{PACKAGE}/apis",
    "install": f"/catalog/{CATALOG}/message-board/install",
    "operators": "/operators",
    "operator": f"/operators/{OPERATOR}",
    "events": f"/operators/{OPERATOR}/events",
    "objects": f"/operators/{OPERATOR}/objects",
    "graph": f"/operators/{OPERATOR}/graph",
    "why": f"/operators/{WAITING}/why",
    "instance-types": f"/operators/{OPERATOR}/instances",
    "yaml": f"/operators/{OPERATOR}/yaml",
    "upgrade": f"/operators/{OPERATOR}/upgrade",
    "exclude": f"/operators/{OPERATOR}/exclude?version=0.2.0",
    "excluded": f"/operators/{EXCLUDING}",
    "permit": f"/operators/{EXCLUDING}/permit?version=9.9.9",
    "edit": f"/operators/{OPERATOR}/edit",
    "pause": f"/operators/{OPERATOR}/pause",
    "uninstall": f"/operators/{OPERATOR}/uninstall",
    "instances": "/instances",
    "instance-list": KIND,
    "instance-new": f"{KIND}/new?ns=default",
    "instance": f"{KIND}/default/welcome",
    "instance-objects": f"{KIND}/default/welcome/objects",
    "instance-yaml": f"{KIND}/default/welcome/yaml",
    "instance-edit": f"{KIND}/default/welcome/edit",
    "instance-delete": f"{KIND}/default/welcome/delete",
    "catalogs": "/catalogs",
    "catalog-detail": f"/catalogs/{CATALOG}",
    "catalog-problems": f"/catalogs/{CATALOG}/problems",
    "catalog-new": "/catalogs/new",
    "suite": "/suite",
}
SHOWN = {
    "light": tuple(name for name in PAGES if name != "excluded"),
    "dark": ("catalog",),
    "narrow": ("operators",),
    "forced": (),
}
"""The pages whose pictures are kept, by look."""


@pytest.fixture(scope="module")
def furnished(cluster: Cluster, suite: Suite, samples: str) -> Iterator[Cluster]:
    """An operator whose upgrade waits, one that waits for it, one that is Ready, and an instance that owns an object."""
    stage = Stage(cluster, suite, CATALOG)
    try:
        stage.ready_catalog(samples)
        stage.operator(OPERATOR, OPERATOR, version="0.1.0")
        stage.operator(EXCLUDING, EXCLUDING, excludedVersions=["9.9.9"])
        stage.ready_operator(OPERATOR, "0.1.0")
        stage.operator_when(EXCLUDING, "Ready", lambda found: bool(found["status"].get("installed")))
        cluster.api.call("PATCH", f"{OPERATORS}/{OPERATOR}", {"spec": {"version": None, "approval": "Manual"}}, MERGE)
        stage.operator(WAITING, WAITING)
        greeting = {"apiVersion": "hello.example.com/v1alpha1", "kind": "Greeting", "metadata": {"name": "welcome"}}
        made = cluster.api.apply(GREETINGS, {**greeting, "spec": {"message": "Good morning"}})
        own_a_config_map(cluster, made)
        stage.operator_when(OPERATOR, "0.2.0 waits", lambda found: bool(found["status"].get("available")))
        yield cluster
        cluster.api.request("DELETE", f"{GREETINGS}/welcome")
    finally:
        stage.close()


def own_a_config_map(cluster: Cluster, greeting: dict[str, dict[str, str]]) -> None:
    """What the operator would create for a Greeting, were its pod more than simulated."""
    metadata = greeting["metadata"]
    owner = {"apiVersion": "hello.example.com/v1alpha1", "kind": "Greeting"}
    owners = [{**owner, "name": metadata["name"], "uid": metadata["uid"]}]
    made = {"name": f"{metadata['name']}-text", "namespace": "default", "ownerReferences": owners}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": made}
    cluster.api.apply("/api/v1/namespaces/default/configmaps", body)


@pytest.mark.usefixtures("furnished")
@pytest.mark.parametrize("look", LOOKS)
async def test_pages_follow_the_rules_fit_the_screen_and_look_as_documented(chromium: Chromium, look: str) -> None:
    blank = await chromium.program.new_page()
    async with chromium.open("/suite", **LOOKS[look]) as page:
        await _review(page)
        assert await broken_rules(page) == []
        if look == "light":
            await pictures.check(page, blank, "review")
        for name, path in PAGES.items():
            await visit(page, path)
            assert (name, await broken_rules(page)) == (name, [])
            assert (name, await too_wide(page)) == (name, [])
            assert (name, await page.locator("h1").count()) == (name, 1)
            if name in SHOWN[look]:
                await pictures.check(page, blank, name if look == "light" else f"{name}-{look}")


async def _review(page: Page) -> None:
    """The page that a form leads to before anything is written."""
    await page.goto(f"/catalog/{CATALOG}/notebook-operator/install")
    await page.get_by_label("Install into namespace").fill("notebooks")
    await page.get_by_role("button", name="Review").click()
    await page.get_by_role("heading", name="Permissions").wait_for()


@pytest.mark.usefixtures("furnished")
async def test_a_review_that_was_sent_is_not_made_again(chromium: Chromium) -> None:
    """The Operator that it creates changes the cluster before its page is there."""
    change = "document.dispatchEvent(new Event('cluster-changed'))"
    sent: list[str] = []
    async with chromium.open("/suite", **WIDE) as page:
        await _review(page)
        async with page.expect_response("**/review"):
            await page.evaluate(change)
        await page.evaluate("document.addEventListener('submit', (event) => event.preventDefault())")
        await page.get_by_role("button", name="Install").click()
        page.on("request", lambda each: sent.append(each.url) if each.method == "POST" else None)
        await page.evaluate(change)
        await page.evaluate("fetch('/healthz')")
    assert sent == []


@pytest.mark.usefixtures("furnished")
async def test_pages_of_errors_follow_the_rules_and_lead_on(chromium: Chromium) -> None:
    blank = await chromium.program.new_page()
    for look in ("light", "dark"):
        async with chromium.context(**LOOKS[look]) as (context, noticed):
            page = await context.new_page()
            await page.goto("/operators")
            assert await page.get_by_role("heading", level=1).inner_text() == "Log in"
            assert await broken_rules(page) == []
            await chromium.log_in(page)
            await page.goto("/operators/hello-operater")
            assert await broken_rules(page) == []
            if look == "light":
                await pictures.check(page, blank, "error")
            await page.get_by_role("main").get_by_role("link", name=OPERATOR).click()
            await page.wait_for_url(f"**/operators/{OPERATOR}")
            assert [each for each in noticed.complaints if "404" not in each] == []


async def test_the_login_with_a_token_follows_the_rules_and_refuses_what_is_none(
    chromium: Chromium, cluster: Cluster
) -> None:
    blank = await chromium.program.new_page()
    async with running_console(str(cluster.kubeconfig)) as console:
        other = Chromium(chromium.program, console)
        for look in LOOKS:
            async with other.context(**LOOKS[look]) as (context, _):
                page = await context.new_page()
                await page.goto("/operators")
                assert (look, await broken_rules(page), await too_wide(page)) == (look, [], [])
                if look == "light":
                    await pictures.check(page, blank, "login")
                    await page.get_by_label("Token").fill("none")
                    await page.get_by_role("button", name="Log in").click()
                    await page.locator(".note.bad").wait_for()
                    assert await broken_rules(page) == []


async def test_another_page_is_no_likeness(chromium: Chromium) -> None:
    blank = await chromium.program.new_page()
    one, other = (pictures.PICTURES.joinpath(f"{name}.png").read_bytes() for name in ("instance", "instance-list"))
    assert await pictures.likeness(blank, one, one) == 1
    assert await pictures.likeness(blank, one, other) < pictures.LIKE
