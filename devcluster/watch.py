"""Watches the objects of one kind, so that the demo and the tests wait for events and never sleep.

A watch that ends is started again with a new list. What is asked of a watch is
answered with what the API server had at that time, or with something newer.
"""

import http.client
import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from devcluster.api_client import Lines
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError

Object = dict[str, Any]
Answer = TypeVar("Answer")

CATALOGS = "/apis/catalogd.operatorframework.io/v1alpha1/catalogs"
PACKAGES = "/apis/catalogd.operatorframework.io/v1alpha1/packages"
OPERATORS = "/apis/operators.operatorframework.io/v1alpha1/operators"
BUNDLE_DEPLOYMENTS = "/apis/core.rukpak.io/v1alpha1/bundledeployments"
BUNDLES = "/apis/core.rukpak.io/v1alpha1/bundles"
NAMESPACES = "/api/v1/namespaces"

_RETRY_SECONDS = 0.5


@dataclass(frozen=True)
class _Listed:
    """The result of a list of the objects. `version` is its resourceVersion, None if the API server does not serve the kind."""

    objects: Mapping[str, Object]
    version: int | None


@dataclass(frozen=True)
class Event:
    """A change of one object: the object after it, None if it was deleted. `at` is of time.monotonic(); `name` of a namespaced
    object is `namespace/name`.

    `version` is the resourceVersion of the change, which orders the changes of all kinds on a cluster. Of a deletion that only a
    later list has shown it is that of the list; of one that has ended with its kind, that of the object's last known change.
    """

    at: float
    name: str
    object: Object | None
    version: int


