"""Streams: who gets one, how many, and when they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from console import server
from console.live import hub
from console.live.hub import MAX_STREAMS
from console.page import Answer, Page, PageRequest
from console.routes import Route, Watch
from devcluster.cluster import Cluster
from tests.cluster.console.conftest import Tokens
from tests.cluster.olmkit.conftest import CONFIG_MAP
from tests.console import Browser, running_console

TEMPLATES = {"page.html": '{% extends "base.html" %}{% block main %}{{ value }}{% endblock %}'}


async def show(request: PageRequest) -> Answer:
    """A page that never changes."""
    return Page("page.html", request.user.name, "Page")


ROUTES = (Route("GET", "/page", show, (Watch(CONFIG_MAP, "default"),)), Route("GET", "/still", show))


@pytest.fixture
async def browser(cluster: Cluster, tokens: Tokens) -> AsyncIterator[Browser]:
    """A browser with a session of Anna."""
    async with running_console(str(cluster.kubeconfig), routes=ROUTES, templates=TEMPLATES) as found:
        await found.log_in(tokens.anna)
        yield found


async def first(events: AsyncIterator[tuple[str, Any]]) -> str:
    async with asyncio.timeout(20):
        return (await anext(events))[0]


async def test_a_stream_without_a_session_leads_to_the_login(browser: Browser) -> None:
    browser.cookies.clear()
    async with browser.live("/page") as events:
        assert await first(events) == "login"


async def test_the_page_of_another_site_follows_nothing(browser: Browser) -> None:
    answer = await browser.get("/live?page=/page", {"Sec-Fetch-Site": "cross-site"})
    assert answer.text == "event: login\ndata: null\n\n"


@pytest.mark.parametrize(
    ("page", "status"),
    [("/nowhere", 404), ("", 404), ("//evil", 404), ("/login", 404), ("/still", 429), ("/page?ns=X", 400)],
)
async def test_only_pages_that_follow_the_cluster_have_streams(browser: Browser, page: str, status: int) -> None:
    assert (await browser.get(f"/live?page={page}")).status == status


async def test_the_streams_of_a_session_are_limited_and_free_again(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "ROOM_SECONDS", 0.2)
    async with AsyncExitStack() as stack:
        for _ in range(MAX_STREAMS):
            events = await stack.enter_async_context(browser.live("/page"))
            assert await first(events) == "parts"
        assert (await browser.get("/live?page=/page")).status == 429
    async with browser.live("/page") as events:
        assert await first(events) == "parts"


async def test_a_page_that_is_left_makes_room_for_the_next_one(browser: Browser) -> None:
    """However fast a person goes from page to page."""
    for _ in range(4 * MAX_STREAMS):
        async with browser.live("/page") as events:
            assert await first(events) == "parts"
    session = next(iter(browser.console.users._sessions.values()))
    async with asyncio.timeout(20):
        while session.streams:  # noqa: ASYNC110 the last one ends when the server has read the end of its connection
            await asyncio.sleep(0.02)


async def test_a_logout_in_one_tab_ends_the_stream_of_the_other(browser: Browser) -> None:
    async with browser.live("/page") as events:
        assert await first(events) == "parts"
        await browser.post("/logout", {}, page="/page")
        assert await first(events) == "login"


async def _until(work: asyncio.Event) -> str:
    async with asyncio.timeout(20):
        await work.wait()
    return "done"


async def test_when_the_process_ends_the_streams_end_first_and_a_page_in_progress_is_answered(
    cluster: Cluster, tokens: Tokens
) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def wait(_: PageRequest) -> Answer:
        asked.set()
        return Page("page.html", await _until(answered), "Page")

    async with AsyncExitStack() as stack:
        routes = (*ROUTES, Route("GET", "/slow", wait))
        browser = await stack.enter_async_context(
            running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES)
        )
        await browser.log_in(tokens.anna)
        async with browser.live("/page") as events, asyncio.TaskGroup() as group:
            assert await first(events) == "parts"
            slow = group.create_task(browser.get("/slow"))
            await _until(asked)
            group.create_task(stack.aclose())
            assert await first(events) == "bye"
            answered.set()
        assert "done" in slow.result().text


async def test_a_page_that_takes_too_long_does_not_keep_the_process(
    cluster: Cluster, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "ENDING_SECONDS", 0.05)
    asked, never, cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def wait(_: PageRequest) -> Answer:
        asked.set()
        try:
            return Page("page.html", await _until(never), "Page")
        finally:
            cancelled.set()

    async with AsyncExitStack() as stack:
        routes = (Route("GET", "/slow", wait),)
        browser = await stack.enter_async_context(
            running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES)
        )
        await browser.log_in(tokens.anna)
        slow = asyncio.create_task(browser.get("/slow"))
        await _until(asked)
        await stack.aclose()
        assert cancelled.is_set()
        slow.cancel()
