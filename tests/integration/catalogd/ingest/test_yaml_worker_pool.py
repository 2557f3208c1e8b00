"""YAML that is parsed by workers: the result is the same as in the job, and no process stays."""

from __future__ import annotations

import asyncio
import faulthandler
import io
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogd.ingest.catalog_files import MAX_WORKER_DOCUMENT_BYTES, CatalogFiles
from catalogd.ingest.content_writer import ContentWriter
from catalogd.ingest.load_task import LOAD, LoadRequest, LoadResult, LoadTaskFactory
from catalogd.ingest.yaml_worker import FileBlobs
from catalogd.ingest.yaml_worker_pool import WorkerDied, YamlWorkerPool
from devcluster.processes import children
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.fbc.documents import RawDocument
from olmkit.fbc.errors import BadCatalog
from olmkit.jobs.job import JobReason, Limits, Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished, JobState
from olmkit.sources.access import Access
from olmkit.sources.content_limits import CATALOG_LIMITS
from olmkit.sources.credentials import Credentials
from olmkit.sources.oci.layers import Budget, unpack
from olmkit.sources.source import ConfigMapsSource
from olmkit.sources.tree import Tree
from olmkit.store.store import Store
from tests.examples import example_count
from tests.images import Entry, file, tar
from tests.integration.catalogd.ingest.yaml_worker_jobs import READ_ONE
from tests.integration.olmkit.jobs.test_scheduler import parent_of

DIGEST = "sha256:" + "c" * 64
Layers = Sequence[Sequence[Entry]]


def found(layers: Layers, workers: YamlWorkerPool | None) -> dict[str, bytes] | str:
    """All files of the content, or the error."""
    with tempfile.TemporaryDirectory() as directory, ContentWriter(Path(directory), DIGEST) as writer:
        files = CatalogFiles(writer, Path(directory), workers)
        tree = Tree(files, ("configs",), CATALOG_LIMITS)
        for number, layer in enumerate(layers, start=1):
            tree.layer = number
            unpack(io.BytesIO(tar(layer)), tree, Budget(CATALOG_LIMITS.bytes, CATALOG_LIMITS.files))
        tree.finish()
        try:
            writer.finish(files.ranges("configs"))
        except BadCatalog as error:
            return str(error)
        return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


def bundle(number: int) -> str:
    """The document of a bundle, with features that only YAML has."""
    return (
        f"schema: olm.bundle\nname: p.v1.{number}.0\npackage: p\nimage: i/p:{number}\n"
        "relatedImages:\n- &a {image: x, name: y}\n- *a\n"
        f"properties:\n- type: olm.package\n  value: {{packageName: p, version: 1.{number}.0}}\n"
        f"- type: other\n  value: [1.50, 0x1F, yes, 1e400, '{'x' * number * 40}', 12345678901234567890123, !!str 7]\n"
    )


GOOD = [
    "schema: olm.package\nname: p\ndefaultChannel: stable\n",
    "schema: olm.channel\nname: stable\npackage: p\nentries:\n- name: p.v1.1.0\n- {name: p.v1.2.0, replaces: p.v1.1.0}\n",
    *map(bundle, range(1, 5)),
    "schema: olm.bundle\nname: bad\npackage: p\nproperties: 7\n",
    "schema: x\n",
    "schema: x\nmany: [&a [1, 2, 3, 4], &b [*a, *a, *a], [*b, *b, *b, *b]]\n",
    '{"schema": "x", "name": "json"}\n',
]
FAULTS = [
    "name: none\n",
    "- no mapping\n",
    "schema: x\na: [\n",
    "schema: x\n\tb: 1\n",
    "schema: x\nSchema: y\n",
    "schema: [x]\n",
    "schema: x\na: *nowhere\n",
    "schema: \x00\n",
    "",
    "# nothing\n",
]
DOCUMENTS = st.one_of(st.sampled_from(GOOD), st.sampled_from(GOOD), st.sampled_from(GOOD), st.sampled_from(FAULTS))
SEPARATORS = st.sampled_from(
    ["---\n", "---\n", "---\n", "---\n", "--- # one\n", "--- no separator\n", "---\n---\n", ""]
)
FILES = st.lists(st.tuples(SEPARATORS, DOCUMENTS).map("".join), max_size=8).map("".join)
NAMES = st.sampled_from(["a.yaml", "b.yaml", "c/d", "e.json", "z"])
ENTRIES = st.tuples(NAMES, FILES).map(lambda each: file(f"configs/{each[0]}", each[1]))


@settings(deadline=None, max_examples=example_count(50))
@given(st.lists(st.lists(ENTRIES, max_size=4), min_size=1, max_size=2), st.sampled_from([1, 200, 1000, 100_000]))
def test_workers_parse_like_the_job(layers: Layers, batch_bytes: int) -> None:
    with YamlWorkerPool(batch_bytes=batch_bytes) as workers:
        assert found(layers, workers) == found(layers, None)


