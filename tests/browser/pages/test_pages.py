"""Every page in Chromium: rules of accessibility, narrow screens, the keyboard alone, and without JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.chromium import LOOKS, Opened, broken_rules, too_wide, visit

PAGES = {
    "catalog": "/catalog",
    "package": "/catalog/shop/package-00",
    "versions": "/catalog/shop/package-00/versions",
    "operators": "/operators",
    "operator": "/operators/waiting",
    "objects": "/operators/waiting/objects",
    "why": "/operators/waiting/why",
    "yaml": "/operators/waiting/yaml",
    "catalogs": "/catalogs",
    "catalog-detail": "/catalogs/shop",
    "suite": "/suite",
}


@pytest.mark.parametrize("look", LOOKS)
async def test_pages_follow_the_rules_of_accessibility_and_fit_the_screen(opened: Opened, look: str) -> None:
    async with opened("/", **LOOKS[look]) as page:
        for name, path in PAGES.items():
            await visit(page, path)
            assert (name, await broken_rules(page)) == (name, [])
            assert (name, await too_wide(page)) == (name, [])


async def test_pages_are_live_however_fast_a_person_goes_from_one_to_the_next(opened: Opened) -> None:
    """The browser complains about each stream that is refused."""
    async with opened("/catalog", **LOOKS["light"]) as page:
        for _ in range(3):
            for path in PAGES.values():
                await visit(page, path)
        await page.goto("/operators")
        await expect(page.locator("#live")).to_contain_text("Live")


async def test_a_package_is_found_and_opened_with_the_keyboard_alone(opened: Opened) -> None:
    async with opened("/catalog", **LOOKS["light"]) as page:
        await page.keyboard.press("/")
        assert await page.evaluate("document.activeElement.id") == "q"
        await page.keyboard.type("package-1")
        await page.keyboard.press("Enter")
        await page.wait_for_url(re.compile("q=package-1"))
        for _ in range(40):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.closest('.card') !== null"):
                break
        await page.keyboard.press("ArrowRight")
        assert await page.evaluate("document.activeElement.textContent") == "package-11"
        await page.keyboard.press("Enter")
        await page.wait_for_url(re.compile("/catalog/shop/package-11"))
        await page.keyboard.press("v")
        await page.wait_for_url(re.compile("/versions"))


async def test_a_filter_shows_its_results_at_once_and_keeps_the_focus(opened: Opened) -> None:
    async with opened("/catalog", **LOOKS["light"]) as page:
        await page.get_by_label("shop").focus()
        await page.keyboard.press("Space")
        await page.wait_for_url(re.compile("catalog=shop"))
        assert await page.evaluate("[document.activeElement.name, document.activeElement.checked]") == ["catalog", True]
        await expect(page.get_by_role("button", name="Apply filters")).to_be_hidden()


async def test_the_filters_of_a_narrow_screen_are_sent_together(opened: Opened) -> None:
    async with opened("/catalog", **LOOKS["narrow"]) as page:
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_label("shop").check()
        await page.get_by_label("Operators").check()
        await page.get_by_role("button", name="Apply filters").click()
        await page.wait_for_url(re.compile("type=operators&catalog=shop"))


async def test_rows_are_walked_with_letters_that_can_be_turned_off(opened: Opened) -> None:
    async with opened("/operators", **LOOKS["light"]) as page:
        await page.keyboard.press("j")
        assert await page.evaluate("document.activeElement.textContent") == "broken"
        await page.keyboard.press("j")
        assert await page.evaluate("document.activeElement.textContent") == "waiting"
        await page.click("#keys")
        await page.keyboard.press("k")
        assert await page.evaluate("document.activeElement.id") == "keys"


async def test_the_theme_is_kept(opened: Opened) -> None:
    async with opened("/suite", **LOOKS["light"]) as page:
        await page.click("#theme")
        await page.click("#theme")
        await page.goto("/catalogs")
        assert await page.evaluate("document.documentElement.dataset.theme") == "dark"


async def test_the_menu_opens_on_a_narrow_screen(opened: Opened) -> None:
    async with opened("/catalog", **LOOKS["narrow"]) as page:
        await page.click(".menu-btn")
        await page.click("#nav a[href='/operators']")
        await page.wait_for_url(re.compile("/operators$"))


async def test_pages_are_complete_without_javascript(opened: Opened) -> None:
    async with opened("/catalog", java_script_enabled=False, **LOOKS["light"]) as page:
        assert await page.locator(".card").count() == 30
        for path in PAGES.values():
            await visit(page, path)
            assert await page.locator("h1").count() == 1
