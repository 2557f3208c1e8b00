"""Carries out the Plan for one Bundle: starts, keeps and ends its unpack job. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from olmkit.jobs.job import Task
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.staging import Staging
from olmkit.runtime.api_server_addresses import ApiServerAddresses
from olmkit.runtime.source_secrets import SourceSecrets
from olmkit.sources.access import Access
from olmkit.sources.source import server_of
from olmkit.store.store import Store
from rukpak.bundle.garbage_collector import GarbageCollector
from rukpak.bundle.storage import publish_job_output
from rukpak.bundle.unpack_request import UNPACK, UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.bundle.world import Done, Keep, Plan, Release, Unpack, World

PROGRESS_INTERVAL = timedelta(seconds=10)
"""The time between two updates of the status while a bundle is unpacked. The end of the job enqueues the Bundle."""


@dataclass(frozen=True)
class BundleActions:
    """`directory` is the directory of the store. `access` describes how to reach servers, without the addresses of the API
    server and without credentials."""

    jobs: Jobs[UnpackResult]
    store: Store
    directory: Path
    access: Access
    api_servers: ApiServerAddresses
    secrets: SourceSecrets
    collector: GarbageCollector

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out the Plan. Raises ApiError, and Blocked if a Secret of the Bundle cannot be used."""
        match plan:
            case Keep():
                return Done(plan)
            case Release():
                self.jobs.cancel(world.name)
                self.collector.request()
                return Done(plan)
            case Unpack():
                return await self._unpack(world, plan)

    async def _unpack(self, world: World, plan: Unpack) -> Done:
        access = self.access.with_denied_hosts(await self.api_servers.hosts())
        access = access.with_credentials(await self.secrets.credentials(world.secret))
        request = UnpackRequest(plan.source, plan.content_type, self.directory, access, replace=bool(plan.replaceable))
        finish = partial(publish_job_output, self.store, plan.content_type, plan.replaceable, plan.source)
        task = Task(UNPACK, request, source=server_of(plan.source), staging=Staging(self.store.stage, finish))
        async with self.collector.collecting:
            if plan.restart:
                self.jobs.forget(world.name)
            state = self.jobs.ensure(world.name, world.identity, task)
        return Done(plan, state, PROGRESS_INTERVAL)