@pytest.mark.parametrize("fault", FAULTS[:-2])
def test_the_first_error_of_a_file_is_reported_wherever_it_is(fault: str) -> None:
    documents = [bundle(number) for number in range(1, 10)]
    for place in range(len(documents)):
        faulty = [*documents[:place], fault, *documents[place + 1 :], "- later\n"]
        layers = [[file("configs/a", "---\n".join(documents)), file("configs/b", "---\n".join(faulty))]]
        with YamlWorkerPool(batch_bytes=(1, 1000, 100_000)[place % 3]) as workers:
            result = found(layers, workers)
        assert isinstance(result, str)
        assert result == found(layers, None)
        assert result.startswith("b: line ")


def test_large_documents_keep_their_position() -> None:
    large = f"schema: x\nname: large\ntext: {'x' * MAX_WORKER_DOCUMENT_BYTES}\n"
    layers = [[file("configs/a", "---\n".join([bundle(1), large, bundle(2), "- no mapping\n", large]))]]
    layers.append([file("configs/b", "---\n".join([bundle(3), large, bundle(4)]))])
    with YamlWorkerPool() as workers:
        assert found(layers, workers) == found(layers, None)
    with YamlWorkerPool() as workers:
        assert found(layers[1:], workers) == found(layers[1:], None)


def test_results_may_be_larger_than_all_buffers() -> None:
    """Each document becomes 300 KB: neither side may block the other, and the order is kept."""
    text = (
        b"schema: x\nname: '%d'\na: &a ["
        + b"x" * 300
        + b"]\nb: &b ["
        + b"*a, " * 30
        + b"]\nc: ["
        + b"*b, " * 30
        + b"]\n"
    )
    names: list[str] = []

    def take(part: FileBlobs) -> None:
        assert not part.error
        names.extend(made.name for made in part.blobs)
        assert all(len(made.line) > 270_000 for made in part.blobs)

    with YamlWorkerPool(batch_bytes=20_000) as workers:
        for number in range(200):
            workers.add(number // 3, RawDocument(text % number, 1), take)
        workers.drain(take)
    assert names == [str(number) for number in range(200)]


def test_an_unexpected_error_is_reported() -> None:
    with YamlWorkerPool(count=1) as workers:
        workers.add(0, RawDocument(b"schema: x", "no number"), lambda part: None)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="ValidationError: "):
            workers.drain(lambda part: None)


def test_workers_end_with_their_block() -> None:
    descriptors, before = os.listdir("/proc/self/fd"), set(children(os.getpid()))
    with YamlWorkerPool(count=3) as workers:
        assert len(set(children(os.getpid())) - before) == 3
        workers.add(0, RawDocument(b"schema: x", 1), lambda part: None)
    assert set(children(os.getpid())) == before
    assert os.listdir("/proc/self/fd") == descriptors


def test_a_worker_inherits_only_its_socket() -> None:
    before = set(children(os.getpid()))
    with open("/dev/null") as ours, YamlWorkerPool() as workers:
        os.set_inheritable(ours.fileno(), True)
        workers.add(0, RawDocument(b"schema: x", 1), lambda part: None)
        workers.drain(lambda part: None)
        workers.add(0, RawDocument(b"schema: x", 1), lambda part: None)
        workers.drain(lambda part: None)
        for child in set(children(os.getpid())) - before:
            held = {int(name) for name in os.listdir(f"/proc/{child}/fd")} - {0, 1, 2}
            assert len(held) == 1
            assert os.readlink(f"/proc/{child}/fd/{held.pop()}").startswith("socket:")


@pytest.fixture
def no_stacks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Child processes die without pytest's faulthandler, which would print their stack."""
    faulthandler.disable()
    yield
    faulthandler.enable(request.config.stash[fault_handler_stderr_fd_key])


@pytest.mark.usefixtures("no_stacks")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_dies_is_noticed(number: signal.Signals) -> None:
    before = set(children(os.getpid()))
    with YamlWorkerPool() as workers:
        for child in set(children(os.getpid())) - before:
            os.kill(child, number)
        with pytest.raises(WorkerDied) as caught:
            send_large_documents(workers)
        assert caught.value.signal == number
    assert set(children(os.getpid())) == before


def send_large_documents(workers: YamlWorkerPool) -> None:
    """Send more than all buffers hold."""
    for _ in range(1000):
        workers.add(0, RawDocument(b"schema: " + b"x" * 100_000, 1), lambda part: None)


class JobRunner:
    """Jobs, one at a time."""

    def __init__(self, directory: Path) -> None:
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        limits = Limits(memory_bytes=768 << 20, cpu_seconds=60, timeout=timedelta(seconds=60))
        preload = [LOAD.module, READ_ONE.module]
        sandbox = Sandbox(writes=(directory,))
        self._mine = set(children(os.getpid()))
        self.jobs = Jobs[LoadResult](
            self.ends.put_nowait, max_concurrent=1, limits=limits, preload=preload, sandbox=sandbox
        )

    async def end(self) -> JobState[LoadResult]:
        """The state of the job once it has ended."""
        async with asyncio.timeout(60):
            await self.ends.get()
        state = self.jobs.state("key")
        assert state is not None
        return state

    async def workers(self) -> set[int]:
        """The workers of the running job, stopped as soon as they exist."""
        found: set[int] = set()
        async with asyncio.timeout(60):
            while len(found) < 2:
                for server in set(children(os.getpid())) - self._mine:
                    found.update(*map(children, children(server)))
                await asyncio.sleep(0.002)  # the processes that are awaited need the processor
        for pid in found:
            os.kill(pid, signal.SIGSTOP)
        return found


