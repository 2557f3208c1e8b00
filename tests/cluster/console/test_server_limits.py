"""Limits of what all sessions, and each of them, may have open."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from console import metrics
from console.live.hub import MAX_WATCHES
from console.login import AuthMode
from console.page import Answer, Page, PageRequest
from console.routes import Route, Watch
from console.users import MAX_SESSIONS
from devcluster.cluster import Cluster
from tests.cluster.console.conftest import HOME
from tests.cluster.olmkit.conftest import CONFIG_MAP
from tests.console import Browser, running_console


async def _another(browser: Browser) -> Browser:
    """Another browser with a session at the same console."""
    made = Browser(browser.http, browser.origin, browser.console)
    await made.get(f"/login/{browser.console.logins.links.make()}")
    assert (await made.get("/suite")).status == 200
    return made


async def test_the_session_that_was_not_used_for_longest_gives_way_and_its_cookie_opens_it_again(
    cluster: Cluster,
) -> None:
    async with running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG, **HOME) as first:
        for _ in range(MAX_SESSIONS + 5):
            await _another(first)
        assert len(first.console.users) == MAX_SESSIONS
        assert (await first.get("/suite")).status == 200
        assert len(first.console.users) == MAX_SESSIONS


async def test_nobody_is_let_in_while_all_sessions_follow_pages_and_none_of_them_ends(cluster: Cluster) -> None:
    async with running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG, **HOME) as first:
        for _ in range(MAX_SESSIONS):
            await _another(first)
        for session in first.console.users._sessions.values():
            session.streams += 1
        late = Browser(first.http, first.origin, first.console)
        await late.get(f"/login/{first.console.logins.links.make()}")
        answer = await late.get("/suite")
        assert answer.status == 503
        assert "sessions" in answer.text
        assert len(first.console.users) == MAX_SESSIONS
        next(iter(first.console.users._sessions.values())).streams = 0
        assert (await late.get("/suite")).status == 200


async def _show(request: PageRequest) -> Answer:
    found, _ = await request.session.client.list(CONFIG_MAP, "default", "number=9")
    return Page("page.html", len(found), "Page")


def _watched(request: PageRequest) -> tuple[Watch, ...]:
    """Four watches, from the number on that the page asks for."""
    first = int(request.query.one("first"))
    return tuple(Watch(CONFIG_MAP, "default", label_selector=f"number={each}") for each in range(first, first + 4))


PAGES: dict[str, Any] = {
    "routes": (Route("GET", "/page", _show, _watched),),
    "templates": {"page.html": '{% extends "base.html" %}{% block main %}{{ value }}{% endblock %}'},
}


async def test_a_session_has_six_watches_and_pages_that_get_none_are_shown(cluster: Cluster) -> None:
    before = metrics.WATCHES._value.get()
    async with (
        running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG, **PAGES) as browser,
        asyncio.timeout(30),
        browser.live("/page?first=0") as one,
        browser.live("/page?first=4") as other,
    ):
        assert (await anext(one))[0] == "parts"
        assert (await anext(other))[0] == "parts"
        assert metrics.WATCHES._value.get() - before == MAX_WATCHES
    assert metrics.WATCHES._value.get() == before


async def test_pages_that_are_opened_after_others_were_closed_follow_the_cluster(cluster: Cluster) -> None:
    nine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nine", "labels": {"number": "9"}}}
    changes = (("apply", "-f", "-"), ("delete", "-f", "-"))
    async with (
        running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG, **PAGES) as browser,
        asyncio.timeout(60),
        browser.live("/page?first=0") as one,
    ):
        assert (await anext(one))[0] == "parts"
        (own,) = browser.console._hubs.values()
        for path, change in (("first=8", None), ("first=8", changes[0]), ("first=9", changes[1])):
            async with browser.live(f"/page?{path}") as events:
                assert (await anext(events))[0] == "parts"
                if change is not None:
                    await asyncio.to_thread(cluster.kubectl, *change, input=json.dumps(nine))
                    assert (await anext(events))[0] == "parts"
            while own.streams > 1:  # noqa: ASYNC110 a stream ends without a word
                await asyncio.sleep(0.02)
