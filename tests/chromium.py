"""Chromium at a console: it records what a browser complains about, what a page asks a person, and what leaves for other hosts.

Chromium is Debian's. Where it is not installed and cannot be, the tests that use it are skipped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from devcluster import chromium
from devcluster.errors import DevclusterError
from tests.console import Browser

if TYPE_CHECKING:
    from playwright.async_api import Browser as Program
    from playwright.async_api import BrowserContext, Page, Response

Opened = Callable[..., AbstractAsyncContextManager[Any]]
WIDE: Final[Mapping[str, Any]] = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
LOOKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "light": WIDE,
    "dark": {**WIDE, "color_scheme": "dark"},
    "narrow": {**WIDE, "viewport": {"width": 320, "height": 700}},
    "forced": {**WIDE, "forced_colors": "active"},
}
"""The options of contexts."""
BLOCKED: Final = "csp"
"""The failure of a request that a policy has stopped."""
_TOO_WIDE: Final = """() => {
  const screen = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= screen) return [];
  const wide = [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > screen + 0.5);
  return wide.filter((each) => !wide.some((other) => each !== other && each.contains(other)))
    .map((each) => `${each.tagName} ${each.className} ${each.textContent.trim().slice(0, 60)}`).slice(0, 5).concat("the page");
}"""
_REPORT_VIOLATIONS: Final = """document.addEventListener("securitypolicyviolation", (event) =>
  window.reportViolation(`${event.effectiveDirective}: ${event.blockedURI} ${event.sample}`));"""


@pytest.fixture(scope="session")
def chromium_program() -> Path:
    """The program; tests are skipped where it is not installed and cannot be."""
    pytest.importorskip("playwright.async_api", reason="playwright is not installed: `make setup` installs it")
    try:
        return chromium.find_or_install(print)
    except DevclusterError as error:
        pytest.skip(str(error))


@dataclass
class Noticed:
    """What the pages of a context have done. `complaints` are errors in the browser's console and exceptions of scripts."""

    complaints: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Fail if there is anything."""
        assert self == Noticed()


@dataclass
class Chromium:
    """A running Chromium, and the console that its pages are of."""

    program: Program
    console: Browser

    @asynccontextmanager
    async def context(self, **options: Any) -> AsyncIterator[tuple[BrowserContext, Noticed]]:
        """A browser without cookies, and what its pages do."""
        noticed = Noticed()
        context = await self.program.new_context(base_url=self.console.origin, **options)
        context.set_default_timeout(20_000)

        async def report(_: object, text: str) -> None:
            noticed.violations.append(text)

        await context.expose_binding("reportViolation", report)
        await context.add_init_script(_REPORT_VIOLATIONS)
        context.on("console", lambda each: noticed.complaints.append(each.text) if each.type == "error" else None)
        context.on("weberror", lambda each: noticed.complaints.append(str(each.error)))
        context.on("request", lambda each: self._record(noticed, each.url))
        context.on("requestfailed", lambda each: self._forget(noticed, each.url) if each.failure == BLOCKED else None)
        context.on("dialog", lambda each: noticed.dialogs.append(each.message))
        yield context, noticed
        await context.close()

    def _record(self, noticed: Noticed, url: str) -> None:
        if not url.startswith((f"{self.console.origin}/", "data:")):
            noticed.elsewhere.append(url)

    def _forget(self, noticed: Noticed, url: str) -> None:
        """A request that the policy of a page has stopped has not left."""
        if url in noticed.elsewhere:
            noticed.elsewhere.remove(url)

    @asynccontextmanager
    async def open(self, path: str, **options: Any) -> AsyncIterator[Page]:
        """A page, as somebody who is logged in; what is noticed of it fails the test. A test that fails prints what it shows."""
        async with self.context(**options) as (context, noticed):
            page = await context.new_page()
            await self.log_in(page)
            await page.goto(path)
            try:
                yield page
            except Exception:
                print(page.url, await page.locator("body").aria_snapshot(), sep="\n")
                raise
            noticed.check()

    async def log_in(self, page: Page) -> None:
        """Open a session with the credentials of the console's kubeconfig."""
        await page.goto(f"/login/{self.console.console.logins.links.make()}")


@asynccontextmanager
async def started(program: Path, console: Browser, *arguments: str) -> AsyncIterator[Chromium]:
    """Chromium, started with these arguments beside its own."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        running = await driver.chromium.launch(executable_path=str(program), args=["--no-sandbox", *arguments])
        yield Chromium(running, console)
        await running.close()


async def visit(page: Page, path: str) -> Response:
    """Open a further page; returns its answer."""
    answer = await page.goto(path)
    assert answer is not None
    return answer


async def too_wide(page: Page) -> list[str]:
    """The innermost elements that make a page wider than its screen; none if it fits."""
    found: list[str] = await page.evaluate(_TOO_WIDE)
    return found


async def broken_rules(page: Page) -> list[tuple[str, list[str]]]:
    """The rules of accessibility that a page breaks, each with the first elements."""
    axe = pytest.importorskip(
        "axe_playwright_python.async_playwright", reason="axe is not installed: `make setup` does"
    )
    found = await axe.Axe().run(page)
    return [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found.response["violations"]]
