"""Writes an object's status when it differs, and one Event per transition.

The last step of each pass; one Publisher per controller. The status is written with the resourceVersion it was computed from, so
that a pass over an old object cannot overwrite a newer status: it raises Conflict, and the queue makes another pass.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from olmkit.api.meta import Kind, Object
from olmkit.client import Client
from olmkit.conditions import Transition, cut
from olmkit.errors import ApiError, Conflict

EVENT = Kind("events.k8s.io", "v1", "Event", "events", namespaced=True)
NOTE_LIMIT = 1024
"""Bytes of an Event's note; the API server refuses more."""
CLUSTER_SCOPED_NAMESPACE = "default"
"""Where Events about cluster-scoped objects live; the API server accepts no other."""

log = logging.getLogger(__name__)


class Sees(Protocol):
    """The part of an informer that is told of own writes."""

    def saw(self, obj: Object) -> None: ...


def severity(transition: Transition, *, reconciling: bool) -> str:
    """Warning for a bad aspect that holds (Stalled, …Deprecated True) and for a good one that is False, else Normal.

    While work is under way a good aspect that is not True yet is no news to worry about, unless something failed.
    """
    if transition.type == "Stalled" or transition.type.endswith("Deprecated"):
        return "Warning" if transition.status == "True" else "Normal"
    if transition.type == "Reconciling" or transition.status != "False":
        return "Normal"
    return "Normal" if reconciling and not transition.reason.endswith("Failed") else "Warning"


def worth_telling(transition: Transition, kind: str, *, is_new: bool) -> bool:
    """Whether a transition becomes an Event of type `kind`.

    Reconciling tells what the other conditions tell too, and an aspect that begins without being True is no news, unless it is
    a warning.
    """
    if transition.type == "Reconciling":
        return False
    return kind == "Warning" or not is_new or transition.status == "True"


@dataclass(frozen=True)
class Reporter:
    """Who tells: the controller, and which process of it."""

    controller: str
    instance: str


def make_event(about: Object, transition: Transition, kind: str, reporter: Reporter, now: datetime) -> Object:
    """An events.k8s.io/v1 Event of type `kind` (Normal, Warning) about one transition of `about`.

    Its name is that of the object plus a hash of what happened.
    """
    metadata = about["metadata"]
    facts = (metadata.get("uid", ""), metadata.get("resourceVersion", ""), transition.type, transition.status)
    suffix = hashlib.sha256("\n".join((*facts, transition.reason)).encode()).hexdigest()[:16]
    regarding = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "name": metadata["name"],
        "namespace": metadata.get("namespace"),
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {
            "name": f"{metadata['name'][:236]}.{suffix}",
            "namespace": metadata.get("namespace") or CLUSTER_SCOPED_NAMESPACE,
        },
        "eventTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance,
        "action": transition.type,
        "reason": transition.reason,
        "note": cut(transition.message, NOTE_LIMIT),
        "type": kind,
        "regarding": {key: value for key, value in regarding.items() if value},
    }


def without_empties(value: Any) -> Any:
    """The value without empty lists and mappings, at any depth.

    Server-side apply owns no empty list: it is written, or lost with its last item, as it happens, and would differ for ever.
    """
    if isinstance(value, Mapping):
        kept = {key: without_empties(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ({}, [])}
    if isinstance(value, list):
        return [without_empties(item) for item in value]
    return value


def instance_name() -> str:
    """Which process reports: the pod's name, else host and process id."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"


@dataclass(frozen=True)
class Publisher:
    """Publishes for one kind as field manager and reporting controller `manager`; `informer` is told of the write."""

    client: Client
    kind: Kind
    manager: str
    informer: Sees
    instance: str = field(default_factory=instance_name)

    async def __call__(self, raw: Object, status: Mapping[str, Any], transitions: Sequence[Transition] = ()) -> None:
        """Write `status` if it differs from raw's by more than empty lists and mappings, then the Events.

        Raises Conflict when raw is not the newest any more, NotFound when it is gone; a failed Event is only logged.
        """
        wanted = without_empties(status)
        if wanted != without_empties(raw.get("status") or {}):
            body = {"metadata": raw["metadata"], "status": wanted}
            self.informer.saw(await self.client.apply_status(self.kind, body, self.manager))
        about = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": raw["metadata"]}
        await asyncio.gather(*(self._emit(about, event, kind) for event, kind in _news(raw, status, transitions)))

    async def _emit(self, about: Object, transition: Transition, kind: str) -> None:
        event = make_event(about, transition, kind, Reporter(self.manager, self.instance), datetime.now(UTC))
        try:
            await self.client.create(EVENT, event)
        except Conflict:
            pass  # the same transition of the same version was told already
        except ApiError as error:
            facts = {"event": transition.reason, "error": str(error)}
            log.warning("event not written", extra=facts)


def _news(
    raw: Object, status: Mapping[str, Any], transitions: Sequence[Transition]
) -> Iterator[tuple[Transition, str]]:
    """The transitions that become Events, each with the Event's type."""
    known = {condition["type"] for condition in (raw.get("status") or {}).get("conditions", ())}
    states = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    for transition in transitions:
        kind = severity(transition, reconciling=states.get("Reconciling") == "True")
        if worth_telling(transition, kind, is_new=transition.type not in known):
            yield transition, kind
