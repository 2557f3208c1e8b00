"""Runs custom tests as pods on a cluster, stage after stage, and removes what it has created, or a run before that was killed.

A test that does not end in its time fails with what its pod waits for. Logs are kept in the results.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from olmctl.scorecard.configuration import Stage, TestSpec
from olmctl.scorecard.pods import (
    CONTAINER,
    CREATED_BY,
    GATHER,
    RUN_LABEL,
    BundleVolume,
    PodState,
    Run,
    bundle_volume,
    is_left,
    pod_of,
    state_of,
)
from olmctl.scorecard.results import Outcome, Result, State, failed, results_of, with_suggestions
from olmctl.scorecard.storage import PODS, CopiedFiles, NotCopied, Packer, copy_out
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
POLL_SECONDS = 0.5
MAX_LOG_BYTES = 1024**2
MAX_RUN_LOG_BYTES = 64 * 1024**2
"""Bytes of the logs of all tests of a run."""
MIN_COPY_SECONDS = 60.0
"""The time for the files of one test, if its own time is shorter."""
MIN_PULL_SECONDS = 10.0
"""The time for the image that packs files, after the test has ended and if less of its time is left."""
MAX_NAMED_LINKS = 10
MAX_PODS = 32
"""Pods that run at a time."""
_DELAY_SECONDS = 300
"""Seconds for the requests of one test."""
_MAX_LONGEST = 10**9 - 1

Progress = Callable[[str], None]


def new_run(namespace: str, service_account: str, *, restricted: bool, longest: int = 0) -> Run:
    """A run with a name of its own."""
    return Run(f"scorecard-{secrets.token_hex(4)}", namespace, service_account, restricted, longest)


def longest_run(stages: Sequence[Stage], seconds: float, *, stores_files: bool) -> int:
    """The seconds that the stages take at most: more than they ever need, if each test has so many `seconds`."""
    one = seconds + _DELAY_SECONDS + (max(seconds, MIN_COPY_SECONDS) if stores_files else 0)
    rounds = sum(-(-len(each.tests) // MAX_PODS) if each.is_parallel else len(each.tests) for each in stages)
    return int(min(rounds * one + _DELAY_SECONDS, _MAX_LONGEST))


@dataclass(frozen=True)
class StorageCopy:
    """The way in which the files of tests are copied. `directory` has one directory for each pod; `mount_path` is the place in
    pods of tests that name none."""

    packer: Packer
    directory: Path
    mount_path: str = ""
    copied: CopiedFiles = field(default_factory=CopiedFiles)

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
    _log_bytes: int = 0
    _bundle: BundleVolume | None = None

    async def __aenter__(self) -> PodRunner:
        self._bundle = bundle_volume(self.run, self.files)
        try:
            for each in self._bundle.config_maps:
                created = await self.client.create(CONFIG_MAPS, each)
                if each is self._bundle.config_maps[0]:
                    await self._remove_left(created["metadata"]["creationTimestamp"])
        except BaseException:
            await self._remove(self.run.name)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.keeps_all:
            await self._remove(self.run.name)

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
        if path and state.has_run:
            return await self._with_files(outcome, name, path, begin + self.seconds)
        return outcome

    async def _with_files(self, outcome: Outcome, pod: str, path: str, deadline: float) -> Outcome:
        """The outcome with the files that the test has stored; with an error if they cannot be copied."""
        assert self.storage is not None
        self.progress(f"{outcome.spec.name}: copying the files in {path}")
        files = self.storage.directory / pod
        try:
            await self._wait_for_packing(pod, deadline)
            async with asyncio.timeout(max(self.seconds, MIN_COPY_SECONDS)):
                packing, copied = self.storage.packer.packing(path), self.storage.copied
                left_out = await copy_out(self.client, self.run.namespace, pod, packing, files, copied)
        except (NotCopied, TimeoutError) as error:
            text = f"its files in {path} are not copied: {str(error) or 'not in time'}"
            return replace(outcome, results=(*outcome.results, Result(outcome.spec.name, State.ERROR, [text])))
        return replace(with_suggestions(outcome, _links(path, left_out)), files=files)

    async def _wait_for_packing(self, name: str, deadline: float) -> None:
        """Wait until the container that packs files runs; its image may still be pulled. Raises NotCopied, with what it waits
        for."""
        end = max(deadline, asyncio.get_running_loop().time() + MIN_PULL_SECONDS)
        try:
            while True:
                state = state_of(await self.client.get(PODS, name, self.run.namespace), GATHER)
                if state.has_run and not state.is_ended:
                    return
                if state.is_ended or asyncio.get_running_loop().time() > end:
                    raise NotCopied(f"the container that packs them does not run: {state.failure or 'it has ended'}")
                await asyncio.sleep(POLL_SECONDS)
        except ApiError as error:
            raise NotCopied(error.message) from error

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
        limit = min(MAX_LOG_BYTES, MAX_RUN_LOG_BYTES - self._log_bytes)
        if limit <= 0:
            return (
                "",
                f"its log is not read: the logs of this run have {MAX_RUN_LOG_BYTES:,} bytes, the most that are read",
            )
        path, text = f"{PODS.path(self.run.namespace, name)}/log", ""
        self._log_bytes += limit
        try:
            text = await self.client.read_text(path, {"container": CONTAINER, "limitBytes": str(limit)})
        except ApiError as error:
            return "", f"its log cannot be read: {error.message}"
        finally:
            self._log_bytes -= limit - min(limit, len(text.encode()))
        return text, ""

    async def _remove_left(self, now: str) -> None:
        """Delete what runs have left that were killed. Nothing depends on it: an error of the API server is no reason to end."""
        selector = ",".join((*(f"{key}={value}" for key, value in CREATED_BY.items()), RUN_LABEL))
        with suppress(ApiError):
            maps, _ = await self.client.list(CONFIG_MAPS, self.run.namespace, selector, metadata_only=True)
            for run in sorted({each["metadata"]["labels"][RUN_LABEL] for each in maps if is_left(each, now)}):
                self.progress(f"removing the pods and ConfigMaps {run}-*, whose run was killed")
                await self._remove(run)

    async def _remove(self, run: str) -> None:
        """Delete what a run has created, also if the command was interrupted: the ConfigMaps last, by which it is found."""
        selector = f"{RUN_LABEL}={run}"

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


def _links(path: str, left_out: Sequence[str]) -> list[str]:
    """Sentences about links that were not copied, and the number of those that are not named."""
    named = [f"what it stores in {path} {each}: it is not copied" for each in left_out[:MAX_NAMED_LINKS]]
    more = len(left_out) - len(named)
    return [*named, *([f"and {more:,} more links are not copied"] if more else [])]


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
