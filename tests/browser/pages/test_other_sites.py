"""A page of another site, and one of another port of this machine, which browsers call the same site: neither can do anything
with the session that the browser has at the console."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from devcluster.cluster import Cluster
from tests.browser.another_site import EVIL, Site, another_site
from tests.chromium import Chromium, started
from tests.console import Browser

OPERATOR = "/apis/operators.operatorframework.io/v1alpha1/operators/waiting"
ATTEMPTS = """async (target) => {
  const tried = {};
  const attempt = async (name, work) => { tried[name] = await work().catch((error) => `refused: ${error.name}`); };
  const ask = (path, options) => fetch(`${target}${path}`, { credentials: "include", ...options });
  await attempt("fetch", async () => (await (await ask("/operators")).text()).length);
  await attempt("fetch without answer", async () => (await ask("/operators", { mode: "no-cors" })).type);
  const body = new URLSearchParams({ csrf: "CSRF" });
  await attempt("post", async () => (await ask("/operators/waiting/pause", { method: "POST", mode: "no-cors", body })).type);
  await attempt("stream", () => new Promise((resolve, reject) => {
    const source = new EventSource(`${target}/live?page=/operators`, { withCredentials: true });
    const stop = (value) => { source.close(); resolve(value); };
    for (const name of ["hello", "parts", "login", "reload", "message"])
      source.addEventListener(name, (event) => stop(`${name}: ${event.data}`));
    source.onerror = () => { source.close(); reject(new Error("refused")); };
  }));
  await attempt("image", () => new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image.width);
    image.onerror = () => reject(new Error("refused"));
    image.src = `${target}/icons/shop/package-00`;
  }));
  await attempt("script", () => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = () => resolve("loaded");
    script.onerror = () => reject(new Error("refused"));
    script.src = `${target}SCRIPT`;
    document.head.append(script);
  }));
  await attempt("frame", () => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.onload = () => {
      try { resolve(`read ${frame.contentDocument.body.innerText.length}`); } catch (error) { resolve(`refused: ${error.name}`); }
    };
    frame.src = `${target}/operators`;
    document.body.append(frame);
  }));
  const opened = window.open(`${target}/operators`);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await attempt("window", async () => (opened.closed ? "refused: it is cut off" : opened.document.title));
  return tried;
}"""
FORM = """([target, csrf]) => {
  const form = document.createElement("form");
  form.method = "post";
  form.action = `${target}/operators/waiting/pause`;
  const field = document.createElement("input");
  field.name = "csrf";
  field.value = csrf;
  form.append(field);
  document.body.append(form);
  form.submit();
}"""


@pytest.fixture
async def elsewhere() -> AsyncIterator[Site]:
    """The server of another site."""
    async with another_site() as found:
        yield found


@pytest.fixture
async def chromium(console: Browser, chromium_program: Path, elsewhere: Site) -> AsyncIterator[Chromium]:
    """Chromium that finds the other site."""
    async with started(chromium_program, console, f"--host-resolver-rules=MAP {EVIL} 127.0.0.1") as running:
        yield running


async def _logged_in(chromium: Chromium, page: Page) -> tuple[str, str]:
    """The mark of the forms of the session, and the path of a script."""
    await chromium.log_in(page)
    await page.goto("/operators")
    assert await page.get_by_role("link", name="waiting", exact=True).count() == 1
    mark = await page.locator("input[name=csrf]").first.get_attribute("value")
    script = await page.locator("script[src*=theme]").get_attribute("src")
    return mark or "", script or ""


@pytest.mark.parametrize("host", [EVIL, "127.0.0.1"])
async def test_another_page_reads_nothing_and_changes_nothing(
    chromium: Chromium, cluster: Cluster, elsewhere: Site, host: str
) -> None:
    """It knows even the mark of the forms of the session."""
    before = cluster.api.call("GET", OPERATOR)["spec"]
    async with chromium.context() as (context, _):
        page = await context.new_page()
        mark, script = await _logged_in(chromium, page)
        await page.goto(f"http://{host}:{elsewhere.port}/")
        tried = await page.evaluate(ATTEMPTS.replace("CSRF", mark).replace("SCRIPT", script), chromium.console.origin)
        assert {name: str(each).partition(":")[0] for name, each in tried.items()} == dict.fromkeys(tried, "refused")
        assert len(tried) == 8
        await page.evaluate(FORM, [chromium.console.origin, mark])
        await page.wait_for_url(f"{chromium.console.origin}/**")
        if host == EVIL:  # for which the browser sends no cookie: the console leads to the page that asks
            await page.get_by_role("heading", name="Pause waiting").wait_for()
        else:
            assert "did not come from a page of this console" in await page.inner_text("main")
        await page.goto("/operators")
        assert await page.get_by_role("link", name="waiting", exact=True).count() == 1
    assert cluster.api.call("GET", OPERATOR)["spec"] == before


async def test_a_link_of_another_site_opens_the_page_and_tells_it_nothing(chromium: Chromium, elsewhere: Site) -> None:
    async with chromium.context() as (context, _):
        page = await context.new_page()
        await _logged_in(chromium, page)
        await page.goto(f"http://{EVIL}:{elsewhere.port}/")
        await page.evaluate(f"location.assign('{chromium.console.origin}/operators/waiting')")
        await page.get_by_role("heading", level=1).get_by_text("waiting").wait_for()
        assert await page.evaluate("document.referrer") in ("", f"{chromium.console.origin}/operators/waiting")
        assert await page.evaluate("window.opener") is None


async def test_a_link_to_another_site_tells_it_neither_page_nor_session(chromium: Chromium, elsewhere: Site) -> None:
    async with chromium.context() as (context, _):
        page = await context.new_page()
        await _logged_in(chromium, page)
        headers: dict[str, str] = {}
        page.on("request", lambda each: headers.update(each.headers) if EVIL in each.url else None)
        await page.evaluate(f"location.assign('http://{EVIL}:{elsewhere.port}/')")
        await page.wait_for_url(f"http://{EVIL}:{elsewhere.port}/")
        assert "referer" not in headers
        assert "cookie" not in headers
    assert elsewhere.paths[0] == "/"
