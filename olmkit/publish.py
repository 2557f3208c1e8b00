"""Writes an object's status when it differs, and one Event per transition.

The last step of each pass; one Publisher per controller. The status is written with the resourceVersion it was computed from, so
that a pass over an old object cannot overwrite a newer status: it raises Conflict, and the queue makes another pass.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from olmkit.api.meta import Kind
from olmkit.client import Client
from olmkit.conditions import Transition, cut
from olmkit.errors import ApiError, Conflict

Object = dict[str, Any]

EVENT = Kind("events.k8s.io", "v1", "Event", "events", namespaced=True)
NOTE_LIMIT = 1024
"""Bytes of an Event's note; the API server refuses more."""
CLUSTER_SCOPED_NAMESPACE = "default"
"""Where Events about cluster-scoped objects live; the API server accepts no other."""

log = logging.getLogger(__name__)


class Sees(Protocol):
    """The part of an informer that is told of own writes."""

    def saw(self, obj: Object) -> None: ...


def severity(transition: Transition) -> str:
    """Warning for a good aspect that is lost (Ready False) and a bad one that holds (Stalled, …Deprecated True), else Normal."""
    if transition.type == "Reconciling":
        return "Normal"
    is_bad = transition.type == "Stalled" or transition.type.endswith("Deprecated")
    return "Warning" if transition.status == ("True" if is_bad else "False") else "Normal"


def make_event(about: Object, transition: Transition, controller: str, instance: str, now: datetime) -> Object:
    """An events.k8s.io/v1 Event about one transition of `about`. Its name is that of the object plus a hash of what happened."""
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
        "reportingController": controller,
        "reportingInstance": instance,
        "action": transition.type,
        "reason": transition.reason,
        "note": cut(transition.message, NOTE_LIMIT),
        "type": severity(transition),
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
        for transition in transitions:
            await self._emit(about, transition)

    async def _emit(self, about: Object, transition: Transition) -> None:
        event = make_event(about, transition, self.manager, self.instance, datetime.now(UTC))
        try:
            await self.client.create(EVENT, event)
        except Conflict:
            pass  # the same transition of the same version was told already
        except ApiError as error:
            facts = {"event": transition.reason, "error": str(error)}
            log.warning("event not written", extra=facts)
