"""The Lease of a leader election: how its holder is named, and for how long it is valid.

Clocks of other processes are never trusted: a Lease has expired when this process has not seen it change for its duration.
"""

from __future__ import annotations

import math
import socket
import uuid
from typing import Any

from olmkit.api.meta import Kind, Object

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
_SEPARATOR = "_"
"""Between host name and uuid, as controller-runtime has it; no host name contains it."""


def holder_identity() -> str:
    """An identity that is unique to this process, and different after a restart."""
    return f"{socket.gethostname()}{_SEPARATOR}{uuid.uuid4()}"


def holder_host(identity: str) -> str:
    """The host name in an identity: that of the pod in which the holder runs."""
    return identity.partition(_SEPARATOR)[0]


class LeaseObservation:
    """The last seen state of one Lease, and since when it has been so. `default_seconds` is the duration of a Lease that names
    none, `max_seconds` the longest that counts. Times are those of one monotonic clock, in seconds."""

    def __init__(self, default_seconds: float, max_seconds: float = math.inf) -> None:
        self.holder = ""
        """The holder, as last seen; "" if there is none."""
        self._default_seconds = default_seconds
        self._max_seconds = max_seconds
        self._duration = default_seconds
        self._seen: tuple[Any, ...] | None = None
        self._seen_at = 0.0

    def observe(self, lease: Object, now: float) -> None:
        """Note the Lease as it has been read. One that has changed was renewed at this moment, at the latest."""
        spec = lease.get("spec") or {}
        seen = (spec.get("holderIdentity"), spec.get("renewTime"), spec.get("leaseTransitions"))
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        self.holder = str(spec.get("holderIdentity") or "")
        self._duration = min(spec.get("leaseDurationSeconds") or self._default_seconds, self._max_seconds)

    def remaining(self, now: float) -> float:
        """The seconds for which it is still valid if nobody renews it; 0 if it has expired or has no holder."""
        return max(0.0, self._seen_at + self._duration - now) if self.holder else 0.0
