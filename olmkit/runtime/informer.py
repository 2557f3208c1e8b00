"""All objects of one kind, kept up to date by list and watch, and a stream of what changed.

Made by olmkit.runtime.manager (one per kind and selector), read by reconcilers, subscribed to by controllers. run() recovers from
all failures of the network and the API server: a watch that is cut resumes from the last version that it received; if that
version is too old (410), or the cut lasted long, it lists again, and objects that are missing in the list count as deleted; while
the API server does not answer, the objects are kept and the informer is stale. Decisions are made from informers that are not
stale: olmkit.runtime.freshness. Never writes.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from types import MappingProxyType

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Gone, NotFound
from olmkit.runtime.backoff import Backoff, retry_delay
from olmkit.runtime.client import PAGE_SIZE, Client
from olmkit.runtime.informer_store import Change, InformerStore, ObjectName

__all__ = ["Change", "Informer"]

WATCH_BACKOFF = Backoff(first=0.1, cap=10.0)
ABSENT_KIND_RECHECK_SECONDS = 30.0
"""The time between two checks for a kind that is not served."""
WATCH_TIMEOUT_RANGE_SECONDS = (300, 600)
"""The server ends a watch after a time in this range, so that a missed event is corrected and load is spread."""
TRANSFORMED_PAGE_SIZE = 100
"""Objects per page of a list with `transform`: such objects are large."""
STABLE_WATCH_SECONDS = 5.0
"""A watch that lasted this long counts as successful even if it received nothing."""
MAX_RESUMED_CUT_SECONDS = 5.0
"""After a longer cut the objects are listed again. A watch that resumes is open before the events of the cut have been received,
and nothing tells when they have; those of a short cut make the objects no older than any watch does."""

METHOD_NOT_ALLOWED = 405
_IDENTITY = ("name", "namespace", "uid", "resourceVersion")

log = logging.getLogger(__name__)
Handler = Callable[[Change], None]


def without_managed_fields(obj: Object) -> Object:
    """A `transform`: the object without metadata.managedFields, which is often half of it."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


