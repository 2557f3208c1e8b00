"""Runs custom tests as pods on a cluster, stage after stage, and removes what it has created.

A test that does not end in its time fails with what its pod waits for. Logs are kept in the results.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from olmctl.scorecard.configuration import Stage, TestSpec
from olmctl.scorecard.pods import CONTAINER, RUN_LABEL, BundleVolume, PodState, Run, bundle_volume, pod_of, state_of
from olmctl.scorecard.results import Outcome, Result, State, failed, results_of
from olmctl.scorecard.storage import PODS, NotCopied, Packer, copy_out
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
POLL_SECONDS = 0.5
MAX_LOG_BYTES = 1024**2
MIN_COPY_SECONDS = 60.0
"""The time for the files of one test, if its own time is shorter."""
MAX_PODS = 32
"""Pods that run at a time."""

Progress = Callable[[str], None]


def new_run(namespace: str, service_account: str, *, restricted: bool) -> Run:
    """A run with a name of its own."""
    return Run(f"scorecard-{secrets.token_hex(4)}", namespace, service_account, restricted)


@dataclass(frozen=True)
class StorageCopy:
    """The way in which the files of tests are copied. `directory` has one directory for each pod; `mount_path` is the place in
    pods of tests that name none."""

    packer: Packer
    directory: Path
    mount_path: str = ""

    def path_of(self, spec: TestSpec) -> str:
        """The place where a test stores files; "" if it stores none."""
        return spec.mount_path or self.mount_path


@dataclass
class PodRunner:
    """The pods of one run. Enter it to create the bundle's ConfigMaps; what the run has created is deleted at the end, unless
    `keeps_all`."""

    client: Client
    run: Run
    files: Mapping[str, bytes]
    seconds: float
    """The time that one test has."""
    keeps_all: bool = False
    progress: Progress = lambda text: None
    storage: StorageCopy | None = None
    """The way in which the files of tests are copied; None: no test stores any."""
    _count: int = 0
    _bundle: BundleVolume | None = None

    async def __aenter__(self) -> PodRunner:
        self._bundle = bundle_volume(self.run, self.files)
        try:
            for each in self._bundle.config_maps:
                await self.client.create(CONFIG_MAPS, each)
        except BaseException:
            await self._remove()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.keeps_all:
            await self._remove()

    async def outcomes(self, stage: Stage, own: Callable[[TestSpec], Outcome | None]) -> list[Outcome]:
        """The outcomes of a stage in the order of its tests; `own` gives those that need no pod."""
        limit = asyncio.Semaphore(MAX_PODS if stage.is_parallel else 1)

        async def one(spec: TestSpec) -> Outcome:
            async with limit:
                return own(spec) or await self.outcome(spec)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(spec)) for spec in stage.tests]
        return [task.result() for task in tasks]

    async def outcome(self, spec: TestSpec) -> Outcome:
        """The outcome of one test, which runs in a pod."""
        assert self._bundle is not None
        loop = asyncio.get_running_loop()
        begin, name = loop.time(), f"{self.run.name}-{self._count}"
        self._count += 1
        self.progress(f"{spec.name}: pod {name}")
        path = self.storage.path_of(spec) if self.storage is not None else ""
        storage = self.storage.packer.storage(path) if self.storage is not None and path else None
        pod = pod_of(self.run, name, spec, self._bundle, self.seconds, storage)
        try:
            await self.client.create(PODS, pod)
            state = await self._wait(name, begin + self.seconds)
            log, problem = await self._log(name) if state.has_run else ("", "")
        except ApiError as error:
            return failed(spec, error.message, state=State.ERROR, seconds=loop.time() - begin)
        outcome = _outcome(spec, state, log, problem, self.seconds, loop.time() - begin)
        return await self._with_files(outcome, name, path) if path and state.has_run else outcome

    async def _with_files(self, outcome: Outcome, pod: str, path: str) -> Outcome:
        """The outcome with the files that the test has stored; with an error if they cannot be copied."""
        assert self.storage is not None
        self.progress(f"{outcome.spec.name}: copying the files in {path}")
        files = self.storage.directory / pod
        try:
            async with asyncio.timeout(max(self.seconds, MIN_COPY_SECONDS)):
                await copy_out(self.client, self.run.namespace, pod, self.storage.packer.packing(path), files)
        except (NotCopied, TimeoutError) as error:
            text = f"its files in {path} are not copied: {str(error) or 'not in time'}"
            return replace(outcome, results=(*outcome.results, Result(outcome.spec.name, State.ERROR, [text])))
        return replace(outcome, files=files)

    async def _wait(self, name: str, deadline: float) -> PodState:
        """The state of the pod when it has ended, or when its time is over. Raises ApiError."""
        while True:
            try:
                state = state_of(await self.client.get(PODS, name, self.run.namespace))
            except NotFound:
                return PodState(is_ended=True, has_run=False, failure="its pod was deleted")
            if state.is_ended or asyncio.get_running_loop().time() > deadline:
                return state
            await asyncio.sleep(POLL_SECONDS)

    async def _log(self, name: str) -> tuple[str, str]:
        """The log of the pod, and the reason why it cannot be read."""
        path = f"{PODS.path(self.run.namespace, name)}/log"
        try:
            return await self.client.read_text(path, {"container": CONTAINER, "limitBytes": str(MAX_LOG_BYTES)}), ""
        except ApiError as error:
            return "", f"its log cannot be read: {error.message}"

    async def _remove(self) -> None:
        """Delete what the run has created, also if the command was interrupted."""
        selector = f"{RUN_LABEL}={self.run.name}"

        async def remove(kind: Kind) -> None:
            items, _ = await self.client.list(kind, self.run.namespace, selector, metadata_only=True)
            for each in items:
                with suppress(NotFound):
                    await self.client.delete(kind, _name(each), self.run.namespace)

        await _uninterrupted(remove(PODS))
        await _uninterrupted(remove(CONFIG_MAPS))


async def _uninterrupted(work: Awaitable[None]) -> None:
    """Finish the work also if this task is cancelled, and raise the cancellation then."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _name(found: Object) -> str:
    name: str = found["metadata"]["name"]
    return name


def _outcome(spec: TestSpec, state: PodState, log: str, problem: str, limit: float, seconds: float) -> Outcome:
    """The outcome of a pod that has ended, or whose time is over."""
    if not state.is_ended:
        return failed(spec, f"not within {limit:g} seconds: {state.failure}", log, seconds=seconds)
    try:
        results = results_of(log) if log else []
    except ValueError as error:
        text = state.failure or f"its log is not the JSON of results: {error}"
        return failed(spec, text, log, seconds=seconds)
    if problem or state.failure or not results:
        why = state.failure or problem or "it printed no results"
        results = [*results, Result(spec.name, State.FAIL, [why])]
    return Outcome(spec, tuple(results), seconds)
