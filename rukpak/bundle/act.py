"""Carries out the Plan for one Bundle: reads the inputs of its source; starts, keeps and ends its unpack job. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path

from olmkit.api.bundles import Reason
from olmkit.errors import Blocked
from olmkit.jobs.job import Task
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.staging import Staging
from olmkit.jobs.state import Queued, Running
from olmkit.runtime.source_inputs import SourceInputs
from olmkit.sources import configmaps
from olmkit.sources.access import Access
from olmkit.sources.resolved_source import pinned
from olmkit.sources.source import ConfigMapsSource, Source, server_of
from olmkit.store.store import Store
from rukpak.bundle.garbage_collector import GarbageCollector
from rukpak.bundle.source_problem import source_problem
from rukpak.bundle.storage import publish_job_output
from rukpak.bundle.unpack_request import UNPACK, UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.bundle.uploads.reader import UploadReader
from rukpak.bundle.uploads.stored_upload import Upload
from rukpak.bundle.world import AwaitUpload, Done, Keep, Plan, Release, Unpack, World

PROGRESS_INTERVAL = timedelta(seconds=10)
"""The time between two updates of the status while a bundle is unpacked. The end of the job enqueues the Bundle."""


MAX_HELD_BYTES = 64 * 1024**2
"""Bytes of files of ConfigMaps that jobs hold while they are queued or run; a Bundle beyond them waits."""
HELD_RETRY_DELAY = timedelta(seconds=5)


@dataclass(frozen=True)
class BundleActions:
    """`directory` is the directory of the store. `access` describes how to reach servers, without the addresses of the API
    server and without credentials."""

    jobs: Jobs[UnpackResult]
    store: Store
    directory: Path
    access: Access
    inputs: SourceInputs
    collector: GarbageCollector
    uploads: UploadReader
    _held: dict[str, int] = field(default_factory=dict)
    """The bytes of files of ConfigMaps by the name of the Bundle whose job was last started with them."""

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out the Plan. Raises ApiError, and Blocked if a Secret or ConfigMap of the Bundle cannot be used."""
        match plan:
            case Keep() | AwaitUpload():
                return Done(plan)
            case Release():
                self.jobs.cancel(world.name)
                self.collector.request()
                return Done(plan)
            case Unpack():
                return await self._unpack(world, plan)

    async def _unpack(self, world: World, plan: Unpack) -> Done:
        assert world.bundle is not None
        if plan.source is None and isinstance(world.job, Queued | Running):
            return Done(plan, world.job, PROGRESS_INTERVAL)  # it has the files
        if plan.source is None and self._held_bytes() >= MAX_HELD_BYTES:
            return Done(plan, Queued(world.identity), HELD_RETRY_DELAY)
        source = plan.source or await self._files(world)
        access = self.access.with_denied_hosts(await self.inputs.denied_hosts())
        access = access.with_credentials(await self.inputs.credentials(world.bundle.spec.source))
        policy = await self.inputs.signature_policy(world.bundle.spec.source)
        access = access.with_policy(policy.with_verified(world.verified_digest) if policy is not None else None)
        request = UnpackRequest(source, plan.content_type, self.directory, access, replace=bool(plan.replaceable))
        finish = partial(publish_job_output, self.store, request, plan.replaceable)
        fill = partial(self.uploads.write, _upload(world)) if world.stored_upload else None
        task = Task(UNPACK, request, source=server_of(source), staging=Staging(self.store.stage, finish, fill))
        async with self.collector.collecting:
            if plan.restart:
                self.jobs.forget(world.name)
            state = self.jobs.ensure(world.name, world.identity, task)
        if isinstance(source, ConfigMapsSource):
            self._held[world.name] = sum(len(data) for _, data in source.files)
        return Done(plan, state, PROGRESS_INTERVAL)

    async def _files(self, world: World) -> Source:
        """The files of the ConfigMaps, which have to be immutable and, if the Bundle has resolved them before, the same."""
        assert world.bundle is not None
        spec = world.bundle.spec.source
        maps = await self.inputs.config_maps(spec)
        mutable = configmaps.mutable_names(maps)
        if text := source_problem(spec, mutable):
            raise Blocked(Reason.UNPACK_FAILED, text, mutable)
        return pinned(configmaps.gather(maps), world.resolved)

    def _held_bytes(self) -> int:
        """The bytes of files that jobs hold, which are part of their requests."""
        for name in list(self._held):
            if not isinstance(self.jobs.state(name), Queued | Running):
                del self._held[name]
        return sum(self._held.values())


def _upload(world: World) -> Upload:
    """The upload that is stored for the Bundle."""
    assert world.bundle is not None
    assert world.stored_upload is not None
    metadata, stored = world.bundle.metadata, world.stored_upload
    return Upload(metadata.name, metadata.uid, stored.digest, stored.size)
