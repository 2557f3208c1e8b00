"""Jobs with staging: they write to a directory of their own, which is published when they have ended."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from catalogd.ingest import load_task
from catalogd.ingest.load_task import LoadResult
from olmkit.errors import Waiting
from olmkit.jobs import codec, landlock
from olmkit.jobs.job import JobReason, Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.staging import Staging
from olmkit.jobs.state import Failed, Finished, JobState, Running
from olmkit.sources.access import Access
from olmkit.sources.source import ImageSource
from olmkit.store.store import Store
from rukpak.bundle import storage
from rukpak.bundle.storage import PLAIN, REGISTRY
from rukpak.bundle.unpack_request import UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.format.bundle import FORMAT_VERSION
from tests.integration.olmkit.jobs.sandboxed_jobs import Values, job

WORK = "tests.integration.olmkit.jobs.sandboxed_jobs"
NUMBERS = itertools.count()
OTHER, OWN = "sha256:" + "1" * 64, "sha256:" + "2" * 64
MORE = "sha256:" + "3" * 64
NAME = "registry.example/a"
TAG = f"{NAME}:v1"
KEPT = f"{REGISTRY} {FORMAT_VERSION}"

with_landlock = pytest.mark.skipif(
    not landlock.abi_version(),
    reason="the kernel of this machine has no Landlock of version 2 or later: files are not protected",
)


def publish_catalog(store: Store, image: str) -> Callable[[Path, Values], None]:
    """The `finish` of jobs that load catalogs."""
    return lambda directory, values: load_task.publish_job_output(
        store, ImageSource(image), None, directory, codec.decode(LoadResult, values)
    )


def publish_bundle(store: Store, replaceable: str, image: str) -> Callable[[Path, Values], None]:
    """The `finish` of jobs that unpack bundles."""
    request = UnpackRequest(ImageSource(image), PLAIN, Path("unused"), Access())
    return lambda directory, values: storage.publish_job_output(
        store, request, replaceable, directory, codec.decode(UnpackResult, values)
    )


class JobRunner:
    """Jobs with staging in a store that has other content."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root)
        with self.store.publish(OTHER) as directory:
            (directory / "type").write_text(KEPT)
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[Values](self.ends.put_nowait, preload=[WORK], sandbox=Sandbox(reads=(root,)))
        self.finish: Callable[[Path, Values], None] = publish_catalog(self.store, TAG)

    def start(self, name: str = "fill_directory", /, **arguments: Any) -> None:
        staging = Staging(self.store.stage, self.finish)
        task = Task(job(name), arguments, staging=staging)
        self.jobs.ensure("key", str(next(NUMBERS)), task)

    async def run(self, name: str = "fill_directory", /, **arguments: Any) -> JobState[Values]:
        self.start(name, **arguments)
        async with asyncio.timeout(30):
            await self.ends.get()
        state = self.jobs.state("key")
        assert state is not None
        return state

    @property
    def staging_directories(self) -> list[Path]:
        """The directories below .staging."""
        return list((self.root / ".staging").iterdir())

    def text(self, digest: str) -> str:
        directory = self.store.path(digest)
        assert directory is not None
        assert self.store.verify(digest)
        return (directory / "type").read_text()


@pytest.fixture
async def runner(tmp_path: Path) -> AsyncIterator[JobRunner]:
    runner = JobRunner(tmp_path / "store")
    yield runner
    await runner.jobs.close()


def writing_actions(root: Path) -> list[tuple[str, ...]]:
    """Actions that change other content."""
    home = root / OTHER.replace(":", "-")
    return [
        ("write", str(home / "content" / "type")),
        ("write", str(home / "manifest.json")),
        ("write", str(home / "content" / "new")),
        ("rename", str(home), str(root / "gone")),
        ("rename", str(home / "content" / "type"), "{staging}/type"),
        ("rename", "{staging}", str(root / OWN.replace(":", "-"))),
        ("link", str(home / "content" / "type"), "{staging}/type"),
        ("make directory", str(root / OWN.replace(":", "-"))),
        ("make directory", str(root / ".staging" / "another")),
    ]


@with_landlock
async def test_a_job_writes_to_its_staging_directory_only(runner: JobRunner) -> None:
    state = await runner.run(digest=OWN, actions=writing_actions(runner.root))
    assert isinstance(state, Finished), state
    assert set(state.result["outcomes"]) <= {"EACCES", "EXDEV"}
    assert runner.text(OTHER) == KEPT
    assert runner.text(OWN) == "left"
    assert runner.staging_directories == []


@with_landlock
async def test_its_parser_writes_to_that_directory_only(runner: JobRunner) -> None:
    runner.finish = lambda directory, result: None
    named = ("write", "{staging}/content/file")
    state = await runner.run(
        "parse_in_staging", function="attempt_in_parser", actions=[named, *writing_actions(runner.root)]
    )
    assert isinstance(state, Finished), state
    assert state.result["outcomes"][0] == "done"
    assert set(state.result["outcomes"][1:]) <= {"EACCES", "EXDEV"}
    assert runner.text(OTHER) == KEPT


