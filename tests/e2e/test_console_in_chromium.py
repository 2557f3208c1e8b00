"""The console in Chromium in short, beside the running suite: the pages on the way to an installation follow the rules of
accessibility, and the browser complains about nothing. `make console` opens all pages."""

from __future__ import annotations

import re
from pathlib import Path

from console.login import AuthMode
from tests import described_samples
from tests.chromium import WIDE, broken_rules, chromium_program, started, too_wide
from tests.console import running_console
from tests.e2e.stage import Stage

__all__ = ["chromium_program"]

PACKAGE = "hello-operator"


async def test_a_package_is_found_and_its_installation_reviewed(
    stage: Stage, chromium_program: Path, tmp_path: Path
) -> None:
    stage.publish(described_samples.write(tmp_path / "catalog"), [PACKAGE])
    catalog = stage.ready_catalog(stage.repository().reference)
    async with (
        running_console(str(stage.cluster.kubeconfig), AuthMode.KUBECONFIG) as console,
        started(chromium_program, console) as chromium,
        chromium.open("/catalog", **WIDE) as page,
    ):
        await page.keyboard.press("/")
        await page.keyboard.type(PACKAGE)
        await page.keyboard.press("Enter")
        await page.locator(f".card a[href^='/catalog/{catalog}/{PACKAGE}']").first.click()
        await page.get_by_role("heading", name="What it may do on your cluster").wait_for()
        await page.get_by_text("its image does not exist").wait_for()
        assert await page.locator(".title img").evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
        assert await broken_rules(page) == []
        assert await too_wide(page) == []
        await page.locator(".actions").get_by_role("link", name=re.compile("^Install")).click()
        await page.get_by_role("button", name="Review").click()
        await page.get_by_role("heading", name="Permissions").wait_for()
        assert await broken_rules(page) == []
