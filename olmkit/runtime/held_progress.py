"""Decides which statuses only report progress, and how long such a status is held back before it is written.

An object that is installed at once passes through many states, and most of them last for milliseconds. A state that is over
before it is due is never written; an outcome is written at once, and so is a status that takes something back. Never writes, and
has no clock. docs/decisions/0049.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from olmkit.runtime.event_choice import failures_of

FIRST_DELAY = timedelta(seconds=1)
"""The time for which progress of an object is held back if its status does not report any yet."""
NEXT_DELAY = timedelta(seconds=5)
"""The same, if its status reports progress of this generation already."""
MAX_DELAY = timedelta(seconds=20)
"""The longest delay, however many objects are in progress."""
MAX_V1_DELAY = timedelta(minutes=1)
"""The same for ClusterExtensions, whose progress says less than that of their Operators."""
MAX_WRITES_PER_SECOND = 3
"""With more objects in progress, each of them waits longer, so that this many are written per second."""

_PROGRESS, _RETRYING, _STALLED = "Reconciling", "Retrying", "Stalled"
_STEPS = (_PROGRESS, "Resolved", "HasValidBundle")
"""Conditions that become True on the way to an outcome."""
_COMMON_FIELDS = frozenset({"conditions", "observedGeneration"})
_FAILURE = "failure"
"""The field that says what has failed. That it is over is progress; that it begins, or becomes another one, is an outcome."""

Status = Mapping[str, Any]


def is_progress(before: Status, after: Status, fields: frozenset[str]) -> bool:
    """Report whether a status says no more than that work is in progress: nothing has failed, no outcome is reached, and none is
    lost.

    `fields`: those that describe the work. If any other field changes, the status is more than progress. Work on a spec that is
    stalled, as after a restart, is progress: as a rule it ends as it did before.
    """
    old, new = before.get("conditions") or (), after.get("conditions") or ()
    reconciling = next((entry for entry in new if entry["type"] == _PROGRESS and entry["status"] == "True"), None)
    if reconciling is None or reconciling["reason"] == _RETRYING or failures_of(new):
        return False
    was, now = ({entry["type"] for entry in one if entry["status"] == "True"} for one in (old, new))
    is_tried_again = before.get("observedGeneration") == after.get("observedGeneration")
    if was - now - {_PROGRESS, *((_STALLED,) if is_tried_again else ())} or now - was - set(_STEPS):
        return False
    names = (before.keys() | after.keys()) - fields - _COMMON_FIELDS
    names -= set() if _FAILURE in after else {_FAILURE}
    return all(before.get(name) == after.get(name) for name in names)


def is_v1_progress(before: Status, after: Status, _: frozenset[str]) -> bool:
    """The same for a kind of OLM v1, which has no Reconciling: neither status has an outcome, which Progressing reports, or an
    installed bundle."""
    conditions = [*(before.get("conditions") or ()), *(after.get("conditions") or ())]
    return not any(
        entry["type"] == "Progressing" or (entry["type"], entry["status"]) == ("Installed", "True")
        for entry in conditions
    )


@dataclass(frozen=True)
class HeldProgress:
    """Since when the progress of each object has been held back. `now` is a monotonic time in seconds."""

    _since: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """uid -> the time, the oldest first."""

    def remaining(
        self, uid: str, before: Status, generation: int, now: float, max_delay: timedelta = MAX_DELAY
    ) -> timedelta:
        """The time that the progress of the object is held back from now on; zero: it is due, and is held back no longer."""
        while self._since and now - next(iter(self._since.values())) > 2 * max_delay.total_seconds():
            self._since.popitem(last=False)  # it was deleted meanwhile, or nobody looked at it again
        since = self._since.setdefault(uid, now)
        conditions = before.get("conditions") or ()
        is_reported = before.get("observedGeneration") == generation and any(
            entry["type"] == _PROGRESS for entry in conditions
        )
        shared = timedelta(seconds=len(self._since) / MAX_WRITES_PER_SECOND)
        delay = min(max(shared, NEXT_DELAY if is_reported else FIRST_DELAY), max_delay)
        left = delay - timedelta(seconds=now - since)
        if left > timedelta():
            return left
        del self._since[uid]
        return timedelta()

    def release(self, uid: str) -> None:
        """Another status of the object is written, or none has to be."""
        self._since.pop(uid, None)

    def clear(self) -> None:
        """Hold nothing back."""
        self._since.clear()
