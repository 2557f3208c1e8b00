"""Writes the status of an object if it differs, logs conditions that change or are removed, and has the Events recorded that
olmkit.runtime.event_choice chooses.

The last step of each pass; one Publisher per controller. The status is written with the resourceVersion it was computed from, so
that a pass over an old object cannot overwrite a newer status: it raises Conflict, and the queue makes another pass. A status
that only reports progress is held back for a moment: the pass is repeated when it is due, and writes what is true by then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, Protocol

from olmkit.api.conditions import MAX_SUMMARY_BYTES, StatusReport, Transition
from olmkit.api.merge_patch import merge_patch
from olmkit.api.meta import Kind, Object, controlling_owner, unchanged_precondition
from olmkit.errors import NotFound
from olmkit.gocompat.text import truncate
from olmkit.runtime.client import Client
from olmkit.runtime.event_choice import NOTHING, Conditions, EventChoice, Reported, choose_events, removed_conditions
from olmkit.runtime.event_recorder import EventRecorder, Reporter
from olmkit.runtime.held_progress import MAX_DELAY, HeldProgress, is_progress

MAX_REPORTED = 4096
"""Objects whose last failure, and the causes of whose conditions, are remembered until they recover; beyond that those of the
oldest are unknown, as after a restart."""

REMOVED = "Removed"
"""The status that log lines show for a condition that was removed."""

log = logging.getLogger(__name__)


class WriteRecorder(Protocol):
    """The part of an informer that records writes of this process."""

    def record_write(self, obj: Object) -> None: ...


def without_empties(value: Any) -> Any:
    """The value without empty lists and mappings, at any depth.

    Server-side apply owns no empty list: whether one is stored depends on what was stored before, so it would differ on each
    pass.
    """
    if isinstance(value, Mapping):
        kept = {key: without_empties(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ({}, [])}
    if isinstance(value, list):
        return [without_empties(item) for item in value]
    return value


def _conditions(status: Mapping[str, Any]) -> Conditions:
    return status.get("conditions") or ()


@dataclass(frozen=True)
class ProgressRules:
    """The rules for holding back the progress of a kind: `fields` of its status describe the work alone, `is_progress` recognizes
    progress, and `enqueue_after` is called with the name of the object and the time after which the pass has to be repeated, at
    most `max_delay`."""

    enqueue_after: Callable[[str, timedelta], None]
    fields: frozenset[str] = frozenset()
    is_progress: Callable[[Mapping[str, Any], Mapping[str, Any], frozenset[str]], bool] = is_progress
    max_delay: timedelta = MAX_DELAY


@dataclass(frozen=True)
class Publisher:
    """Publishes the status of one kind as field manager and reporting controller `manager`; `informer` records the write. Without
    `progress` every status is written at once."""

    client: Client
    kind: Kind
    manager: str
    informer: WriteRecorder
    progress: ProgressRules | None = None
    chooses_events: bool = True
    """False for a kind without the conditions of the suite: it has the Events of its reports only."""
    _held: HeldProgress = field(default_factory=HeldProgress)
    _reported: OrderedDict[str, Reported] = field(default_factory=OrderedDict)
    """uid -> the last failure from which the object has not recovered, and why its conditions are as they are."""

    @cached_property
    def _recorder(self) -> EventRecorder:
        return EventRecorder(self.client, Reporter(self.manager))

    def reset(self) -> None:
        """Forget what was reported. Called when this process starts leading: objects may have recovered while another one led."""
        self._reported.clear()
        self._held.clear()

    async def __call__(self, raw: Mapping[str, Any], report: StatusReport[Any]) -> bool:
        """Write the status if it differs from that of `raw` by more than empty lists and mappings; then log the transitions, and
        write the Events of the report and those that its transitions are worth, as many as the object may have.

        Returns False if the status is progress that is held back: nothing is written or logged. Raises Conflict if the object
        has changed since `raw`, NotFound if it is deleted. An Event that cannot be written is logged.
        """
        uid, status = raw["metadata"].get("uid", ""), report.status.dump()
        wanted, known = without_empties(status), without_empties(raw.get("status") or {})
        if self._holds_back(raw, report, known, wanted):
            return False
        if wanted != known:
            try:
                await self._write({"metadata": raw["metadata"], "status": wanted})
            except NotFound:
                self._reported.pop(uid, None)
                raise
        before, after = _conditions(raw.get("status") or {}), _conditions(status)
        choice = self._choose_events(raw["metadata"], before, after, report)
        for transition in (*report.transitions, *choice.blockers):
            self._log(transition, transition.status, f"is {transition.status} ({transition.reason})")
        for old in removed_conditions(before, after):
            self._log(old, REMOVED, f"is removed (was {old.status}, {old.reason})")
        about = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": raw["metadata"]}
        await asyncio.gather(*(self._recorder.record(about, pending) for pending in (*report.events, *choice.events)))
        return True

    async def _write(self, body: Object) -> None:
        """Apply the status, and remove what others have written into it, which an apply keeps."""
        applied = await self.client.apply_status(self.kind, body, self.manager)
        self.informer.record_write(applied)
        if foreign := merge_patch(without_empties(applied.get("status") or {}), body["status"]):
            change = {"metadata": unchanged_precondition(applied), "status": foreign}
            name, namespace = applied["metadata"]["name"], applied["metadata"].get("namespace")
            patched = await self.client.patch(self.kind, name, change, namespace, subresource="status")
            self.informer.record_write(patched)

    def _choose_events(
        self, metadata: Mapping[str, Any], before: Conditions, after: Conditions, report: StatusReport[Any]
    ) -> EventChoice:
        if not self.chooses_events:
            return EventChoice()
        uid = metadata.get("uid", "")
        is_owned = controlling_owner({"metadata": metadata}) is not None
        last = self._reported.pop(uid, NOTHING)
        choice = choose_events(before, after, report.transitions, report.causes, last, is_owned=is_owned)
        self._remember(uid, choice.reported)
        return choice

    def _remember(self, uid: str, reported: Reported) -> None:
        if reported != NOTHING:
            self._reported[uid] = reported
        while len(self._reported) > MAX_REPORTED:
            self._reported.popitem(last=False)

    def _holds_back(self, raw: Mapping[str, Any], report: StatusReport[Any], known: Any, wanted: Any) -> bool:
        """Report whether the status is progress that is not due; then the pass is repeated when it is."""
        metadata, rules = raw["metadata"], self.progress
        if rules is None:
            return False
        if wanted == known or report.is_required or report.events or not rules.is_progress(known, wanted, rules.fields):
            self._held.release(metadata["uid"])
            return False
        now = time.monotonic()
        remaining = self._held.remaining(metadata["uid"], known, metadata["generation"], now, rules.max_delay)
        if not remaining:
            return False
        rules.enqueue_after(metadata["name"], remaining)
        return True

    def _log(self, transition: Transition, status: str, what: str) -> None:
        facts = {
            "kind": self.kind.kind,
            "condition": transition.type,
            "status": status,
            "reason": transition.reason,
        }
        log.info("%s %s: %s", transition.type, what, truncate(transition.message, MAX_SUMMARY_BYTES), extra=facts)
