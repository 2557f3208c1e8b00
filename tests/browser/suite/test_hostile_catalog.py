"""A hostile catalog in Chromium, served by catalogd, and an operator of it that is installed: nothing of it runs, asks the person
something, leaves for another host, hides the page or makes it wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.suite import Suite
from tests.browser.another_site import another_site
from tests.browser.suite import hostile
from tests.browser.suite.hostile import GROUP, HUGE, KIND, LIAR, PACKAGE, PLURAL, SCRIPT
from tests.chromium import LOOKS, WIDE, Chromium, started, too_wide, visit
from tests.console import Browser
from tests.e2e.stage import Stage

LAMPS = f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}"
LIST = f"/instances/{GROUP}/v1/{PLURAL}"
PAGES = (
    "/catalog",
    "/catalog?q=hostile",
    *(
        f"/catalog/hostile/{package}{tab}"
        for package in (PACKAGE, HUGE, LIAR)
        for tab in ("", "/versions", "/permissions", "/requirements", "/apis", "/install")
    ),
    "/operators",
    *(f"/operators/{PACKAGE}{tab}" for tab in ("", "/events", "/objects", "/graph", "/why", "/instances", "/yaml")),
    *(
        f"/operators/{PACKAGE}/{action}"
        for action in ("edit", "upgrade", "exclude", "permit?version=1.0.0", "pause", "uninstall")
    ),
    "/instances",
    LIST,
    f"{LIST}/new?ns=default",
    f"{LIST}/new?ns=default&example=1",
    *(f"{LIST}/default/lamp{tab}" for tab in ("", "/events", "/objects", "/yaml", "/edit", "/delete")),
    "/catalogs",
    *(f"/catalogs/hostile{tab}" for tab in ("", "/problems", "/edit", "/delete")),
)
FOUND = """() => ({
  scripts: document.querySelectorAll("script:not([src^='/assets/'])").length,
  handlers: [...document.querySelectorAll("*")].filter((each) => [...each.attributes].some((a) => /^on/.test(a.name))).length,
  foreign: document.querySelectorAll("iframe, object, embed, base, main style, main link, main meta, [style]").length,
  links: [...document.querySelectorAll("a[href], area[href]")].map((each) => each.href).filter(
    (each) => !/^(https?|mailto):/.test(each)),
  misleading: [...document.querySelectorAll("a[href]")].filter((each) => each.host && each.host !== location.host)
    .filter((each) => /@/.test(each.href.split("?")[0].split("/")[2]) || !/noopener/.test(each.rel)).map((each) => each.href),
  forms: [...document.forms].map((each) => each.getAttribute("action") ?? "").filter(
    (each) => new URL(each, location.href).origin !== location.origin),
  pictures: [...document.images].map((each) => each.src).filter((each) => new URL(each).origin !== location.origin),
  turned: /[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u0007\\u001b]/.test(document.body.innerText),
  ids: [...document.querySelectorAll("[id]")].map((each) => each.id).filter((id, at, all) => all.indexOf(id) !== at),
})"""


@pytest.fixture(scope="module")
def installed(cluster: Cluster, suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster on which somebody has installed an operator of the catalog, and has an instance of it."""
    stage = Stage(cluster, suite, PACKAGE)
    try:
        stage.publish(hostile.write(tmp_path_factory.mktemp("hostile")), [PACKAGE, HUGE, LIAR])
        stage.ready_catalog(stage.repository().reference)
        stage.patch_catalog(PACKAGE, {"displayName": hostile.NAME[:200], "publisher": SCRIPT[:200]})
        stage.operator(PACKAGE, version="1.0.0")
        stage.ready_operator(PACKAGE, "1.0.0")
        stage.patch_operator(PACKAGE, {"version": "1.x", "approval": "Manual"})
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": KIND,
            "metadata": {"name": "lamp", "annotations": {"note": SCRIPT}},
        }
        cluster.api.apply(LAMPS, {**body, "spec": {"text": hostile.NAME, "extra": SCRIPT}})
        condition = {"type": SCRIPT, "status": "True", "reason": SCRIPT, "message": hostile.NAME}
        status = {"link": hostile.LINKS[0], "phase": SCRIPT, "conditions": [condition]}
        cluster.api.call("PATCH", f"{LAMPS}/lamp/status", {"status": status}, MERGE)
        yield cluster
        cluster.api.request("DELETE", f"{LAMPS}/lamp")
    finally:
        stage.close()


async def _wrong(page: Page, path: str) -> dict[str, object]:
    """What the page has of the catalog but texts, and how it does not look like one."""
    answer = await visit(page, path)
    found: dict[str, object] = await page.evaluate(FOUND)
    wrong = {name: value for name, value in found.items() if value}
    if answer.status != 200 or await page.locator("h1").count() != 1 or not await page.locator("main").is_visible():
        wrong["page"] = answer.status
    await page.locator("main details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
    wrong["wide"] = await too_wide(page)
    return {name: value for name, value in wrong.items() if value}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("look", ["light", "narrow"])
async def test_nothing_of_it_runs_and_nothing_leaves(chromium: Chromium, look: str) -> None:
    async with chromium.open("/", **LOOKS[look]) as page:
        wrong = [f"{path}: {found}" for path in PAGES if (found := await _wrong(page, path))]
        assert wrong == [], "\n".join(wrong)


@pytest.mark.usefixtures("installed")
async def test_its_texts_are_shown_as_texts(chromium: Chromium) -> None:
    async with chromium.open(f"/catalog/hostile/{PACKAGE}", **WIDE) as page:
        assert "<script>alert(1)</script>" in await page.inner_text("h1")
        about = await page.inner_text("section[aria-labelledby=about]")
        assert "{{7*7}}" in about
        assert "49" not in about
        await page.goto(f"{LIST}/new?ns=default&example=1")
        assert await page.get_by_role("textbox").count() > 2


@pytest.mark.usefixtures("installed")
async def test_its_icons_run_nothing_where_they_are_opened(console: Browser, chromium_program: Path) -> None:
    async with (
        another_site() as site,
        started(
            chromium_program, console, f"--host-resolver-rules=MAP {hostile.HOST} 127.0.0.1:{site.port}"
        ) as chromium,
        chromium.context(**WIDE) as (context, noticed),
    ):
        page = await context.new_page()
        await chromium.log_in(page)
        for package, is_shown in ((PACKAGE, True), (HUGE, False), (LIAR, False)):
            answer = await visit(page, f"/icons/hostile/{package}")
            assert (package, answer.status, "alert" in await answer.text()) == (package, 200, is_shown)
        assert noticed.dialogs == []
        assert site.paths == []
        await page.goto(f"http://{hostile.HOST}/")
        assert site.paths[0] == "/", "what had left would have been seen"


@pytest.mark.usefixtures("installed")
async def test_a_form_that_it_has_filled_shows_what_it_writes(chromium: Chromium) -> None:
    async with chromium.context(**WIDE) as (context, noticed):
        page = await context.new_page()
        await chromium.log_in(page)
        await page.goto(f"{LIST}/new?ns=default&example=1")
        await page.get_by_label("Name required").fill("made")
        await page.get_by_role("button", name="Check without creating").click()
        assert not any((await page.evaluate(FOUND)).values())
        await page.get_by_role("button", name="Edit YAML").click()
        assert "<script>alert(1)</script>" in await page.get_by_label("YAML").first.input_value()
        assert not any((await page.evaluate(FOUND)).values())
        assert [each for each in noticed.complaints if "422" not in each] == []
        assert (noticed.violations, noticed.dialogs, noticed.elsewhere) == ([], [], [])