class Watch:
    """The objects below one path of the API ("/api/v1/namespaces"), updated as events are taken."""

    def __init__(self, cluster: Cluster, path: str, events: "queue.Queue[Event] | None" = None) -> None:
        """Start watching. Existing objects are events too. Several watches may share a queue of `events`, which their owner reads
        instead of calling `next` and `until`."""
        self._api = cluster.api
        self._path = path
        self._events: queue.Queue[Event] = queue.Queue() if events is None else events
        self._stopped = threading.Event()
        self._listed = threading.Event()
        self._stream: Lines | None = None
        self._lock = threading.Lock()
        self.objects: dict[str, Object] = {}
        self._versions: dict[str, int] = {}
        """The version of the last event that was taken, by name."""
        self._thread = threading.Thread(target=self._follow, name=f"watch {path}", daemon=True)
        self._thread.start()

    def next(self, seconds: float) -> Event | None:
        """The next event, or None if there is none within that time."""
        try:
            event = self._events.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        self._versions[event.name] = event.version
        if event.object is None:
            self.objects.pop(event.name, None)
        else:
            self.objects[event.name] = event.object
        return event

    def until_listed(self, seconds: float = 60.0) -> None:
        """Wait until the existing objects are events. Takes none. Raises DevclusterError after `seconds`."""
        if not self._listed.wait(seconds):
            raise DevclusterError(f"After {seconds:.0f} seconds the API server has not listed {self._path}.")

    def until(
        self,
        what: str,
        condition: Callable[[Mapping[str, Object]], Answer | None],
        seconds: float = 60.0,
        seen: Callable[[Event], None] = lambda event: None,
    ) -> Answer:
        """Take events until `condition`, called with the objects by name, returns a true value; return that value.

        `condition` is called only with objects that are at least as new as those that the API server had at the time of the call:
        what the caller has written before is never missing. `seen` is called with every event. Raises DevclusterError, with
        `what` and the objects' conditions, after `seconds`.
        """
        deadline = time.monotonic() + seconds
        self.until_listed(seconds)
        if not self._catch_up(deadline, seen):
            raise DevclusterError(f"After {seconds:.0f} seconds the changes of {self._path} have not come: {what}.")
        while True:
            answer = condition(self.objects)
            if answer:
                return answer
            event = self.next(deadline - time.monotonic())
            if event is not None:
                seen(event)
            elif time.monotonic() >= deadline:
                raise DevclusterError(
                    f"After {seconds:.0f} seconds this is still not true: {what}.\n{describe(self.objects)}"
                )

    def _catch_up(self, deadline: float, seen: Callable[[Event], None]) -> bool:
        """Take the events up to what the API server lists. Returns whether they came before the deadline."""
        listed = self._list()
        while listed is None or not self._has_taken(listed):
            event = self.next(min(_RETRY_SECONDS, deadline - time.monotonic()))
            if event is not None:
                seen(event)
            elif time.monotonic() >= deadline:
                return False
            else:
                listed = self._list()
        while (event := self.next(0)) is not None:
            seen(event)
        return True

    def _has_taken(self, listed: _Listed) -> bool:
        """Report whether the events that were taken lead to the listed objects, or beyond."""
        if any(self._versions.get(name, 0) < _version(each) for name, each in listed.objects.items()):
            return False
        later = {name for name in self.objects if listed.version is not None and self._versions[name] > listed.version}
        return self.objects.keys() - listed.objects.keys() <= later

    def close(self) -> None:
        """End the watch."""
        with self._lock:
            self._stopped.set()
            if self._stream is not None:
                self._stream.close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _follow(self) -> None:
        """The thread: list, then watch from there, again and again until closed."""
        known: dict[str, int] = {}
        while not self._stopped.is_set():
            listed = self._list()
            if listed is not None:
                self._send_listed(known, listed)
                if listed.version is not None:
                    self._listed.set()
                    self._read(f"{self._path}?watch=true&resourceVersion={listed.version}", known)
            self._stopped.wait(_RETRY_SECONDS)

    def _list(self) -> _Listed | None:
        """The objects as they are; None if the request failed."""
        status, listed = self._api.request("GET", self._path)
        if status != http.client.OK or listed is None:
            return _Listed({}, None) if status == http.client.NOT_FOUND else None
        return _Listed({_name(item): item for item in listed["items"]}, int(listed["metadata"]["resourceVersion"]))

    def _send_listed(self, known: dict[str, int], listed: _Listed) -> None:
        """Send events for existing and deleted objects. Those of a kind that is not served any more were deleted with it."""
        for name in known.keys() - listed.objects.keys():
            self._send(known, name, None, known[name] if listed.version is None else listed.version)
        for name, item in listed.objects.items():
            self._send(known, name, item, _version(item))

    def _read(self, path: str, known: dict[str, int]) -> None:
        """Send events for changes until the stream ends."""
        try:
            stream = self._api.lines(path)
        except OSError:
            return
        with self._lock:
            if self._stopped.is_set():
                stream.close()
            self._stream = stream
        for line in stream:
            try:
                change = json.loads(line)
            except ValueError:
                break  # kubectl's proxy writes the error as text when the API server ends the connection
            if change.get("type") not in ("ADDED", "MODIFIED", "DELETED"):
                break
            found = change["object"]
            gone = change["type"] == "DELETED"
            self._send(known, _name(found), None if gone else found, _version(found))

    def _send(self, known: dict[str, int], name: str, object_: Object | None, version: int) -> None:
        if object_ is None:
            known.pop(name, None)
        else:
            known[name] = version
        self._events.put(Event(time.monotonic(), name, object_, version))


def condition(object_: Object | None, type_: str) -> Object:
    """The condition of that type; an empty one (status Unknown) if it does not exist."""
    for found in ((object_ or {}).get("status") or {}).get("conditions") or ():
        if found["type"] == type_:
            return dict(found)
    return {"type": type_, "status": "Unknown", "reason": "", "message": ""}


def is_true(object_: Object | None, type_: str) -> bool:
    """Report whether the condition is True for the current generation of the object."""
    if object_ is None:
        return False
    found = condition(object_, type_)
    return bool(found["status"] == "True" and found.get("observedGeneration") == object_["metadata"]["generation"])


def _name(object_: Object) -> str:
    metadata = object_["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def _version(object_: Object) -> int:
    return int(object_["metadata"]["resourceVersion"])


def describe(objects: Mapping[str, Object]) -> str:
    """The conditions of the objects, as text."""
    lines = []
    for name, object_ in sorted(objects.items()):
        conditions = ((object_.get("status") or {}).get("conditions")) or []
        lines += [f"  {name}: {c['type']} is {c['status']} ({c['reason']}): {c['message']}" for c in conditions]
        if not conditions:
            lines.append(f"  {name}: no conditions")
    return "\n".join(lines) or "  there is no such object"
