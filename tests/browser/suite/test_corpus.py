"""The catalog of the corpus in Chromium: all its packages on one page, and the page of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.images import Content
from devcluster.suite import Suite
from tests.chromium import LOOKS, WIDE, Chromium, broken_rules, too_wide, visit
from tests.e2e.stage import Stage

pytestmark = pytest.mark.corpus
CATALOG = "corpus"
SHIFT = {"light": 0, "narrow": 0.01}
"""The layout shift that is permitted: on a narrow screen the mark of a live page moves its neighbours by a few pixels."""
OBSERVE = """window.shifts = []; window.paints = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries().map((each) => each.value)))
  .observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => paints.push(...list.getEntries().map((each) => each.startTime)))
  .observe({ type: "largest-contentful-paint", buffered: true });"""


@pytest.fixture(scope="module")
def packages(
    cluster: Cluster, suite: Suite, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[str]]:
    """The names of the packages, which a Catalog serves. Its bundles are not there."""
    stage = Stage(cluster, suite, CATALOG)
    content = Content(corpus / "catalog", tmp_path_factory.mktemp("no-bundles"))
    try:
        stage.publish(content, content.packages())
        stage.ready_catalog(stage.repository().reference, seconds=240)
        yield content.packages()
    finally:
        stage.close()


@pytest.mark.parametrize("look", ["light", "narrow"])
async def test_all_packages_are_on_one_page(chromium: Chromium, packages: list[str], look: str) -> None:
    async with chromium.open("/suite", **LOOKS[look]) as page:
        await page.add_init_script(OBSERVE)
        await page.goto(f"/catalog?catalog={CATALOG}&type=operators&page=all")
        links = await page.locator(".card h3 a").evaluate_all("all => all.map((each) => new URL(each.href).pathname)")
        assert sorted(links) == sorted(f"/catalog/{CATALOG}/{name}" for name in packages)
        assert await broken_rules(page) == []
        assert await too_wide(page) == []
        await page.evaluate("scrollTo(0, document.body.scrollHeight)")
        await page.wait_for_load_state("networkidle")
        print(f"layout shifts: {await page.evaluate('shifts')}, largest paint: {await page.evaluate('paints')} ms")
        assert sum(await page.evaluate("shifts")) <= SHIFT[look]


async def test_the_page_of_each_package_fits_and_is_complained_about_by_nobody(
    chromium: Chromium, packages: list[str]
) -> None:
    async with chromium.open("/suite", **WIDE) as page:
        for name in packages:
            answer = await visit(page, f"/catalog/{CATALOG}/{name}")
            assert (name, answer.status) == (name, 200)
            assert (name, await page.locator("h1").count()) == (name, 1)
            assert (name, await too_wide(page)) == (name, [])
