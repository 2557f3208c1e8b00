"""Leader election: a coordination.k8s.io/v1 Lease, held by one process and observed by the others.

Run by olmkit.runtime.manager. The work is a coroutine that is started when the lease is acquired and cancelled when it is lost.
When the lease of another process has expired, olmkit.runtime.lease_holder decides.

    candidate --(lease free, or unchanged for its duration)--> leader --(the work ends)--> lease released, run() returns
        ^                                                        |
        +-----(no renewal for renew_deadline; work awaited)------+--(work not ended when the lease can expire)--> process exits
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from olmkit.api.meta import Object
from olmkit.errors import ApiError, Conflict, NotFound
from olmkit.runtime import metrics
from olmkit.runtime.client import Client
from olmkit.runtime.lease_holder import LEASE, LeaseObservation, holder_identity
from olmkit.runtime.watchdog import Watchdog

RELEASED_LEASE_SECONDS = 1
"""The duration that is written into a released lease; the API server rejects 0."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeaseDurations:
    """Timing of a lease, in seconds. A candidate acquires it at the latest `duration` after the last renewal."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    """The work is cancelled after this long without a renewal; it has the rest of `duration` to end."""
    renew_period: float = 2.0
    observe_period: float = 0.5

    @property
    def request_timeout(self) -> float:
        """Timeout of one request in seconds: two fit into the renew deadline."""
        return self.renew_deadline / 2


@dataclass(frozen=True)
class Term:
    """The time during which one holder has a lease. Compared for equality only.

    The transitions of a lease that was deleted start from 0 again, so they alone do not identify a term.
    """

    holder: str
    transitions: int
    acquire_time: str

    @classmethod
    def of(cls, lease: Object) -> Term:
        """The term that a lease records."""
        spec = lease.get("spec") or {}
        return cls(
            str(spec.get("holderIdentity") or ""), spec.get("leaseTransitions") or 0, str(spec.get("acquireTime") or "")
        )


def _micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Election:
    """A candidate for one lease. `annotations` are set on the lease while this process holds it, for other replicas to read."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        *,
        holder: str = "",
        durations: LeaseDurations = LeaseDurations(),
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.holder = holder or holder_identity()
        self._client = client
        self._namespace = namespace
        self._durations = durations
        self.holder_annotations: Mapping[str, str] = {}
        """The annotations of the lease as last read, while another process holds it; kept while the API server does not
        answer."""
        self.term: Term | None = None
        """The current term as far as known: the own one from the moment the lease is acquired, another's as last read."""
        self._annotations = annotations or {}
        self._observed = LeaseObservation(durations.duration)
        self._holding = False
        self._lease: Object | None = None
        """The lease as last written by this process; None: it has to be read again."""
        self._renewed_at = 0.0
        """time.monotonic() when the last request that renewed the lease was sent."""
        self._is_failing = False
        metrics.LEADER.labels(name).set(0)

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Acquire the lease and run `lead`, until it returns. When the lease is lost, `lead` is cancelled and awaited, and the
        process becomes a candidate again.

        On cancellation the work is cancelled and awaited too. At the end the lease is released. Raises what the work raised.
        """
        try:
            while True:
                await self._acquire()
                if await self._lead(lead):
                    return
                log.warning("lease lost, trying to acquire it again", extra=self._facts())
        finally:
            await self._release()

    async def _acquire(self) -> None:
        """Observe the lease until this process has acquired it."""
        while True:
            attempt = asyncio.ensure_future(self._try_acquire())
            try:
                if await asyncio.shield(attempt):
                    log.info("lease acquired", extra=self._facts())
                    return
                self._is_failing = False
            except Conflict:
                pass  # another candidate was faster
            except (ApiError, TimeoutError) as error:
                self._log_failure(error)
            except asyncio.CancelledError:
                await asyncio.gather(
                    attempt, return_exceptions=True
                )  # it may acquire the lease, which is then released
                raise
            await asyncio.sleep(self._durations.observe_period)

    async def _try_acquire(self) -> bool:
        asked_at = time.monotonic()
        async with asyncio.timeout(self._durations.request_timeout):
            try:
                lease = await self._client.get(LEASE, self.name, self._namespace)
            except NotFound:
                metadata = {"name": self.name, "namespace": self._namespace, "annotations": dict(self._annotations)}
                lease = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
                lease = await self._client.create(LEASE, {**lease, "spec": self._spec({})})
            else:
                if not self._is_free(lease):
                    self.holder_annotations = lease["metadata"].get("annotations") or {}
                    self.term = Term.of(lease)
                    return False
                lease = await self._write(lease, self._spec(lease.get("spec") or {}))
        self._lease, self._renewed_at, self._holding = lease, asked_at, True
        self.holder_annotations, self.term = {}, Term.of(lease)
        return True

    def _is_free(self, lease: Object) -> bool:
        """Report whether it has no holder, this process holds it, or it has not changed for its duration."""
        now = time.monotonic()
        self._observed.observe(lease, now)
        return self._observed.holder == self.holder or not self._observed.remaining(now)

    def _spec(self, before: Object) -> Object:
        now = _micro_time()
        kept = before.get("holderIdentity") == self.holder
        return {
            **before,
            "holderIdentity": self.holder,
            "leaseDurationSeconds": max(1, round(self._durations.duration)),
            "acquireTime": before.get("acquireTime", now) if kept else now,
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if before and not kept else 0),
        }

    async def _write(self, lease: Object, spec: Object) -> Object:
        """Replace the lease if it has not changed since it was read. Raises Conflict."""
        path = LEASE.path(self._namespace, self.name)
        metadata = lease["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **self._annotations}
        body = {**lease, "metadata": {**metadata, "annotations": annotations}, "spec": spec}
        return await self._client.request("PUT", path, body=body)

    async def _lead(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Run the work and renew the lease. True if the work has finished, False if it was cancelled because the lease was
        lost."""
        with Watchdog(f"{self.name} lease", "the work has not ended before the lease can expire: exiting") as watchdog:
            work = asyncio.create_task(lead(), name=f"{self.name} leading")
            renewal = asyncio.create_task(self._renew(watchdog), name=f"{self.name} renewing")
            metrics.LEADER.labels(self.name).set(1)
            try:
                await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
                ended = work.done()
            finally:
                work.cancel()
                await asyncio.wait({work})  # the lease is still renewed, unless it is lost
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
        durations = self._durations
        while self._holding:
            watchdog.arm(self._renewed_at + durations.duration)
            lost_at = self._renewed_at + durations.renew_deadline
            await asyncio.sleep(max(0.0, min(durations.renew_period, lost_at - time.monotonic())))
            if time.monotonic() < lost_at:
                await self._renew_once(lost_at)
            else:
                self._holding = False

    async def _renew_once(self, lost_at: float) -> None:
        """One attempt. After a failed one the lease is read first; it is lost if another process holds it."""
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(min(self._durations.request_timeout, lost_at - asked_at)):
                lease = self._lease or await self._read_own()
                if lease is None:
                    self._holding = False
                    return
                self._lease = None
                self._lease = await self._write(lease, self._spec(lease["spec"]))
            self._renewed_at, self._is_failing = asked_at, False
        except Conflict:
            pass
        except (ApiError, TimeoutError) as error:
            self._log_failure(error)

    async def _read_own(self) -> Object | None:
        """The lease; None if this process does not hold it."""
        metrics.LEADER_SLOWPATH.labels(self.name).inc()
        try:
            lease = await self._client.get(LEASE, self.name, self._namespace)
        except NotFound:
            return None
        return lease if (lease.get("spec") or {}).get("holderIdentity") == self.holder else None

    async def _release(self) -> None:
        """Release the lease, if this process holds it, so that another one need not wait until it expires."""
        if not self._holding:
            return
        self._holding = False
        try:
            async with asyncio.timeout(self._durations.request_timeout):
                while not await self._release_once():
                    pass
            log.info("lease released", extra=self._facts())
        except (ApiError, TimeoutError) as error:
            log.warning("lease not released, it will expire", extra={**self._facts(), "error": str(error)})

    async def _release_once(self) -> bool:
        """Release the lease as it was read; False if it has changed in the meantime and has to be read again."""
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
        if not self._is_failing:
            text = str(error) or type(error).__name__
            log.warning("lease cannot be read or written, trying again", extra={**self._facts(), "error": text})
        self._is_failing = True
