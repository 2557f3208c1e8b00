"""From a change on the real API server to the part of a page that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console.live import hub
from console.page import Answer, Page, PageRequest
from console.routes import Route, Watch
from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from tests.cluster import proxy
from tests.cluster.console.conftest import Accounts
from tests.cluster.olmkit.conftest import CONFIG_MAP, config_map
from tests.console import Browser, running_console, state_in

ROWS = 40
TEMPLATES = {
    "maps.html": """{% extends "base.html" %}{% block main %}<h1>Maps</h1><table>
{% call part("rows", "tbody") %}{% for name, text in value %}
{% call part("row-" ~ name, "tr") %}<td>{{ name }}</td><td>{{ text }}</td>{% endcall %}
{% endfor %}{% endcall %}</table>{% endblock %}"""
}


async def show(request: PageRequest) -> Answer:
    """The ConfigMaps of a namespace with a label."""
    found, _ = await request.session.client.list(CONFIG_MAP, request.namespace, "test=runtime")
    rows = [(each["metadata"]["name"], each.get("data", {}).get("text", "")) for each in found]
    return Page("maps.html", tuple(sorted(rows)), "Maps")


def watched(request: PageRequest) -> tuple[Watch, ...]:
    return (Watch(CONFIG_MAP, request.namespace, label_selector="test=runtime"),)


ROUTES = (Route("GET", "/maps", show, watched),)
Events = AsyncIterator[tuple[str, Any]]


@pytest.fixture
async def maps(client: Client, accounts: Accounts) -> None:
    """The objects of the page."""
    names = (f"m{number:03}" for number in range(ROWS))
    await asyncio.gather(
        *(client.create(CONFIG_MAP, config_map(accounts.namespace, name, text="first")) for name in names)
    )


async def following(events: Events, wanted: str) -> Any:
    """The data of the next event of that name."""
    async with asyncio.timeout(20):
        async for name, data in events:
            if name == wanted:
                return data
    pytest.fail(f"the stream ended before {wanted}")


async def opened(browser: Browser, accounts: Accounts) -> tuple[str, str]:
    """A session of the team; the path of the page, and its state."""
    await browser.log_in(accounts.team)
    path = f"/maps?ns={accounts.namespace}"
    return path, state_in((await browser.get(path)).text)


@pytest.mark.usefixtures("maps")
async def test_one_change_sends_one_row(cluster: Cluster, client: Client, accounts: Accounts) -> None:
    async with running_console(str(cluster.kubeconfig), routes=ROUTES, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events:
            assert await following(events, "hello") == {"state": state}
            await client.patch(CONFIG_MAP, "m007", {"data": {"text": "<b>second"}}, accounts.namespace)
            changed = await following(events, "parts")
            assert changed["parts"] == [
                {"id": "row-m007", "html": '<tr id="row-m007"><td>m007</td><td>&lt;b&gt;second</td></tr>'}
            ]
            assert changed["state"] != state
            await client.delete(CONFIG_MAP, "m008", accounts.namespace)
            (rows,) = (await following(events, "parts"))["parts"]
    assert rows["id"] == "rows"
    assert rows["html"].count("<tr") == ROWS - 1


@pytest.mark.usefixtures("maps")
async def test_a_tab_with_an_old_page_gets_the_whole_page_first(cluster: Cluster, accounts: Accounts) -> None:
    async with running_console(str(cluster.kubeconfig), routes=ROUTES, templates=TEMPLATES) as browser:
        path, _ = await opened(browser, accounts)
        async with browser.live(path, "0" * 18) as events:
            (whole,) = (await following(events, "parts"))["parts"]
    assert whole["id"] == "content"
    assert whole["html"].count("<tr") == ROWS


@pytest.mark.usefixtures("maps")
async def test_a_page_that_is_cut_says_so_and_comes_back_with_what_was_missed(
    cluster: Cluster, client: Client, accounts: Accounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "STALE_SECONDS", 0.5)
    async with (
        proxy.run(cluster.kubeconfig, tmp_path) as between,
        running_console(str(between.kubeconfig), routes=ROUTES, templates=TEMPLATES) as browser,
    ):
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events:
            await following(events, "hello")
            between.close()
            between.cut()
            assert await following(events, "cut") is None
            await client.patch(CONFIG_MAP, "m003", {"data": {"text": "missed"}}, accounts.namespace)
            await between.open()
            changed = await following(events, "parts")
    assert "missed" in str(changed["parts"])


async def test_a_user_without_the_right_gets_nothing_live(cluster: Cluster, accounts: Accounts) -> None:
    async with running_console(str(cluster.kubeconfig), routes=ROUTES, templates=TEMPLATES) as browser:
        await browser.log_in(accounts.nobody)
        async with browser.live(f"/maps?ns={accounts.namespace}") as events:
            assert await following(events, "reload") is None


@pytest.mark.usefixtures("maps")
async def test_a_page_is_live_as_to_what_its_user_may_follow(
    cluster: Cluster, client: Client, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting for the watch that is refused, which would not say that the page is cut."""
    monkeypatch.setattr(hub, "SYNC_SECONDS", 3600.0)
    monkeypatch.setattr(hub, "STALE_SECONDS", 0.0)

    def of_two_namespaces(request: PageRequest) -> tuple[Watch, ...]:
        return (*watched(request), Watch(CONFIG_MAP, "kube-system"))

    routes = (Route("GET", "/maps", show, of_two_namespaces),)
    async with running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events, asyncio.timeout(20):
            assert (await anext(events))[0] == "hello"
            await client.patch(CONFIG_MAP, "m007", {"data": {"text": "second"}}, accounts.namespace)
            name, data = await anext(events)
    assert name == "parts"
    assert "second" in str(data)


