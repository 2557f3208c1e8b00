"""A page whose connection is cut says so, and comes back by itself with what it has missed: between the browser and the console,
and between the console and the API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Page, expect

from console.login import AuthMode
from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.watch import OPERATORS
from tests.chromium import WIDE, started
from tests.cluster import proxy
from tests.console import Browser, running_console

SECONDS = 60_000
"""A tab tries again after at most 30 s."""


def _say(cluster: Cluster, text: str) -> None:
    """Change what the row of an Operator shows."""
    path = f"{OPERATORS}/broken/status"
    status = cluster.api.call("GET", f"{OPERATORS}/broken")["status"]
    status["conditions"][0]["message"] = text
    cluster.api.call("PATCH", path, {"status": status}, MERGE)


@asynccontextmanager
async def _through(between: proxy.Proxy, console: Browser) -> AsyncIterator[Browser]:
    """The console under the address of the proxy."""
    console.console.port, port = between.port, console.console.port
    yield Browser(console.http, f"http://{between.address}", console.console)
    console.console.port = port


async def _follow(page: Page, cluster: Cluster, between: proxy.Proxy) -> None:
    """Cut the connection for longer than a page stays quiet about it, and change something meanwhile."""
    row, banner = page.locator("#row-broken"), page.locator("#cut")
    _say(cluster, "before the cut")
    await expect(row).to_contain_text("before the cut", timeout=SECONDS)
    await page.get_by_role("link", name="waiting", exact=True).focus()
    between.close()
    between.cut()
    await expect(banner).to_contain_text("Not live since", timeout=SECONDS)
    _say(cluster, "missed")
    await expect(row).to_contain_text("before the cut")
    await between.open()
    await expect(row).to_contain_text("missed", timeout=SECONDS)
    await expect(banner).to_be_hidden(timeout=SECONDS)
    assert await page.evaluate("document.activeElement.textContent") == "waiting"
    _say(cluster, "live again")
    await expect(row).to_contain_text("live again", timeout=SECONDS)


async def test_the_stream_of_a_tab_comes_back(cluster: Cluster, console: Browser, chromium_program: Path) -> None:
    address = urlsplit(console.origin)
    async with (
        proxy.Proxy((address.hostname or "", address.port or 0), None) as between,
        _through(between, console) as far,
        started(chromium_program, far) as chromium,
        chromium.context(**WIDE) as (context, noticed),
    ):
        page = await context.new_page()
        await chromium.log_in(page)
        await page.goto("/operators")
        await _follow(page, cluster, between)
        assert all("net::ERR" in each for each in noticed.complaints), noticed.complaints


async def test_the_watch_of_the_console_comes_back(cluster: Cluster, chromium_program: Path, tmp_path: Path) -> None:
    async with (
        proxy.run(cluster.kubeconfig, tmp_path) as between,
        running_console(str(between.kubeconfig), AuthMode.KUBECONFIG) as console,
        started(chromium_program, console) as chromium,
        chromium.open("/operators", **WIDE) as page,
    ):
        await _follow(page, cluster, between)


async def test_writes_wait_until_the_cluster_answers(cluster: Cluster, chromium_program: Path, tmp_path: Path) -> None:
    async with (
        proxy.run(cluster.kubeconfig, tmp_path) as between,
        running_console(str(between.kubeconfig), AuthMode.KUBECONFIG) as console,
        started(chromium_program, console) as chromium,
        chromium.open("/catalogs", **WIDE) as page,
    ):
        refresh = page.get_by_role("button", name="Check now")
        await expect(page.locator("#live")).to_be_visible()
        between.close()
        between.cut()
        await expect(page.locator("#cut")).to_be_visible(timeout=SECONDS)
        await refresh.click()
        await expect(page.locator("#said")).to_contain_text("Nothing was sent.")
        await expect(page).to_have_url(f"{console.origin}/catalogs")
        await between.open()
        await expect(page.locator("#cut")).to_be_hidden(timeout=SECONDS)
        await refresh.click()
        await expect(page.get_by_role("main").get_by_role("status").first).to_be_visible()