async def test_intact_content_is_kept_whatever_digest_a_job_returns(runner: JobRunner) -> None:
    assert isinstance(await runner.run(digest=OTHER), Finished)
    runner.finish = publish_bundle(runner.store, "", TAG)
    assert isinstance(await runner.run(digest=OTHER, ref=f"{NAME}@{OTHER}"), Finished)
    runner.finish = publish_bundle(runner.store, OWN, TAG)
    assert isinstance(await runner.run(digest=OTHER, ref=f"{NAME}@{OTHER}"), Finished)
    assert runner.text(OTHER) == KEPT
    assert runner.staging_directories == []


async def test_damaged_content_is_replaced(runner: JobRunner) -> None:
    directory = runner.store.path(OTHER)
    assert directory is not None
    (directory / "type").write_text("damaged")
    assert isinstance(await runner.run(digest=OTHER), Finished)
    assert runner.text(OTHER) == "left"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"digest": "../../x"}, id="an invalid digest"),
        pytest.param({"digest": 7}, id="a digest that is not text"),
        pytest.param({"digest": OWN, "manifest": OTHER}, id="the manifest of another digest"),
        pytest.param({"digest": OWN, "actions": [("write", "{staging}/content/more")]}, id="a file without an entry"),
        pytest.param({"digest": OWN, "actions": [("write", "{staging}/more")]}, id="a file outside the content"),
        pytest.param({"digest": OWN, "actions": [("write", "{staging}/manifest.json")]}, id="a damaged manifest"),
        pytest.param({"digest": OWN, "actions": [("remove", "{staging}/manifest.json")]}, id="no manifest"),
    ],
)
async def test_invalid_content_is_not_published(runner: JobRunner, wrong: dict[str, Any]) -> None:
    state = await runner.run(**wrong)
    assert isinstance(state, Failed), state
    assert state.error.reason == JobReason.UNEXPECTED
    assert runner.store.digests() == {OTHER}
    assert runner.staging_directories == []


@pytest.mark.parametrize(
    "publish",
    [
        pytest.param(lambda runner, ref: publish_catalog(runner.store, ref), id="catalogs"),
        pytest.param(lambda runner, ref: publish_bundle(runner.store, "", ref), id="bundles"),
    ],
)
@pytest.mark.parametrize(
    ("requested", "digest", "returned", "is_published"),
    [
        pytest.param(TAG, OWN, f"{NAME}@{OWN}", True, id="a tag has the digest that the job returns"),
        pytest.param(f"{NAME}@{OWN}", OWN, f"{NAME}@{OWN}", True, id="the requested digest"),
        pytest.param(f"{TAG}@{OWN}", OWN, f"{NAME}@{OWN}", True, id="the requested digest, with a tag"),
        pytest.param(f"{NAME}@{MORE}", OWN, f"{NAME}@{OWN}", False, id="another digest than the requested one"),
        pytest.param(f"{NAME}@{MORE}", OWN, f"{NAME}@{MORE}", False, id="another digest under the requested reference"),
        pytest.param(TAG, OWN, f"{NAME}@{OTHER}", False, id="a reference by another digest"),
        pytest.param(TAG, OWN, f"other.example/x@{OWN}", False, id="the name of another image"),
        pytest.param(TAG, OWN, 7, False, id="a reference that is not text"),
    ],
)
async def test_the_returned_reference_matches_the_requested_one(
    runner: JobRunner,
    publish: Callable[[JobRunner, str], Any],
    requested: str,
    digest: str,
    returned: object,
    is_published: bool,
) -> None:
    runner.finish = publish(runner, requested)
    state = await runner.run(digest=digest, ref=returned)
    assert isinstance(state, Finished if is_published else Failed), state
    assert runner.store.digests() == ({OTHER, digest} if is_published else {OTHER})
    assert runner.staging_directories == []


async def test_stored_content_is_not_accepted_for_another_digest(runner: JobRunner) -> None:
    runner.finish = publish_bundle(runner.store, "", f"{NAME}@{OWN}")
    assert isinstance(await runner.run(digest=OTHER, ref=f"{NAME}@{OTHER}", staged=False), Failed)


async def test_a_job_whose_output_raises_an_unforeseen_error_has_ended(runner: JobRunner) -> None:
    def finish(directory: Path, result: Values) -> None:
        raise ZeroDivisionError

    runner.finish = finish
    state = await runner.run(digest=OWN)
    assert isinstance(state, Failed)
    assert isinstance(state.error, Waiting)


async def test_deeply_nested_directories_do_not_affect_other_jobs(runner: JobRunner) -> None:
    state = await runner.run(digest=OWN, actions=[("nest", "{staging}/content")])
    assert isinstance(state, Failed), state
    assert len(runner.staging_directories) == 1
    assert isinstance(await runner.run(digest=OWN), Finished)
    assert runner.text(OWN) == "left"
    await asyncio.to_thread(lambda: subprocess.run(["rm", "-rf", *runner.staging_directories], check=True))


async def test_a_cancelled_job_leaves_no_files(runner: JobRunner) -> None:
    runner.start(digest=OWN, hang=True)
    async with asyncio.timeout(30):
        state: JobState[Values] | None = None
        while not (isinstance(state, Running) and state.progress == "filled"):
            await asyncio.sleep(0)
            state = runner.jobs.state("key")
    assert len(runner.staging_directories) == 1
    runner.jobs.cancel("key")
    await runner.jobs.close()
    assert runner.staging_directories == []
    assert runner.store.digests() == {OTHER}
