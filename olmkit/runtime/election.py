"""Which of several processes works: a coordination.k8s.io/v1 Lease, held by one and observed by the others.

Run by olmkit.runtime.manager; the work is a coroutine that is started when the lease is won and cancelled when it is lost.
Others' clocks are never read: a lease has expired when it has not changed for its duration as seen by the own monotonic clock.

    standing --(lease free, or unchanged for its duration)--> leading --(the work ends)--> released, run() returns
        ^                                                        |
        +-----(no renewal for renew_deadline; work awaited)------+--(work not ended when the lease can pass on)--> process exits
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict, NotFound
from olmkit.runtime import metrics
from olmkit.runtime.client import Client
from olmkit.runtime.watchdog import Watchdog

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
RELEASED_LEASE_SECONDS = 1
"""The duration written into a lease that is given up; 0 is refused by the API server."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeaseDurations:
    """How long a lease lasts, in seconds. An observer takes over at the latest `duration` after the last renewal."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    """Without a renewal for this long the work is cancelled; what is left of `duration` is its time to end."""
    renew_period: float = 2.0
    observe_period: float = 0.5

    @property
    def request_timeout(self) -> float:
        """Seconds for one request, so that two fit into the renew deadline."""
        return self.renew_deadline / 2


@dataclass(frozen=True)
class Term:
    """One holder's time with a lease, from when it takes it until it passes on. Compared for equality only.

    A lease that was deleted counts its transitions from 0 again, so they alone do not distinguish two terms.
    """

    holder: str
    transitions: int
    acquired: str

    @classmethod
    def of(cls, lease: Object) -> Term:
        """The term that a lease records."""
        spec = lease.get("spec") or {}
        return cls(
            str(spec.get("holderIdentity") or ""), spec.get("leaseTransitions") or 0, str(spec.get("acquireTime") or "")
        )


def holder_identity() -> str:
    """A holder no other process has, nor this one after a restart."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def _micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Election:
    """Stands for one lease as one holder. `annotations` are on the lease while it is ours: how others can reach the holder."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        *,
        holder: str = "",
        terms: LeaseDurations = LeaseDurations(),
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.holder = holder or holder_identity()
        self._client = client
        self._namespace = namespace
        self._terms = terms
        self.others_annotations: Mapping[str, str] = {}
        """Those of the lease as last read, while another one holds it; kept while the API server is away."""
        self.term: Term | None = None
        """The term that runs as far as this process knows: its own from the moment the lease is won, another's as last read."""
        self._annotations = annotations or {}
        self._observed: tuple[Any, ...] | None = None
        self._observed_at = 0.0
        self._holding = False
        self._lease: Object | None = None
        """The lease as last written by us; None: to be read again."""
        self._renewed_at = 0.0
        """When the last request that renewed it was sent, by the monotonic clock."""
        self._troubled = False
        metrics.LEADER.labels(name).set(0)

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Stand until `lead` has run to its own end; it is cancelled and awaited when the lease is lost, then stands again.

        Cancelled, it cancels and awaits the work. In the end the lease is released. Raises what the work raised.
        """
        try:
            while True:
                await self._win()
                if await self._lead(lead):
                    return
                log.warning("lease lost, standing again", extra=self._facts())
        finally:
            await self._release()

    async def _win(self) -> None:
        """Observe until the lease is ours."""
        while True:
            attempt = asyncio.ensure_future(self._try_to_take())
            try:
                if await asyncio.shield(attempt):
                    log.info("lease won", extra=self._facts())
                    return
                self._troubled = False
            except Conflict:
                pass  # another one was faster
            except (ApiError, TimeoutError) as error:
                self._log_failure(error)
            except asyncio.CancelledError:
                await asyncio.gather(attempt, return_exceptions=True)  # it may have won: then it is released
                raise
            await asyncio.sleep(self._terms.observe_period)

    async def _try_to_take(self) -> bool:
        asked_at = time.monotonic()
        async with asyncio.timeout(self._terms.request_timeout):
            try:
                lease = await self._client.get(LEASE, self.name, self._namespace)
            except NotFound:
                metadata = {"name": self.name, "namespace": self._namespace, "annotations": dict(self._annotations)}
                lease = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
                lease = await self._client.create(LEASE, {**lease, "spec": self._spec({})})
            else:
                if not self._is_free(lease):
                    self.others_annotations = lease["metadata"].get("annotations") or {}
                    self.term = Term.of(lease)
                    return False
                lease = await self._write(lease, self._spec(lease.get("spec") or {}))
        self._lease, self._renewed_at, self._holding = lease, asked_at, True
        self.others_annotations, self.term = {}, Term.of(lease)
        return True

    def _is_free(self, lease: Object) -> bool:
        """It has no holder, this process holds it, or it has not changed for the duration that it states."""
        spec = lease.get("spec") or {}
        observed = (spec.get("holderIdentity"), spec.get("renewTime"), spec.get("leaseTransitions"))
        now = time.monotonic()
        if observed != self._observed:
            self._observed, self._observed_at = observed, now
        duration = spec.get("leaseDurationSeconds") or self._terms.duration
        return observed[0] in (None, "", self.holder) or now - self._observed_at >= duration

    def _spec(self, before: Object) -> Object:
        now = _micro_time()
        kept = before.get("holderIdentity") == self.holder
        return {
            **before,
            "holderIdentity": self.holder,
            "leaseDurationSeconds": max(1, round(self._terms.duration)),
            "acquireTime": before.get("acquireTime", now) if kept else now,
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if before and not kept else 0),
        }

    async def _write(self, lease: Object, spec: Object) -> Object:
        """Replace the lease if it is still the one that was read. Raises Conflict."""
        path = LEASE.path(self._namespace, self.name)
        metadata = lease["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **self._annotations}
        body = {**lease, "metadata": {**metadata, "annotations": annotations}, "spec": spec}
        return await self._client.request("PUT", path, body=body)

    async def _lead(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Work and renew. True when the work has finished, False when it was cancelled because the lease was lost."""
        with Watchdog(f"{self.name} lease", "the work has not ended before the lease can pass on: exiting") as watchdog:
            work = asyncio.create_task(lead(), name=f"{self.name} leading")
            renewal = asyncio.create_task(self._renew(watchdog), name=f"{self.name} renewing")
            metrics.LEADER.labels(self.name).set(1)
            try:
                await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
                ended = work.done()
            finally:
                work.cancel()
                await asyncio.wait({work})  # renewed all the while, unless the lease is lost
                renewal.cancel()
                await asyncio.wait({renewal})
                metrics.LEADER.labels(self.name).set(0)
        if ended:
            work.result()
        else:
            renewal.result()
        return ended

    async def _renew(self, watchdog: Watchdog) -> None:
        """Renew until the lease is lost."""
        terms = self._terms
        while self._holding:
            watchdog.arm(self._renewed_at + terms.duration)
            lost_at = self._renewed_at + terms.renew_deadline
            await asyncio.sleep(max(0.0, min(terms.renew_period, lost_at - time.monotonic())))
            if time.monotonic() < lost_at:
                await self._renew_once(lost_at)
            else:
                self._holding = False

    async def _renew_once(self, lost_at: float) -> None:
        """One attempt; after one that failed the lease is read first, and lost if another one holds it."""
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(min(self._terms.request_timeout, lost_at - asked_at)):
                lease = self._lease or await self._read_own()
                if lease is None:
                    self._holding = False
                    return
                self._lease = None
                self._lease = await self._write(lease, self._spec(lease["spec"]))
            self._renewed_at, self._troubled = asked_at, False
        except Conflict:
            pass
        except (ApiError, TimeoutError) as error:
            self._log_failure(error)

    async def _read_own(self) -> Object | None:
        """The lease, None if it is not ours any more."""
        metrics.LEADER_SLOWPATH.labels(self.name).inc()
        try:
            lease = await self._client.get(LEASE, self.name, self._namespace)
        except NotFound:
            return None
        return lease if (lease.get("spec") or {}).get("holderIdentity") == self.holder else None

    async def _release(self) -> None:
        """Give the lease up, if we hold it, so that another one need not wait for its end."""
        if not self._holding:
            return
        self._holding = False
        try:
            async with asyncio.timeout(self._terms.request_timeout):
                while not await self._release_once():
                    pass
            log.info("lease released", extra=self._facts())
        except (ApiError, TimeoutError) as error:
            log.warning("lease not released, it will expire", extra={**self._facts(), "error": str(error)})

    async def _release_once(self) -> bool:
        """False when the lease has changed in the meantime and must be read again."""
        lease = self._lease or await self._read_own()
        self._lease = None
        if lease is None:
            return True
        spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": RELEASED_LEASE_SECONDS}
        try:
            await self._write(lease, {**spec, "renewTime": _micro_time()})
        except Conflict:
            return False
        return True

    def _facts(self) -> dict[str, str]:
        return {"lease": self.name, "holder": self.holder}

    def _log_failure(self, error: Exception) -> None:
        if not self._troubled:
            text = str(error) or type(error).__name__
            log.warning("lease cannot be read or written, trying again", extra={**self._facts(), "error": text})
        self._troubled = True
