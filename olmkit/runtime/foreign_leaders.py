"""Observes the Leases of upstream's controllers, in all namespaces.

A Lease that is seen for the first time counts as held until it has been silent for its duration, because its holder may be alive.
Whoever may create Leases in some namespace can give one the name of upstream's: it counts only if it is where upstream is. Never
writes, and never reads a Lease of the suite.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from olmkit.api.foreign_leader import UPSTREAM, UPSTREAM_LEASES, ForeignLeader
from olmkit.api.meta import Object
from olmkit.errors import ApiError
from olmkit.runtime.access_reviews import may_update
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.lease_holder import LEASE, LeaseObservation
from olmkit.runtime.optional_controller import MakeInformer

_DEFAULT_SECONDS = 137.0
"""The duration of a Lease that names none: that of upstream's."""
MAX_SECONDS = 300.0
"""The longest time for which a Lease counts that is not renewed, whatever its duration."""
REVIEW_SECONDS = 60.0
"""The time after which it is asked again whether a Lease is upstream's."""

log = logging.getLogger(__name__)
IsUpstream = Callable[[str, str], Awaitable[bool]]
"""Reports whether the Lease in a namespace is upstream's, by namespace and name. Raises ApiError."""
_Key = tuple[str, str]


def upstream_review(client: Client, own_namespace: str) -> IsUpstream:
    """The review of a controller. In the namespace of the suite, a migration makes a Lease of upstream's."""

    async def is_upstream(namespace: str, lease: str) -> bool:
        return namespace == own_namespace or await is_where_upstream_is(client, namespace, lease)

    return is_upstream


async def is_where_upstream_is(client: Client, namespace: str, lease: str) -> bool:
    """Report whether a Lease is in a namespace in which the account of its controller may do what this does: who may write into
    the namespace cannot give it the permission. Raises ApiError."""
    controller = UPSTREAM[lease]
    return await may_update(client, controller.kind, namespace, controller.name)


class ForeignLeaders:
    """The holders of upstream's Leases in all namespaces, from informers that `make_informer` makes.

    `clock` is monotonic, in seconds. A pass asks while the informers are fresh, which the controller has to watch for that.
    """

    def __init__(
        self, make_informer: MakeInformer, is_upstream: IsUpstream, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.informers: tuple[Informer, ...] = tuple(
            make_informer(LEASE, field_selector=f"metadata.name={name}", transform=_spec) for name in UPSTREAM_LEASES
        )
        self._is_upstream = is_upstream
        self._clock = clock
        self._observed: dict[_Key, LeaseObservation] = {}
        self._reviews: dict[_Key, tuple[bool, float]] = {}
        """The answers: a Lease counts or not, and when that was asked. One that nobody has asked about counts."""
        self._reviewing = asyncio.Lock()
        self._callbacks: list[Callable[[], None]] = []
        for informer in self.informers:
            informer.subscribe(self.observe)

    async def state(self) -> ForeignLeader | None:
        """The leader whose Lease expires last; None if none leads. Its Lease expires without an event: ask again then."""
        async with self._reviewing:
            for key in self._held(self._clock()):
                await self._review(key)
        held = self._counted(self._clock())
        last = max(held, key=held.__getitem__, default=None)
        if last is None:
            return None
        return ForeignLeader(*last, self._observed[last].holder, timedelta(seconds=held[last]))

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the kinds are free earlier than state() has said: the last leader has released its Lease, or the
        Lease is deleted or shortened."""
        self._callbacks.append(callback)

    def observe(self, change: Change) -> None:
        """Note a change of one of the Leases."""
        lease, now = change.new or change.old or {}, self._clock()
        key = lease["metadata"]["namespace"], lease["metadata"]["name"]
        before = self._longest(now)
        if change.new is None:
            self._observed.pop(key, None)
            self._reviews.pop(key, None)
        else:
            observation = self._observed.setdefault(key, LeaseObservation(_DEFAULT_SECONDS, MAX_SECONDS))
            holder = observation.holder
            observation.observe(lease, now)
            if observation.holder != holder:
                self._reviews.pop(key, None)
        self._announce(before, now)

    async def _review(self, key: _Key) -> None:
        """Ask whether the Lease is upstream's, unless that was asked lately. Without an answer, the last one remains."""
        now = self._clock()
        counts, asked_at = self._reviews.get(key, (True, None))
        if asked_at is not None and now < asked_at + REVIEW_SECONDS:
            return
        facts, before = {"namespace": key[0], "lease": key[1]}, self._longest(now)
        was_ignored = not counts
        try:
            counts = await self._is_upstream(*key)
        except ApiError as error:
            log.warning("cannot check whether a Lease is that of OLM v1", extra={**facts, "error": error.message})
        self._reviews[key] = counts, now
        if not counts and not was_ignored:
            log.warning("a Lease has the name of OLM v1's, and is ignored: OLM v1 is not in its namespace", extra=facts)
        self._announce(before, now)

    def _announce(self, before: float, now: float) -> None:
        if self._longest(now) < before:
            for callback in tuple(self._callbacks):
                callback()

    def _held(self, now: float) -> dict[_Key, float]:
        """The seconds for which each Lease is held that has a holder."""
        return {key: left for key, each in sorted(self._observed.items()) if (left := each.remaining(now))}

    def _counted(self, now: float) -> dict[_Key, float]:
        """Those that nobody has found to be others'."""
        return {key: left for key, left in self._held(now).items() if self._reviews.get(key, (True, 0.0))[0]}

    def _longest(self, now: float) -> float:
        return max(self._counted(now).values(), default=0.0)


def _spec(lease: Object) -> Object:
    return {"spec": lease.get("spec") or {}}