class Informer:
    """One kind, in one namespace or all, selected by label or field or not. `transform` trims the objects that are kept; what
    identifies them always remains.

    `absent_is_empty`: a kind that is not served counts as synced and empty, and is checked for every 30 s; without it the
    informer waits for the kind and is not synced.

    `watch_seconds`: the server ends a watch after a time in this range, and decides anew who may open the next one.

    `synced` is set once the objects have been listed, and stays set. `fresh` is set while the informer is not stale: a list that
    began after the last relist() is complete, and the watch that follows it is open. A list is read from etcd, not from a cache
    of the API server.
    """

    def __init__(  # noqa: PLR0913 selectors and options of one kind
        self,
        client: Client,
        kind: Kind,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        metadata_only: bool = False,
        transform: Callable[[Object], Object] | None = None,
        absent_is_empty: bool = False,
        watch_seconds: tuple[int, int] = WATCH_TIMEOUT_RANGE_SECONDS,
    ) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self.fresh = asyncio.Event()
        self._client = client
        self._namespace = namespace
        self._selector = label_selector
        self._field_selector = field_selector
        self._metadata_only = metadata_only
        self._absent_is_empty = absent_is_empty
        self._watch_seconds = watch_seconds
        self._transform = transform
        self._store = InformerStore()
        self._handlers: list[Handler] = []
        self._freshness_handlers: list[Callable[[], None]] = []
        self._work: asyncio.Task[None] | None = None
        """Lists and watches; replaced by relist()."""
        self._current_at = 0.0
        """The time when the last list ended or the watch was cut, by the clock of the event loop; unused while the watch is
        open."""
        self._resume_version = ""
        """The version at which the watch resumes; "" when a list is due."""
        self._newest_version = ""
        """The newest version that was listed or watched, kept when a list is due."""
        self._failures = 0
        self._is_failing = False
        self.is_running = False
        """True while run() runs."""

    @property
    def stale(self) -> bool:
        """True if the objects may be older than those of an open watch: `fresh` is not set."""
        return not self.fresh.is_set()

    @property
    def objects(self) -> Mapping[ObjectName, Object]:
        """All known objects by (namespace, name), as a read-only view."""
        return MappingProxyType(self._store.objects)

    def get(self, name: str, namespace: str = "") -> Object | None:
        """The object in its last known state; None if there is none."""
        return self._store.objects.get((namespace, name))

    def subscribe(self, handler: Handler) -> None:
        """Call `handler` for each change, and at once for each known object. It must return quickly and must not raise."""
        self._handlers.append(handler)
        for obj in list(self._store.objects.values()):
            handler(Change(None, obj))

    def unsubscribe(self, handler: Handler) -> None:
        """Stop calling `handler`."""
        self._handlers.remove(handler)

    def on_freshness(self, handler: Callable[[], None]) -> None:
        """Call `handler` each time the informer becomes stale or fresh. It must return quickly and must not raise."""
        self._freshness_handlers.append(handler)

    def relist(self) -> None:
        """List again, with a request that begins after this call; the informer is stale until then, and the objects are kept."""
        self._resume_version = ""
        self._set_fresh(False)
        if self._work is not None:
            self._work.cancel()

    def add_index(self, name: str, keys: Callable[[Object], Iterable[str]]) -> None:
        """Index the objects by the keys that `keys` returns for them."""
        self._store.add_index(name, keys)

    def by_index(self, name: str, key: str) -> list[Object]:
        """The objects with `key` in index `name`, sorted by namespace and name."""
        return self._store.by_index(name, key)

    def record_write(self, obj: Object) -> None:
        """Store the response to a write of this process at once, unless a newer version is known."""
        self._notify(self._store.record_write(self._trim(obj)))

    def record_deletion(self, name: str, uid: str, namespace: str = "") -> None:
        """Store at once that this process deleted an object, which no longer exists (see Client.delete)."""
        self._notify(self._store.record_deletion((namespace, name), uid))

    async def run(self) -> None:
        """List and watch until cancelled. May be called again after it has ended."""
        self.is_running = True
        try:
            await self._run()
        finally:
            self.is_running = False

    async def _run(self) -> None:
        while True:
            work = self._work = asyncio.create_task(self._list_and_watch(), name=f"list and watch {self.kind.plural}")
            try:
                await asyncio.wait({work})
            finally:
                self._work = None
                work.cancel()
                await asyncio.wait({work})
            if not work.cancelled():  # relist() cancels it
                work.result()

    async def _list_and_watch(self) -> None:
        while True:
            try:
                if not self._resume_version or self._is_cut_long():
                    await self._list()
                await self._watch()
            except Gone:
                self._resume_version = ""
                await self._pause()
            except NotFound as error:
                self._resume_version = ""
                await self._absent(error)
            except ApiError as error:
                if error.status == METHOD_NOT_ALLOWED:  # an aggregated API without watch: list periodically
                    self._resume_version = ""
                    self._set_fresh(True)
                self._failed(error)
                await self._pause(error)
            else:
                await self._pause()

    async def _list(self) -> None:
        objects, version = await self._read_all()
        rewound = self._newest_version.isdecimal() and version.isdecimal() and int(version) < int(self._newest_version)
        for change in self._store.replace(objects, version, rewound=rewound):
            self._notify(change)
        self._resume_version = self._newest_version = version
        self._current_at = asyncio.get_running_loop().time()
        self.synced.set()

    async def _read_all(self) -> tuple[list[Object], str]:
        try:
            return await self._read_pages(PAGE_SIZE if self._transform is None else TRANSFORMED_PAGE_SIZE)
        except Gone:  # the list expired between two pages
            return await self._read_pages(0)

    async def _read_pages(self, limit: int) -> tuple[list[Object], str]:
        objects: list[Object] = []
        version = ""
        pages = self._client.pages(
            self.kind,
            self._namespace,
            self._selector,
            field_selector=self._field_selector,
            metadata_only=self._metadata_only,
            limit=limit,
        )
        async for page, version in pages:  # noqa: B007 the last page's version counts
            objects += map(self._trim, page)
        return objects, version

    def _set_fresh(self, is_fresh: bool) -> None:
        if is_fresh == self.fresh.is_set():
            return
        if is_fresh:
            self.fresh.set()
        else:
            self.fresh.clear()
        for handler in tuple(self._freshness_handlers):
            handler()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        events = self._client.watch(
            self.kind,
            self._resume_version,
            self._namespace,
            self._selector,
            field_selector=self._field_selector,
            metadata_only=self._metadata_only,
            timeout_seconds=random.randint(*self._watch_seconds),
        )
        try:
            async with aclosing(events):
                async for event in events:
                    self._on_event(event)
        finally:
            if not self.stale:
                self._current_at = loop.time()
            self._set_fresh(False)
            if loop.time() - began > STABLE_WATCH_SECONDS:
                self._failures = 0

    def _on_event(self, event: Object) -> None:
        obj = event["object"]
        version = obj["metadata"]["resourceVersion"]
        if self.stale:
            self._on_watch_open()
        elif version.isdecimal() and self._resume_version.isdecimal() and int(version) < int(self._resume_version):
            raise Gone(410, "Expired", "the resource versions of the API server went back")
        else:
            self._failures = 0
        if event["type"] != "BOOKMARK":
            self._notify(self._store.event(event["type"], self._trim(obj)))
        self._resume_version = self._newest_version = version

    def _is_cut_long(self) -> bool:
        return asyncio.get_running_loop().time() - self._current_at > MAX_RESUMED_CUT_SECONDS

    def _on_watch_open(self) -> None:
        """The API server has accepted the watch. Raises Gone if that took so long that a list is due."""
        if self._is_cut_long():
            raise Gone(410, "Expired", "the watch was cut for long")
        self._set_fresh(True)
        if self._is_failing:
            log.info("watch works again", extra=self._facts())
        self._is_failing = False

    def _trim(self, obj: Object) -> Object:
        """The part of an object that is kept. An object that `transform` cannot read is kept whole: anybody may have written
        it."""
        if self._transform is None:
            return obj
        metadata = obj["metadata"]
        try:
            trimmed = self._transform(obj)
        except Exception as error:
            facts = {**self._facts(), "object": metadata.get("name"), "error": str(error)}
            log.error("object cannot be trimmed", extra=facts, exc_info=error)
            return obj
        identity = {key: metadata[key] for key in _IDENTITY if key in metadata}
        return {**trimmed, "metadata": {**trimmed.get("metadata", {}), **identity}}

    def _notify(self, change: Change | None) -> None:
        if change is not None:
            for handler in tuple(self._handlers):
                handler(change)

    def _failed(self, error: ApiError) -> None:
        """Log the first of several failures, not each attempt, and not a cut connection that the next attempt replaces."""
        if self._failures >= 2 and not self._is_failing:
            self._is_failing = True
            log.warning("watch fails, trying again", extra={**self._facts(), "error": str(error)})

    def _facts(self) -> dict[str, str | None]:
        return {"kind": self.kind.kind, "group": self.kind.group, "selector": self._selector}

    async def _absent(self, error: NotFound) -> None:
        self._failed(error)
        if not self._absent_is_empty:
            await self._pause()
            return
        for change in self._store.clear():
            self._notify(change)
        self.synced.set()
        self._set_fresh(True)
        await asyncio.sleep(ABSENT_KIND_RECHECK_SECONDS)
        self._set_fresh(False)

    async def _pause(self, error: ApiError | None = None) -> None:
        self._failures += 1
        delay = WATCH_BACKOFF.delay(self._failures)
        await asyncio.sleep(delay if error is None else retry_delay(error, delay))
