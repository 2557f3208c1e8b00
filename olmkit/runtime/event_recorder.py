"""Writes the Events about objects, as the EventRecorder of client-go does: a repetition of an Event increments its count, and an
object that has many is held back, with a number of them at once and one from time to time after that.

What changes again and again, or has another message each time, would fill the API server with Events, which it keeps for an hour.
The status and the log have what is left out. Never chooses what is an Event: olmkit.runtime.event_choice does.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from olmkit.api.conditions import PendingEvent, format_timestamp
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict
from olmkit.gocompat.text import one_line, truncate
from olmkit.runtime.client import Client

EVENT = Kind("", "v1", "Event", "events", namespaced=True)
"""Events of core/v1, because only these may have firstTimestamp, lastTimestamp and count, by which kubectl sorts and shows
them."""
MAX_EVENT_MESSAGE_BYTES = 1024
"""Bytes of an Event's message; some versions of the API server refuse more."""
CLUSTER_SCOPED_NAMESPACE = "default"
"""The namespace of Events about cluster-scoped objects; the API server accepts no other."""

BURST = 25
"""Events about one object that are written without a pause."""
SECONDS_PER_EVENT = 300.0
"""After that, one in this time."""
MAX_OBJECTS = 4096
"""Objects that are remembered: those with the latest Events."""

log = logging.getLogger(__name__)


def instance_name() -> str:
    """The reporting instance of Events: the name of the pod, or host name and process ID."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"


@dataclass(frozen=True)
class Reporter:
    """The reporting controller, and the instance (process) of it."""

    controller: str
    instance: str = field(default_factory=instance_name)


def make_event(about: Object, event: PendingEvent, reporter: Reporter, now: datetime) -> Object:
    """A core/v1 Event about `about` with count 1. Its name is that of the object and a hash of the content, so that a repetition
    has the same name and is counted.
    """
    metadata = about["metadata"]
    facts = (metadata.get("uid", ""), event.type, event.action, event.reason, event.message)
    suffix = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    involved = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "name": metadata["name"],
        "namespace": metadata.get("namespace"),
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    moment = format_timestamp(now)
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {
            "name": f"{metadata['name'][:236]}.{suffix}",
            "namespace": metadata.get("namespace") or CLUSTER_SCOPED_NAMESPACE,
        },
        "involvedObject": {key: value for key, value in involved.items() if value},
        "type": event.type,
        "reason": event.reason,
        "message": truncate(one_line(event.message), MAX_EVENT_MESSAGE_BYTES),
        "action": event.action,
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": reporter.controller},
        "reportingComponent": reporter.controller,
        "reportingInstance": truncate(reporter.instance, 128),
    }


def count_patch(known: Object, event: Object) -> Object | None:
    """The patch that increments the count of an existing Event; None if it was counted for this version of the object."""
    version = event["involvedObject"].get("resourceVersion")
    if known["involvedObject"].get("resourceVersion") == version:
        return None
    return {
        "metadata": {"resourceVersion": known["metadata"]["resourceVersion"]},
        "count": (known.get("count") or 1) + 1,
        "lastTimestamp": event["lastTimestamp"],
        "involvedObject": {"resourceVersion": version},
    }


@dataclass(frozen=True)
class EventLimit:
    """The number of Events that each object has left."""

    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """uid -> the number, and the time at which it was that."""

    def permits(self, uid: str, now: float) -> bool:
        """Report whether another Event about the object is written. `now` is a monotonic time in seconds."""
        left, since = self._left.pop(uid, (float(BURST), now))
        left = min(left + (now - since) / SECONDS_PER_EVENT, BURST)
        is_permitted = left >= 1
        self._left[uid] = (left - is_permitted, now)
        if len(self._left) > MAX_OBJECTS:
            self._left.popitem(last=False)
        return is_permitted


@dataclass(frozen=True)
class EventRecorder:
    """Writes Events as the reporting controller `reporter`."""

    client: Client
    reporter: Reporter
    _limit: EventLimit = field(default_factory=EventLimit)

    async def record(self, about: Object, pending: PendingEvent) -> None:
        """Write the Event, or count it if it was written before. One that cannot be written, or is too many, is logged."""
        if not self._limit.permits(about["metadata"].get("uid", ""), time.monotonic()):
            log.debug("event left out: the object has too many", extra={"event": pending.reason})
            return
        event = make_event(about, pending, self.reporter, datetime.now(UTC))
        try:
            try:
                await self.client.create(EVENT, event)
            except Conflict:
                await self._count(event)
        except ApiError as error:
            facts = {"event": pending.reason, "error": str(error)}
            log.warning("event not written", extra=facts)

    async def _count(self, event: Object) -> None:
        """The same Event exists: increment its count."""
        name, namespace = event["metadata"]["name"], event["metadata"]["namespace"]
        change = count_patch(await self.client.get(EVENT, name, namespace), event)
        if change is not None:
            await self.client.patch(EVENT, name, change, namespace)
