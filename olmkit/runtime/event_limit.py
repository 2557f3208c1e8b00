"""Limits the Events that are written about one object: a number at once, then one from time to time, as client-go does.

What changes again and again, or has another message each time, would fill the API server with Events, which it keeps for an hour.
The status and the log have what is left out. Pure: the caller has the clock.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

BURST = 25
"""Events about one object that are written without a pause."""
SECONDS_PER_EVENT = 300.0
"""After that, one in this time."""
MAX_OBJECTS = 4096
"""Objects that are remembered: those with the latest Events."""


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
