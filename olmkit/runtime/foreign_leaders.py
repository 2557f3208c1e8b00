"""Observes the Leases of upstream's controllers, in all namespaces.

A Lease that is seen for the first time counts as held until it has been silent for its duration, because its holder may be alive.
Never writes, and never reads a Lease of the suite.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from olmkit.api.foreign_leader import UPSTREAM_LEASES, ForeignLeader
from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.lease_holder import LEASE, LeaseObservation
from olmkit.runtime.optional_controller import MakeInformer

_DEFAULT_SECONDS = 137.0
"""The duration of a Lease that names none: that of upstream's."""


class ForeignLeaders:
    """The holders of upstream's Leases in all namespaces, from informers that `make_informer` makes.

    `clock` is monotonic, in seconds. A pass asks while the informers are fresh, which the controller has to watch for that.
    """

    def __init__(self, make_informer: MakeInformer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.informers: tuple[Informer, ...] = tuple(
            make_informer(LEASE, field_selector=f"metadata.name={name}", transform=_spec) for name in UPSTREAM_LEASES
        )
        self._clock = clock
        self._observed: dict[tuple[str, str], LeaseObservation] = {}
        self._is_led = False
        self._callbacks: list[Callable[[], None]] = []
        for informer in self.informers:
            informer.subscribe(self.observe)

    def state(self) -> ForeignLeader | None:
        """The leader whose Lease expires last; None if none leads. Its Lease expires without an event: ask again then."""
        now = self._clock()
        held = {key: each.remaining(now) for key, each in sorted(self._observed.items())}
        last = max(held, key=held.__getitem__, default=None)
        if last is None or not held[last]:
            return None
        return ForeignLeader(*last, self._observed[last].holder, timedelta(seconds=held[last]))

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the last leader has released its Lease, or the Lease is deleted."""
        self._callbacks.append(callback)

    def observe(self, change: Change) -> None:
        """Note a change of one of the Leases."""
        lease = change.new or change.old or {}
        key = lease["metadata"]["namespace"], lease["metadata"]["name"]
        if change.new is None:
            self._observed.pop(key, None)
        else:
            self._observed.setdefault(key, LeaseObservation(_DEFAULT_SECONDS)).observe(lease, self._clock())
        was_led, self._is_led = self._is_led, self.state() is not None
        if was_led and not self._is_led:
            for callback in tuple(self._callbacks):
                callback()


def _spec(lease: Object) -> Object:
    return {"spec": lease.get("spec") or {}}