@pytest.mark.usefixtures("maps")
async def test_a_page_that_is_open_ends_when_the_right_to_see_it_is_taken_away(
    cluster: Cluster, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server does not end a watch of somebody who may not watch any more."""
    monkeypatch.setattr(hub, "WATCH_SECONDS", (1, 1))
    monkeypatch.setattr(hub, "STALE_SECONDS", 0.2)
    async with running_console(str(cluster.kubeconfig), routes=ROUTES, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events, asyncio.timeout(30):
            await following(events, "hello")
            cluster.kubectl("delete", "rolebinding/team", f"--namespace={accounts.namespace}")
            assert await following(events, "reload") is None
            (opened_hub,) = browser.console._hubs.values()
            assert all(each.informer.stale for each in opened_hub._followed.values())


@pytest.mark.usefixtures("maps")
async def test_a_watch_that_only_wakes_a_page_keeps_no_content(
    cluster: Cluster, client: Client, accounts: Accounts
) -> None:
    """However large the objects are, a tab that follows all instances of a kind costs their names."""

    def signals(request: PageRequest) -> tuple[Watch, ...]:
        return (Watch(CONFIG_MAP, request.namespace, label_selector="test=runtime", is_signal=True),)

    routes = (Route("GET", "/maps", show, signals),)
    async with running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events:
            await following(events, "hello")
            await client.patch(CONFIG_MAP, "m007", {"data": {"text": "second"}}, accounts.namespace)
            assert "second" in str((await following(events, "parts"))["parts"])
            (opened_hub,) = browser.console._hubs.values()
            (followed,) = opened_hub._followed.values()
            kept = followed.informer.objects
    assert len(kept) == ROWS
    assert {key for each in kept.values() for key in each} == {"metadata"}
    assert {key for each in kept.values() for key in each["metadata"]} == {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
    }


@pytest.mark.usefixtures("maps")
async def test_a_page_is_live_without_what_a_user_may_not_watch(
    cluster: Cluster, client: Client, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "STALE_SECONDS", 0.2)

    def watches(request: PageRequest) -> tuple[Watch, ...]:
        return *watched(request), Watch(CONFIG_MAP, "kube-system", is_signal=True, is_optional=True)

    routes = (Route("GET", "/maps", show, watches),)
    async with running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events:
            await following(events, "hello")
            (opened_hub,) = browser.console._hubs.values()
            (page,) = opened_hub._pages.values()
            await asyncio.sleep(2.5)  # two looks at the freshness of the page
            await client.patch(CONFIG_MAP, "m007", {"data": {"text": "second"}}, accounts.namespace)
            async with asyncio.timeout(20):
                name, _ = await anext(events)
    assert (name, page._is_cut) == ("parts", False)


def selected(request: PageRequest, names: Iterable[str]) -> tuple[Watch, ...]:
    """Watches without which a page is live, of objects by their names."""
    return tuple(
        Watch(CONFIG_MAP, request.namespace, field_selector=f"metadata.name={each}", is_signal=True, is_optional=True)
        for each in names
    )


@pytest.mark.usefixtures("maps")
async def test_selected_objects_wake_a_page_and_leave_room_for_those_that_another_needs(
    cluster: Cluster, client: Client, accounts: Accounts
) -> None:
    def some(request: PageRequest) -> tuple[Watch, ...]:
        return selected(request, (f"m{number:03}" for number in range(hub.MAX_OPTIONAL_WATCHES)))

    routes = (Route("GET", "/maps", show, watched), Route("GET", "/some", show, some))
    async with running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        other = path.replace("/maps", "/some")
        async with browser.live(other, state_in((await browser.get(other)).text)) as events:
            await following(events, "hello")
            await client.patch(CONFIG_MAP, "m005", {"data": {"text": "second"}}, accounts.namespace)
            assert "second" in str((await following(events, "parts"))["parts"])
            async with browser.live(path, state) as others:
                await following(others, "parts")
                await client.patch(CONFIG_MAP, "m039", {"data": {"text": "third"}}, accounts.namespace)
                assert "third" in str((await following(others, "parts"))["parts"])


@pytest.mark.usefixtures("maps")
async def test_a_page_follows_what_it_shows_and_is_read_again_where_the_session_has_no_room(
    cluster: Cluster, client: Client, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MAX_OPTIONAL_WATCHES", 2)
    monkeypatch.setattr(hub, "UNWATCHED_SECONDS", 0.5)
    names = ["m000", "m001"]

    async def naming(request: PageRequest) -> Answer:
        page = await show(request)
        assert isinstance(page, Page)
        return replace(page, watches=selected(request, names))

    def absent(request: PageRequest) -> tuple[Watch, ...]:
        return (Watch(CONFIG_MAP, request.namespace, name="absent"),)

    async def seen_after(name: str, text: str) -> bool:
        await client.patch(CONFIG_MAP, name, {"data": {"text": text}}, accounts.namespace)
        return text in str((await following(events, "parts"))["parts"])

    def followed() -> set[str | None]:
        (own,) = browser.console._hubs.values()
        return {watch.field_selector for watch in own._followed if watch.is_optional}

    routes = (Route("GET", "/maps", naming, absent),)
    async with running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events:
            await following(events, "hello")
            assert await seen_after("m001", "a watched change")
            names[:] = ["m000", "m001", "m002"]
            assert await seen_after("m000", "another one")
            assert await seen_after("m002", "a change without a watch")
            assert followed() == {"metadata.name=m000", "metadata.name=m001"}
            names[:] = ["m002"]
            assert await seen_after("m001", "the last one of it")
            assert await seen_after("m002", "a change with a watch")
            assert followed() == {"metadata.name=m002"}


async def test_a_page_that_waits_is_rendered_again_without_a_change(cluster: Cluster, accounts: Accounts) -> None:
    rendered: list[str] = []

    async def waiting(request: PageRequest) -> Answer:
        rendered.append("x")
        is_there = len(rendered) > 3
        value = (("m", "there" if is_there else "not yet"),)
        return Page("maps.html", value, "Maps", again_seconds=0.0 if is_there else 0.1)

    routes = (Route("GET", "/maps", waiting, watched),)
    async with running_console(str(cluster.kubeconfig), routes=routes, templates=TEMPLATES) as browser:
        path, state = await opened(browser, accounts)
        async with browser.live(path, state) as events:
            await following(events, "hello")
            assert "there" in str((await following(events, "parts"))["parts"])
            await asyncio.sleep(0.5)
    assert len(rendered) == 4
