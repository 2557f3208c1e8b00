"""Tabs that do not read: what the console keeps for them stays small, however often the page changes."""

from __future__ import annotations

import asyncio
import copy
import sys
from collections.abc import Callable, Iterator
from itertools import count, repeat

import orjson
import pytest

from console.live import hub
from console.live.hub import CUT, LIVE, MAX_QUEUED, Hub, LivePage, Stream
from console.live.parts import ROOT, Parts, state_of
from console.render import Rendered
from console.user_client import Reading, UserClient
from olmkit.errors import Unavailable

UPDATES = 25


def rendered(text: str) -> Rendered:
    """A page that consists of one part with a text."""
    parts = Parts()
    parts.add(ROOT, "main", {}, text)
    digests = parts.digests()
    return Rendered(text, parts, digests, state_of(digests))


class Pages:
    """A page that is another one each time, or that cannot be rendered; `made` counts."""

    def __init__(self, error: Callable[[], Exception] | None = None) -> None:
        self._numbers: Iterator[int] = count(1)
        self.error, self.made = error, 0
        self.rendered = asyncio.Event()

    def number_stays(self) -> None:
        """The page is the same from here on."""
        self._numbers = repeat(self.made)

    async def render(self, url: str, reading: Reading) -> Rendered:
        self.made = next(self._numbers)
        self.rendered.set()
        if self.error is not None:
            raise self.error()
        return rendered(f"version {self.made}")


async def opened(pages: Pages) -> tuple[LivePage, Stream, Hub]:
    """A tab that has the page open, which was rendered many times meanwhile."""
    own = Hub(UserClient(is_anonymous=True), pages.render)
    page, stream = own.open("/operators", (), "")
    for _ in range(UPDATES):
        page.mark(0.0)
        await pages.rendered.wait()
        pages.rendered.clear()
    await asyncio.sleep(0)
    return page, stream, own


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pauses between two renderings."""
    monkeypatch.setattr(hub, "WINDOW_SECONDS", 0.0)
    monkeypatch.setattr(hub, "MAX_PAUSE_SECONDS", 0.0)


async def test_a_tab_that_is_behind_gets_the_whole_page_of_the_last_state() -> None:
    pages = Pages()
    _, stream, own = await opened(pages)
    assert (pages.made, len(stream.queue) <= MAX_QUEUED) == (UPDATES, True)
    last = (await stream.take())[-1]
    assert f"version {UPDATES}" in str(last.data)
    own.end()


@pytest.mark.parametrize(
    ("error", "kept"),
    [(ValueError, [CUT]), (lambda: Unavailable(503, "Away", "the API server is away"), [])],
    ids=["a page that fails", "an API server that is away"],
)
async def test_a_page_that_cannot_be_rendered_says_so_once(error: Callable[[], Exception], kept: list[object]) -> None:
    _, stream, own = await opened(Pages(error))
    assert stream.queue == kept
    own.end()


async def test_a_page_that_can_be_rendered_again_is_live_although_nothing_has_changed() -> None:
    pages = Pages()
    page, stream, own = await opened(pages)
    cases: tuple[tuple[Callable[[], Exception] | None, object], ...] = ((ValueError, CUT), (None, LIVE))
    for error, said in cases:
        await stream.take()
        pages.error = error
        pages.number_stays()
        page.mark(0.0)
        await stream.filled.wait()
        assert stream.queue == [said]
    own.end()


def test_sessions_that_have_received_the_same_keep_it_once_and_no_longer_than_they_need_it() -> None:
    obj = {"metadata": {"name": "a", "managedFields": ["x" * 500]}, "spec": {"text": "y" * 600}}
    one, two = (hub.pack(copy.deepcopy(obj))[hub.PACKED] for _ in range(2))
    other = hub.pack({**obj, "spec": {"text": "z" * 600}})[hub.PACKED]
    assert one is two
    assert orjson.loads(one.raw) == {"metadata": {"name": "a"}, "spec": {"text": "y" * 600}}
    assert orjson.loads(other.raw)["spec"] == {"text": "z" * 600}
    assert sys.getsizeof(one.raw) < 700
    before = len(hub._shared)
    del one, two
    assert len(hub._shared) == before - 1
