"""The controller of kind Bundle: pulls each bundle's image once, keeps its content as long as a Bundle wants it, and says so.

Built by rukpak/__main__.py with the Jobs and the Store that the process shares. Bundles have no finalizer: what nobody wants any
more is collected when a Bundle is gone, and at the start. Decisions are in rukpak.bundle.decide.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.bundles import KIND, Bundle, BundleStatus, digest_of_reference, resolved_digest
from olmkit.api.conditions import StatusReport
from olmkit.api.content import Phase
from olmkit.api.meta import Object
from olmkit.errors import Waiting
from olmkit.jobs import Failed, Finished, Jobs, JobState, Queued, Running, Staging, Task
from olmkit.runtime.api_server_addresses import ApiServerAddresses
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.manager import Manager, Settings
from olmkit.runtime.publish import Publisher
from olmkit.runtime.reconciler import Decision, Reconciler
from olmkit.sources.access import Access
from olmkit.store.store import Store
from rukpak.bundle.decide import (
    CONTENT_TYPES,
    Broke,
    Done,
    Ended,
    Job,
    Keep,
    Plan,
    Unpack,
    Working,
    World,
    decide,
    report,
    rival_text,
)
from rukpak.bundle.storage import publish_job_output, whole_type_of
from rukpak.bundle.unpack import UNPACK, UnpackRequest, UnpackResult

NAME = "bundle"
MANAGER = "rukpak"
"""Field manager of statuses, and reporting controller of Events."""
PROGRESS_EVERY = timedelta(seconds=10)
"""While a bundle is pulled its status is renewed this often."""

log = logging.getLogger(__name__)


def controller(manager: Manager, jobs: Jobs[UnpackResult], store: Store) -> Controller:
    """The controller, wired to the manager. `store` is at `store_folder`; `jobs` has to enqueue a job's key here when it ends.

    Each turn of a Bundle hashes its content: whoever finds it missing or damaged (rukpak.bundle.unpack_job.load) gives the
    Bundle a turn by `enqueue`, and it is fetched again by the digest that was resolved first.
    """
    informer, deployments = manager.informer(KIND), manager.informer(bundledeployments.KIND)
    unpacking = Unpacking(informer, deployments, jobs, store, manager.settings, ApiServerAddresses(manager.client))
    publisher = Publisher(manager.client, KIND, MANAGER, informer)

    async def publish(world: World, told: StatusReport[BundleStatus]) -> None:
        await publisher(world.raw, told)

    reconciler: Reconciler[World, Plan, None, Done, StatusReport[BundleStatus]] = Reconciler(
        unpacking.observe,
        lambda world: Decision(decide(world), None),
        unpacking.act,
        lambda world, _, outcome: report(world, outcome),
        publish,
    )
    result = Controller(NAME, reconciler)
    result.watch(informer, keys)
    result.watch(informer, lambda change: kept_out(change, informer))
    result.watch(deployments, recorded_keys)
    manager.on_started_leading(publisher.reset)
    manager.on_started_leading(jobs.cancel_all)  # what they found may be older than what another replica said since
    manager.add_controller(result)
    manager.add_runnable(unpacking.tidy, every_replica=False)
    return result


def store_folder(settings: Settings) -> Path:
    """Where the Store of bundles is, for this process and for its jobs."""
    return settings.cache_dir / "bundles"


def keys(change: Change) -> Iterable[str]:
    """A Bundle that came, went, or was asked for differently. Its progress in its own status is no news."""
    old, new = change.old, change.new
    if (
        old is not None
        and new is not None
        and _asked(old) == _asked(new)
        and (new.get("status") or {}).get("conditions")
    ):
        return
    obj = new or old
    if obj is not None:
        yield obj["metadata"]["name"]


def kept_out(change: Change, informer: Informer) -> Iterable[str]:
    """When a Bundle goes or is asked for differently: those that say that it keeps them from being unpacked."""
    old, new = change.old, change.new
    if old is None or (new is not None and _asked(old) == _asked(new)):
        return
    rival = rival_text(old["metadata"]["name"])
    for (_, name), raw in informer.objects.items():
        status = raw.get("status") or {}
        if status.get("phase") == Phase.FAILING and any(
            rival in condition["message"] for condition in status.get("conditions") or ()
        ):
            yield name


def recorded_keys(change: Change) -> Iterable[str]:
    """The Bundle of which a BundleDeployment records something new: one that was made again may have come before its record."""
    record = _record(change.new)
    if record is not None and record != _record(change.old):
        yield record["bundle"]


def recorded_image(bundle: Bundle, deployment: Callable[[str], Object | None]) -> str:
    """The image by digest that the BundleDeployment that controls the Bundle records for it; empty when it records none.

    Only rukpak writes that record, and only of what its registry gave: it is the status.
    """
    owner = next((one for one in bundle.metadata.owner_references if one.controller), None)
    raw = deployment(owner.name) if owner is not None and owner.kind == bundledeployments.KIND.kind else None
    if raw is None or owner is None or raw["metadata"]["uid"] != owner.uid:
        return ""
    record = BundleDeployment.load(raw).status.installed
    if record is None or (record.bundle, record.spec) != (bundle.metadata.name, bundle.spec):
        return ""
    return record.image or ""


def _record(raw: Object | None) -> Object | None:
    record: Object | None = ((raw or {}).get("status") or {}).get("installed")
    return record


def _asked(raw: Object) -> tuple[object, ...]:
    metadata = raw["metadata"]
    return metadata.get("uid"), metadata.get("generation"), metadata.get("deletionTimestamp")


@dataclass(frozen=True)
class Unpacking:
    """The shell around the decision: reads the informer, the store and the jobs; starts jobs and removes content."""

    informer: Informer
    deployments: Informer
    jobs: Jobs[UnpackResult]
    store: Store
    settings: Settings
    api_servers: ApiServerAddresses
    _collecting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """While it is held content is removed, and no job starts: what it found in the store must stay."""
    _postponed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when content was not removed for a job that ran."""

    async def observe(self, key: str) -> World | None:
        """None when the Bundle is gone: its job ends and its content goes unless another Bundle wants it."""
        raw = self.informer.get(key)
        if raw is None:
            self.jobs.cancel(key)
            await self.collect()
            return None
        bundle = Bundle.load(raw)
        recorded = recorded_image(bundle, self.deployments.get)
        world = World(now=datetime.now(UTC), raw=raw, bundle=bundle, job=self._job(key, bundle), recorded=recorded)
        provisioner = bundle.spec.provisioner_class_name
        if self._postponed.is_set() and not isinstance(world.job, Working):
            await self.collect()
        ref = world.resolved or (world.job.ref if isinstance(world.job, Ended) else "")
        digest = digest_of_reference(ref)
        try:
            known = await asyncio.to_thread(whole_type_of, self.store, digest) if digest else ""
        except Waiting as error:
            return replace(world, unreadable=error)
        if known:
            matches = known == CONTENT_TYPES.get(provisioner)
            return replace(world, present=matches, rival="" if matches else self._rival(key, ref, provisioner))
        if isinstance(world.job, Ended) and not world.job.problem:
            self.jobs.forget(key)  # published, and lost since
            return replace(world, job=None)
        return world

    async def act(self, world: World, plan: Plan) -> Done:
        """Starts or keeps the job."""
        match plan:
            case Keep():
                return Done(plan)
            case Unpack():
                name = world.bundle.metadata.name
                replaceable = ""
                if isinstance(world.job, Ended):
                    self.jobs.forget(name)  # what it found belonged to another Bundle, which is gone
                    replaceable = digest_of_reference(world.job.ref)
                request = self._request(plan, await self.api_servers.hosts())
                finish = partial(publish_job_output, self.store, plan.content_type, replaceable, plan.ref)
                task = Task(UNPACK, request, staging=Staging(self.store.stage, finish))
                async with self._collecting:
                    state = self.jobs.ensure(name, _identity(world.bundle), task)
                return Done(plan, _seen(state), _after(state))

    async def tidy(self) -> None:
        """Once at the start: leftovers of killed jobs, and content of Bundles that went while nobody looked."""
        await self.informer.synced.wait()
        await asyncio.to_thread(self.store.remove_abandoned_staging)
        await self.collect()

    async def collect(self) -> None:
        """Remove the content of every digest that no Bundle has resolved and no job has found or published.

        What a job that runs is about to publish nobody knows: then nothing is removed until the last one has ended.
        """
        async with self._collecting:
            states = [self.jobs.state(name) for _, name in self.informer.objects]
            if any(isinstance(state, Queued | Running) for state in states):
                self._postponed.set()
                return
            self._postponed.clear()
            here = await asyncio.to_thread(self.store.digests)
            # Only now: what came to be wanted while the disk was read is wanted.
            wanted = {resolved_digest(raw) for raw in self.informer.objects.values()}
            for _, name in self.informer.objects:
                state = self.jobs.state(name)
                if isinstance(state, Finished):
                    wanted.add(state.result.digest)
            for digest in sorted(here - wanted):
                await asyncio.to_thread(self.store.remove, digest)
                log.info("content removed (no Bundle has it)", extra={"digest": digest})

    def _request(self, plan: Unpack, denied: tuple[str, ...]) -> UnpackRequest:
        settings = self.settings
        access = Access(settings.registries_conf, settings.pull_cas_dir, settings.allow_source_cidr, denied)
        return UnpackRequest(plan.ref, plan.content_type, store_folder(settings), access, plan.replace)

    def _job(self, key: str, bundle: Bundle) -> Job:
        """The job of this very spec; one of a Bundle of the same name before it does not count."""
        state = self.jobs.state(key)
        return _seen(state) if state is not None and state.identity == _identity(bundle) else None

    def _rival(self, key: str, ref: str, provisioner: str) -> str:
        digest = digest_of_reference(ref)
        rivals = (
            raw["metadata"]["name"]
            for raw in self.informer.objects.values()
            if resolved_digest(raw) == digest and raw["spec"]["provisionerClassName"] != provisioner
        )
        return min((name for name in rivals if name != key), default="")


def _identity(bundle: Bundle) -> str:
    return f"{bundle.metadata.uid}/{bundle.metadata.generation}"


def _seen(state: JobState[UnpackResult]) -> Job:
    match state:
        case Queued():
            return Working(started=False)
        case Running(progress=progress):
            return Working(progress)
        case Finished(result=result):
            return Ended(result.ref, result.problem)
        case Failed(error=error):
            return Broke(error)


def _after(state: JobState[UnpackResult]) -> timedelta | None:
    """When to look again; the end of a job wakes its key by itself."""
    match state:
        case Queued() | Running():
            return PROGRESS_EVERY
        case Finished():
            return timedelta(0)
        case Failed(error=Waiting() as error, finished_at=finished_at):
            return max(timedelta(seconds=finished_at - time.monotonic()) + error.after, timedelta(0))
        case Failed():
            return None
