"""Removes content that no Bundle has, and no BundleDeployment records, from the store.

It deletes the content of deleted Bundles, because Bundles have no finalizer. It is a runnable of the manager, on the leader only.
rukpak.bundle.act requests a collection when a Bundle is gone. It waits until no job is queued or runs, because the content that
a job will find in the store is not known, but not for ever: sources that never answer keep jobs queued. A Bundle whose job has
found content that is removed then has it fetched again.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field

from olmkit.errors import OlmError
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Finished
from olmkit.runtime.informer import Informer
from olmkit.store.store import Store
from rukpak.bundle.recorded_sources import recorded_digests, resolved_digest
from rukpak.bundle.unpack_result import UnpackResult

RETRY_DELAY_SECONDS = 60.0
"""The time to the next attempt after the store could not be read or written."""

MAX_IDLE_WAIT_SECONDS = 600.0
"""The time that a collection waits for jobs to end."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GarbageCollector:
    """All calls from one event loop."""

    bundles: Informer
    deployments: Informer
    jobs: Jobs[UnpackResult]
    store: Store
    collecting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """The lock that is held while content is removed. No job may start in this time, because the content that it finds in the
    store must stay."""
    _requested: asyncio.Event = field(default_factory=asyncio.Event)

    def request(self) -> None:
        """Request the removal of content that is not used."""
        self._requested.set()

    async def run(self) -> None:
        """Remove the leftovers of an earlier process, then collect once and at each request, until cancelled."""
        self.request()
        while True:
            await self._requested.wait()
            is_idle = await self._idle()
            await self.bundles.fresh.wait()
            await self.deployments.fresh.wait()
            self._requested.clear()
            try:
                await self._collect(needs_idle=is_idle)
            except (OSError, OlmError) as error:
                self.request()
                log.warning("content that is not used cannot be removed, trying again", extra={"error": str(error)})
                await asyncio.sleep(RETRY_DELAY_SECONDS)

    async def _idle(self) -> bool:
        """Wait until no job is queued or runs; False if that took too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_IDLE_WAIT_SECONDS):
                await self.jobs.idle()
        return self.jobs.is_idle

    async def _collect(self, *, needs_idle: bool) -> None:
        async with self.collecting:
            if needs_idle and not self.jobs.is_idle:  # one started while this waited for the lock
                self.request()
                return
            await asyncio.to_thread(self.store.remove_abandoned_staging)
            stored = await asyncio.to_thread(self.store.digests)
            # Read after the store: content that is wanted since then stays.
            for digest in sorted(stored - self._wanted()):
                if digest in self._wanted():  # a job has found it meanwhile
                    continue
                await asyncio.to_thread(self.store.remove, digest)
                log.info(
                    "content removed (no Bundle has it, and no BundleDeployment records it)", extra={"digest": digest}
                )

    def _wanted(self) -> set[str]:
        """The digests that Bundles have resolved, that jobs have found for them, or that BundleDeployments record."""
        wanted = {resolved_digest(raw) for raw in self.bundles.objects.values()}
        for _, name in self.bundles.objects:
            state = self.jobs.state(name)
            if isinstance(state, Finished):
                wanted.add(state.result.digest)
        return wanted.union(*map(recorded_digests, self.deployments.objects.values()))
