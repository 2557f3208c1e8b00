"""All that one session follows: informers with the user's own token, and the pages that are open, each rendered again when it may
differ.

A change marks the pages that watch its kind. A marked page is rendered once for all its tabs, at once unless it was rendered
within the last 50 ms, and each tab gets the parts that differ from those that it has. Informers are shared by the pages of the
session, and end half a minute after the last.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import orjson

from console import metrics
from console.live.kept_objects import name_alone, own, pack, shared
from console.live.parts import ROOT
from console.render import Rendered
from console.routes import Watch
from console.user_client import Reading
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer

WINDOW_SECONDS = 0.05
"""The time after a message in which all changes become the next one."""
MAX_WATCHES = 6
"""Watches that pages need."""
MAX_OPTIONAL_WATCHES = 20
"""Watches that pages are live without."""
MAX_STREAMS = 4
KEPT_SECONDS = 30.0
"""The time for which informers and pages without a stream are kept."""
WATCH_SECONDS = (30, 60)
"""The API server checks permissions when a watch is opened, so a user who has lost them gets nothing new after this time."""
SYNC_SECONDS = 5.0
"""A page is rendered at the latest this long after a stream was opened."""
STALE_SECONDS = 5.0
"""A page is said to be cut after this time without an open watch."""
UNWATCHED_SECONDS = 15.0
"""A page is rendered again after this time while the session has no watch for something that it shows."""
MAX_PAUSE_SECONDS = 1.0
MAX_QUEUED = 4
"""Messages for a slow tab. A tab that is further behind gets the whole page again."""
ROOM_SECONDS = 2.0
"""The time for which a new stream waits until another one of the session ends, if there are as many as there may be."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    """An event of a stream."""

    event: str
    data: object = None

    @cached_property
    def encoded(self) -> bytes:
        """The bytes on the wire, for all tabs that get the message. JSON has no line ends."""
        return b"event: " + self.event.encode() + b"\ndata: " + orjson.dumps(self.data) + b"\n\n"


LOGIN = Message("login")
"""The session is over."""
CUT = Message("cut")
"""The page is older than the cluster, until the next message."""
LIVE = Message("live")
"""The page is as the cluster is, after CUT."""
END = Message("bye")
"""The process ends: the tab opens another stream when it can."""
RELOAD = Message("reload")
"""The page cannot be rendered any more, or is another one: the browser loads it."""


@dataclass(eq=False)
class Stream:
    """The messages for one tab, in their order. `digests` are of the parts that the tab has, or will have."""

    digests: Mapping[str, bytes] = field(default_factory=dict)
    queue: list[Message] = field(default_factory=list)
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    is_cut: bool = False
    """True if the last message is CUT."""
    is_gone: bool = False
    """True if nobody reads the messages any more."""

    def put(self, message: Message) -> None:
        """Append a message, unless it is the last one already: a page that fails again and again says so once."""
        if not self.queue or self.queue[-1] != message:
            self.queue.append(message)
        self.is_cut = message == CUT
        self.filled.set()

    def forget_if_behind(self) -> None:
        """Drop what a tab that reads too slowly has not got: its next message is the whole page."""
        if len(self.queue) >= MAX_QUEUED:
            self.queue.clear()
            self.digests = {}

    def leave(self) -> None:
        """The tab is gone: take() says so."""
        self.is_gone = True
        self.filled.set()

    async def take(self) -> list[Message]:
        """Wait for messages, and take them. Raises ConnectionResetError once the tab is gone."""
        await self.filled.wait()
        if self.is_gone:
            raise ConnectionResetError("the client is gone")
        self.filled.clear()
        taken, self.queue = self.queue, []
        return taken


class _Followed:
    """An informer, and the pages that a change of its objects marks."""

    def __init__(self, client: Client, watch: Watch) -> None:
        self.informer = Informer(
            client,
            watch.kind,
            namespace=watch.namespace,
            label_selector=watch.label_selector,
            field_selector=watch.field_selector or (f"metadata.name={watch.name}" if watch.name else None),
            metadata_only=watch.is_signal,
            transform=name_alone if watch.is_signal else pack,
            absent_is_empty=True,
            watch_seconds=WATCH_SECONDS,
        )
        self.is_optional = watch.is_optional
        self.pages: set[LivePage] = set()
        self.task = asyncio.create_task(self.informer.run(), name=f"console informer {watch.kind.plural}")
        self.informer.subscribe(self._mark)
        self._was_fresh = False
        if watch.is_optional:
            self.informer.on_freshness(self._mark_first)
        metrics.WATCHES.inc()

    def _mark_first(self) -> None:
        """A page is rendered before it follows what it does without, so it may lack what happened between."""
        if not self._was_fresh:
            self._was_fresh = True
            self._mark()

    def _mark(self, _: Change | None = None) -> None:
        now = time.monotonic()
        for page in self.pages:
            page.mark(now)

    def end(self) -> None:
        """Stop to watch."""
        self.task.cancel()
        metrics.WATCHES.dec()


class Hub:
    """The informers and open pages of one session. `render` renders a page of it, from `reading` where that knows the objects."""

    def __init__(self, client: Client, render: Callable[[str, Reading], Awaitable[Rendered]]) -> None:
        self._client = client
        self._render = render
        self._followed: dict[Watch, _Followed] = {}
        self._pages: dict[str, LivePage] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.streams = 0
        self._freed = asyncio.Event()
        """Set when a stream ends."""

    async def has_room(self) -> bool:
        """Report whether the session may have one more stream. A tab that shows another page now has closed its own, which may be
        noticed a moment later."""
        try:
            async with asyncio.timeout(ROOM_SECONDS):
                while self.streams >= MAX_STREAMS:
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            return False
        return True

    def open(self, url: str, watches: Iterable[Watch], seen: str) -> tuple[LivePage, Stream]:
        """A stream of a page, which close() ends. `seen` is the state of the page that the tab has: see Rendered."""
        self.streams += 1
        page = self._pages.get(url)
        if page is None:
            page = self._pages[url] = LivePage(url, self)
            self._start(page.run())
        stream = Stream()
        page.streams.add(stream)
        page.follow([followed for watch in watches if (followed := self._follow(watch, page)) is not None])
        page.greet(stream, seen)
        return page, stream

    def close(self, page: LivePage, stream: Stream) -> None:
        """The tab is gone."""
        self.streams -= 1
        self._freed.set()
        page.leave(stream)
        if not page.streams:
            page.unused_since = time.monotonic()
            self._start(self._collect_later())

    def end(self, message: Message = LOGIN) -> None:
        """End all streams with a message: LOGIN, because the session is over, or END."""
        for page in self._pages.values():
            for stream in page.streams:
                stream.put(message)
        for task in self._tasks:
            task.cancel()
        for each in self._followed.values():
            each.end()
        self._followed.clear()
        self._pages.clear()

    async def render(self, url: str) -> Rendered:
        """The page as it is now. Raises what its handler raises."""
        return await self._render(url, self.reading)

    def follow_also(self, page: LivePage, watches: Iterable[Watch]) -> bool:
        """Follow what a page has named while it was rendered, and no longer what it named before. Returns whether there was room
        for all of it."""
        wanted = tuple(watches)
        if page.keep({self._followed[watch] for watch in wanted if watch in self._followed}):
            self._collect(time.monotonic())
        found = [self._follow(watch, page) for watch in wanted]
        page.also = {followed for followed in found if followed is not None}
        return None not in found

    def reading(
        self, kind: Kind, namespace: str | None, name: str | None, label_selector: str | None
    ) -> list[Object] | None:
        """The objects that a request would list or get, if an informer has them and is not stale; else None."""
        for watch, followed in self._followed.items():
            if (
                watch.kind != kind
                or watch.label_selector != label_selector
                or followed.informer.stale
                or watch.is_signal
            ):
                continue
            if watch.namespace in (None, namespace) and watch.name in (None, name):
                return _selected(followed.informer, namespace, name)
        return None

    def _follow(self, watch: Watch, page: LivePage) -> _Followed | None:
        """The informer of a watch, which wakes the page; None if the session has as many as it may have."""
        found = self._followed.get(watch)
        if found is None:
            if not self._has_room(watch):
                self._collect(float("inf"))
            if not self._has_room(watch):
                return None
            found = self._followed[watch] = _Followed(self._client, watch)
        found.pages.add(page)
        return found

    def _has_room(self, watch: Watch) -> bool:
        """Report whether the session may have one more watch of this sort."""
        limit = MAX_OPTIONAL_WATCHES if watch.is_optional else MAX_WATCHES
        return sum(each.is_optional == watch.is_optional for each in self._followed) < limit

    async def _collect_later(self) -> None:
        await asyncio.sleep(KEPT_SECONDS)
        self._collect(time.monotonic())

    def _collect(self, now: float) -> None:
        """End the pages that nobody has had open for a while, and the informers that no page is left for."""
        for url, page in list(self._pages.items()):
            if not page.streams and page.unused_since is not None and now - page.unused_since >= KEPT_SECONDS:
                page.end()
                del self._pages[url]
        for watch, followed in list(self._followed.items()):
            followed.pages &= set(self._pages.values())
            if not followed.pages:
                followed.end()
                del self._followed[watch]

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _selected(informer: Informer, namespace: str | None, name: str | None) -> list[Object]:
    """The one of that name, which the caller owns, or all of a namespace, which other callers have too."""
    if name is not None:
        found = informer.get(name, namespace or "")
        return [] if found is None else [own(found)]
    kept = informer.objects
    return [shared(kept[key]) for key in sorted(kept) if namespace is None or key[0] == namespace]


class LivePage:
    """One page of a session, with the tabs that show it."""

    def __init__(self, url: str, hub: Hub) -> None:
        self.url = url
        self.streams: set[Stream] = set()
        self.unused_since: float | None = None
        self.also: set[_Followed] = set()
        """The informers of what the page has named while it was rendered."""
        self._hub = hub
        self._followed: list[_Followed] = []
        self._marked = asyncio.Event()
        self._marked_at = 0.0
        self._new: dict[Stream, str] = {}
        """The streams that have no message yet, with the state that their tabs have."""
        self._again: asyncio.TimerHandle | None = None
        """Marks the page when something that it waits for may be there."""
        self._is_over = False
        self._is_cut = False
        self._stale_since: float | None = None

    def follow(self, followed: list[_Followed]) -> None:
        """These informers wake the page."""
        self._followed = followed

    def keep(self, followed: set[_Followed]) -> bool:
        """Of `also`, only these informers wake the page from here on. Returns whether there were others."""
        left = self.also - followed
        for each in left.difference(self._followed):
            each.pages.discard(self)
        return bool(left)

    @property
    def _required(self) -> list[_Followed]:
        """The informers without which the page is not live."""
        return [each for each in self._followed if not each.is_optional]

    def mark(self, at: float) -> None:
        """The page may differ since this time."""
        if not self._marked.is_set():
            self._marked_at = at
            self._marked.set()

    def greet(self, stream: Stream, seen: str) -> None:
        """The stream gets a first message: that its tab is up to date, or the whole page."""
        self._new[stream] = seen
        self.mark(time.monotonic())

    def leave(self, stream: Stream) -> None:
        """The tab of the stream is gone."""
        self.streams.discard(stream)
        self._new.pop(stream, None)

    def end(self) -> None:
        """Nobody shows the page any more."""
        self._is_over = True
        self._marked.set()

    async def run(self) -> None:
        """Render the page after each change, until end()."""
        checking = asyncio.create_task(self._check_freshness())
        try:
            await self._sync()
            due = 0.0
            while not self._is_over:
                await self._marked.wait()
                await asyncio.sleep(due - time.monotonic())
                self._marked.clear()
                if not self.streams:
                    continue
                began = time.monotonic()
                await self._update(self._marked_at)
                ended = time.monotonic()
                due = ended + (
                    MAX_PAUSE_SECONDS if self.also else max(WINDOW_SECONDS, min(ended - began, MAX_PAUSE_SECONDS))
                )
        finally:
            checking.cancel()
            self._come_back(0)

    async def _sync(self) -> None:
        """Wait for the objects, for a while: a page that is rendered without them asks the API server itself."""
        try:
            async with asyncio.timeout(SYNC_SECONDS):
                for each in self._required:
                    await each.informer.fresh.wait()
        except TimeoutError:
            pass

    async def _update(self, since: float) -> None:
        try:
            rendered = await self._hub.render(self.url)
        except NotFound:
            self._send_all(RELOAD)
        except ApiError as error:
            if error.status == 401:
                self._send_all(LOGIN)
            elif error.status == 403:
                self._send_all(RELOAD)
            # Else the API server is away: the tabs keep what they show.
        except Exception:
            log.exception("a live page cannot be rendered", extra={"path": self.url.partition("?")[0][:200]})
            self._send_all(CUT)
        else:
            self._publish(rendered)
            is_followed = self._hub.follow_also(self, rendered.watches)
            self._come_back(rendered.again_seconds or (0.0 if is_followed else UNWATCHED_SECONDS))
            metrics.UPDATE_SECONDS.observe(time.monotonic() - since)

    def _come_back(self, seconds: float) -> None:
        """Render the page again after a while, 0 for not at all: it waits for something that no watch tells of."""
        if self._again is not None:
            self._again.cancel()
        loop = asyncio.get_running_loop()
        self._again = loop.call_later(seconds, lambda: self.mark(time.monotonic())) if seconds else None

    def _publish(self, rendered: Rendered) -> None:
        """Each tab gets what it lacks. Tabs that have the same get the same message."""
        made: dict[int, Message | None] = {}
        for stream in list(self.streams):
            stream.forget_if_behind()
            if self._new.pop(stream, None) == rendered.state:
                message: Message | None = Message("hello", {"state": rendered.state})
            else:
                key = id(stream.digests) if stream.digests else 0
                if key not in made:
                    made[key] = _difference(rendered, stream.digests)
                message = made[key]
            stream.digests = rendered.digests
            if message is not None:
                stream.put(message)
            elif stream.is_cut and not self._is_cut:
                stream.put(LIVE)

    def _send_all(self, message: Message) -> None:
        for stream in self.streams:
            stream.put(message)

    async def _check_freshness(self) -> None:
        """Say that the page is cut when a watch has not been open for a while, and that it is live again."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            if not any(each.informer.stale for each in self._required):
                self._stale_since = None
            elif self._stale_since is None:
                self._stale_since = now
            is_cut = self._stale_since is not None and now - self._stale_since >= STALE_SECONDS
            if is_cut is not self._is_cut:
                self._is_cut = is_cut
                self._send_all(CUT if is_cut else LIVE)
                self.mark(now)


def _difference(rendered: Rendered, before: Mapping[str, bytes]) -> Message | None:
    """The parts that differ from those before; None if there are none."""
    changed = rendered.parts.changed(before, rendered.digests) if before else [(ROOT, rendered.parts.whole_part(ROOT))]
    if not changed:
        return None
    return Message("parts", {"parts": [{"id": each, "html": html} for each, html in changed], "state": rendered.state})
