"""Which messages tabs get and when, and how many may be open. What the console keeps for tabs that do not read stays small."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count, repeat

import pytest

from console.live import hub
from console.live.hub import CUT, LIVE, MAX_QUEUED, MAX_STREAMS, Hub, LivePage, Stream
from console.live.parts import ROOT, Part, Parts, state_of
from console.render import Rendered
from console.user_client import Reading, UserClient
from olmkit.errors import Unavailable

UPDATES = 25


def rendered(text: str) -> Rendered:
    """A page that consists of one part with a text."""
    parts = Parts()
    parts.put(Part.of(ROOT, "main", {}, text))
    digests = parts.digests()
    return Rendered(parts, digests, state_of(digests))


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


async def test_the_first_change_is_shown_at_once_and_those_that_follow_soon_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "WINDOW_SECONDS", 3600.0)
    pages = Pages()
    own = Hub(UserClient(is_anonymous=True), pages.render)
    page, stream = own.open("/operators", (), "")
    async with asyncio.timeout(20):
        await stream.take()
    for _ in range(UPDATES):
        page.mark(0.0)
        await asyncio.sleep(0)
    assert pages.made == 1
    own.end()


async def test_a_session_with_all_its_streams_has_room_for_another_when_one_of_them_ends() -> None:
    own = Hub(UserClient(is_anonymous=True), Pages().render)
    opened = [own.open(f"/page/{number}", (), "") for number in range(MAX_STREAMS)]
    waiting = asyncio.ensure_future(own.has_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    own.close(*opened[0])
    async with asyncio.timeout(20):
        assert await waiting
    own.end()


async def test_a_session_whose_streams_stay_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "ROOM_SECONDS", 0.01)
    own = Hub(UserClient(is_anonymous=True), Pages().render)
    for number in range(MAX_STREAMS):
        assert await own.has_room()
        own.open(f"/page/{number}", (), "")
    assert not await own.has_room()
    own.end()