@pytest_asyncio.fixture
async def runner(tmp_path: Path) -> AsyncIterator[JobRunner]:
    made = JobRunner(tmp_path)
    yield made
    await made.jobs.close()


LOTS = "---\n".join(f"schema: x\nname: '{number}'\ntext: {'x' * 500}\n" for number in range(6000))


def load(directory: Path, text: str) -> Task[LoadRequest, LoadResult]:
    """The job that reads a catalog of two files."""
    source = ConfigMapsSource((("a.yaml", text.encode()), ("b.yaml", b"schema: x\nname: last\n")))
    return LoadTaskFactory(directory, Access()).task(source, Credentials(), None, None)


async def test_a_job_parses_yaml_with_its_workers(runner: JobRunner, tmp_path: Path) -> None:
    runner.jobs.ensure("key", "1", load(tmp_path / "store", LOTS))
    for pid in await runner.workers():
        os.kill(pid, signal.SIGCONT)
    state = await runner.end()
    assert isinstance(state, Finished)
    directory = Store(tmp_path / "store").path(state.result.digest)
    assert directory is not None
    names = [json.loads(line)["name"] for line in (directory / "all.jsonl").read_bytes().splitlines()]
    assert names == [*map(str, range(6000)), "last"]


async def test_an_error_deep_in_a_file_fails_the_job(runner: JobRunner, tmp_path: Path) -> None:
    runner.jobs.ensure("key", "1", load(tmp_path / "store", LOTS + "---\n- no mapping\n---\nname: later\n"))
    state = await runner.end()
    assert isinstance(state, Failed)
    sentence = "load FBC from filesystem: a.yaml: line 24001: a blob must be a mapping, not a list: "
    assert sentence in state.error.message


@pytest.mark.parametrize(
    ("number", "kind", "reason"),
    [
        pytest.param(signal.SIGKILL, Waiting, JobReason.OUT_OF_MEMORY, id="killed for want of memory"),
        pytest.param(signal.SIGXCPU, Blocked, JobReason.TOO_LONG, id="out of CPU time"),
        pytest.param(signal.SIGSEGV, Blocked, JobReason.CRASHED, id="crashed"),
        pytest.param(signal.SIGABRT, Blocked, JobReason.CRASHED, id="gave up"),
    ],
)
async def test_a_job_ends_like_its_worker(
    runner: JobRunner, tmp_path: Path, number: signal.Signals, kind: type[OlmError], reason: JobReason
) -> None:
    runner.jobs.ensure("key", "1", load(tmp_path / "store", LOTS))
    workers = await runner.workers()
    os.kill(min(workers), number)
    for pid in workers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)  # they may all have been ended by now
    state = await runner.end()
    assert isinstance(state, Failed)
    assert (type(state.error), state.error.reason) == (kind, reason)
    await gone(workers)
    assert list(Store(tmp_path / "store").digests()) == []


async def test_a_worker_that_exceeds_its_memory_ends_the_job(runner: JobRunner) -> None:
    limits = Limits(memory_bytes=72 << 20, cpu_seconds=60, timeout=timedelta(seconds=60))
    jobs = Jobs[dict[str, None]](
        runner.ends.put_nowait,
        max_concurrent=1,
        limits=limits,
        preload=[READ_ONE.module],
    )
    try:
        for letters, kind in ((10, Finished), (20 << 20, Failed)):
            jobs.ensure(
                "key",
                str(letters),
                Task(READ_ONE, letters),
            )
            async with asyncio.timeout(60):
                await runner.ends.get()
            state = jobs.state("key")
            assert isinstance(state, kind)
    finally:
        await jobs.close()
    assert isinstance(state, Failed)
    assert (type(state.error), state.error.reason) == (Blocked, JobReason.OUT_OF_MEMORY)


@pytest.mark.parametrize("way", ["cancelled", "killed", "without its server"])
async def test_a_killed_job_leaves_no_worker(runner: JobRunner, tmp_path: Path, way: str) -> None:
    runner.jobs.ensure("key", "1", load(tmp_path / "store", LOTS))
    workers = await runner.workers()
    job = parent_of(min(workers))
    if way == "cancelled":
        runner.jobs.cancel("key")
    elif way == "killed":
        os.kill(job, signal.SIGKILL)
    else:
        await runner.jobs.close()
    for pid in workers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)  # it may have been stopped before it could report the error
    await gone({job, *workers})


async def gone(pids: set[int]) -> None:
    """Wait until these are no processes any more, not even zombies."""

    def processes() -> set[int]:
        return {int(name) for name in os.listdir("/proc") if name.isdigit()}

    deadline = asyncio.get_running_loop().time() + 20
    while left := pids & processes():
        assert asyncio.get_running_loop().time() < deadline, f"still there: {left}"
        await asyncio.sleep(0.01)
