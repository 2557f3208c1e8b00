"""Jobs that make content: they write to a folder of their own, and what they leave is taken over when they have ended."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from catalogd.ingest import staged_content
from catalogd.ingest.load_request import LoadResult
from olmkit.jobs import Failed, Finished, Jobs, JobState, Running, Sandbox, Staging, Task, codec, landlock
from olmkit.jobs.job import JobReason
from olmkit.store.store import Store
from rukpak.bundle import storage
from rukpak.bundle.storage import PLAIN, REGISTRY
from rukpak.bundle.unpack import UnpackResult
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
    reason="the kernel of this machine has no Landlock of version 2 or later: files are not kept apart",
)


def take_catalog(store: Store, image: str) -> Callable[[Path, Values], None]:
    """What publishes the output of jobs that load catalogs."""
    return lambda folder, values: staged_content.publish_job_output(
        store, False, image, folder, codec.decode(LoadResult, values)
    )


def take_bundle(store: Store, replaceable: str, image: str) -> Callable[[Path, Values], None]:
    """What publishes the output of jobs that unpack bundles."""
    return lambda folder, values: storage.publish_job_output(
        store, PLAIN, replaceable, image, folder, codec.decode(UnpackResult, values)
    )


class Desk:
    """Jobs over a store that holds the content of another."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root)
        with self.store.publish(OTHER) as folder:
            (folder / "type").write_text(KEPT)
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[Values](self.ends.put_nowait, preload=[WORK], sandbox=Sandbox(reads=(root,)))
        self.finish: Callable[[Path, Values], None] = take_catalog(self.store, "")

    def start(self, name: str = "leave", /, **arguments: Any) -> None:
        staging = Staging(self.store.stage, self.finish)
        task = Task(job(name), arguments, staging=staging)
        self.jobs.ensure("key", str(next(NUMBERS)), task)

    async def end(self, name: str = "leave", /, **arguments: Any) -> JobState[Values]:
        self.start(name, **arguments)
        async with asyncio.timeout(30):
            await self.ends.get()
        state = self.jobs.state("key")
        assert state is not None
        return state

    @property
    def left(self) -> list[Path]:
        """What lies about."""
        return list((self.root / ".staging").iterdir())

    def text(self, digest: str) -> str:
        folder = self.store.path(digest)
        assert folder is not None
        assert self.store.verify(digest)
        return (folder / "type").read_text()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path / "store")
    yield made
    await made.jobs.close()


def ways(root: Path) -> list[tuple[str, ...]]:
    """To change what is not the job's."""
    home = root / OTHER.replace(":", "-")
    return [
        ("write", str(home / "content" / "type")),
        ("write", str(home / "manifest.json")),
        ("write", str(home / "content" / "new")),
        ("rename", str(home), str(root / "gone")),
        ("rename", str(home / "content" / "type"), "{staging}/type"),
        ("rename", "{staging}", str(root / OWN.replace(":", "-"))),
        ("link", str(home / "content" / "type"), "{staging}/type"),
        ("make folder", str(root / OWN.replace(":", "-"))),
        ("make folder", str(root / ".staging" / "another")),
    ]


@with_landlock
async def test_a_job_writes_to_its_staging_folder_only(desk: Desk) -> None:
    state = await desk.end(digest=OWN, ways=ways(desk.root))
    assert isinstance(state, Finished), state
    assert set(state.result["outcomes"]) <= {"EACCES", "EXDEV"}
    assert desk.text(OTHER) == KEPT
    assert desk.text(OWN) == "left"
    assert desk.left == []


@with_landlock
async def test_what_parses_for_it_writes_to_that_folder_only(desk: Desk) -> None:
    desk.finish = lambda folder, result: None
    named = ("write", "{staging}/content/file")
    state = await desk.end("have_parsed_in_staging", function="attempt_apart", ways=[named, *ways(desk.root)])
    assert isinstance(state, Finished), state
    assert state.result["outcomes"][0] == "done"
    assert set(state.result["outcomes"][1:]) <= {"EACCES", "EXDEV"}
    assert desk.text(OTHER) == KEPT


async def test_intact_content_stays_whatever_digest_a_job_names(desk: Desk) -> None:
    assert isinstance(await desk.end(digest=OTHER), Finished)
    desk.finish = take_bundle(desk.store, "", TAG)
    assert isinstance(await desk.end(digest=OTHER, ref=f"{NAME}@{OTHER}"), Finished)
    desk.finish = take_bundle(desk.store, OWN, TAG)
    assert isinstance(await desk.end(digest=OTHER, ref=f"{NAME}@{OTHER}"), Finished)
    assert desk.text(OTHER) == KEPT
    assert desk.left == []


async def test_damaged_content_is_replaced(desk: Desk) -> None:
    folder = desk.store.path(OTHER)
    assert folder is not None
    (folder / "type").write_text("damaged")
    assert isinstance(await desk.end(digest=OTHER), Finished)
    assert desk.text(OTHER) == "left"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"digest": "../../x"}, id="a digest that is none"),
        pytest.param({"digest": 7}, id="a digest that is no text"),
        pytest.param({"digest": OWN, "manifest": OTHER}, id="the manifest of another digest"),
        pytest.param({"digest": OWN, "ways": [("write", "{staging}/content/more")]}, id="a file without an entry"),
        pytest.param({"digest": OWN, "ways": [("write", "{staging}/more")]}, id="a file beside the content"),
        pytest.param({"digest": OWN, "ways": [("write", "{staging}/manifest.json")]}, id="a torn manifest"),
        pytest.param({"digest": OWN, "ways": [("remove", "{staging}/manifest.json")]}, id="no manifest"),
    ],
)
async def test_what_is_no_content_is_not_taken_over(desk: Desk, wrong: dict[str, Any]) -> None:
    state = await desk.end(**wrong)
    assert isinstance(state, Failed), state
    assert state.error.reason == JobReason.UNEXPECTED
    assert desk.store.digests() == {OTHER}
    assert desk.left == []


@pytest.mark.parametrize(
    "take",
    [
        pytest.param(lambda desk, ref: take_catalog(desk.store, ref), id="catalogs"),
        pytest.param(lambda desk, ref: take_bundle(desk.store, "", ref), id="bundles"),
    ],
)
@pytest.mark.parametrize(
    ("asked", "digest", "named", "is_taken"),
    [
        pytest.param(TAG, OWN, f"{NAME}@{OWN}", True, id="a tag has the digest that the job says"),
        pytest.param(f"{NAME}@{OWN}", OWN, f"{NAME}@{OWN}", True, id="the digest that was asked for"),
        pytest.param(f"{TAG}@{OWN}", OWN, f"{NAME}@{OWN}", True, id="the digest that was asked for, beside a tag"),
        pytest.param(f"{NAME}@{MORE}", OWN, f"{NAME}@{OWN}", False, id="another digest than was asked for"),
        pytest.param(f"{NAME}@{MORE}", OWN, f"{NAME}@{MORE}", False, id="another digest under the reference asked for"),
        pytest.param(TAG, OWN, f"{NAME}@{OTHER}", False, id="a reference by another digest"),
        pytest.param(TAG, OWN, f"other.example/x@{OWN}", False, id="the name of another image"),
        pytest.param(TAG, OWN, 7, False, id="a reference that is no text"),
    ],
)
async def test_a_job_names_the_image_that_it_was_asked_for(
    desk: Desk, take: Callable[[Desk, str], Any], asked: str, digest: str, named: object, is_taken: bool
) -> None:
    desk.finish = take(desk, asked)
    state = await desk.end(digest=digest, ref=named)
    assert isinstance(state, Finished if is_taken else Failed), state
    assert desk.store.digests() == ({OTHER, digest} if is_taken else {OTHER})
    assert desk.left == []


async def test_what_is_in_the_store_is_no_answer_to_another_digest(desk: Desk) -> None:
    desk.finish = take_bundle(desk.store, "", f"{NAME}@{OWN}")
    assert isinstance(await desk.end(digest=OTHER, ref=f"{NAME}@{OTHER}", staged=False), Failed)


async def test_folders_that_are_too_deep_keep_no_other_job_from_its_end(desk: Desk) -> None:
    state = await desk.end(digest=OWN, ways=[("dig", "{staging}/content")])
    assert isinstance(state, Failed), state
    assert len(desk.left) == 1
    assert isinstance(await desk.end(digest=OWN), Finished)
    assert desk.text(OWN) == "left"
    await asyncio.to_thread(lambda: subprocess.run(["rm", "-rf", *desk.left], check=True))


async def test_a_job_that_is_cancelled_leaves_nothing(desk: Desk) -> None:
    desk.start(digest=OWN, hang=True)
    async with asyncio.timeout(30):
        state: JobState[Values] | None = None
        while not (isinstance(state, Running) and state.progress == "filled"):
            await asyncio.sleep(0)
            state = desk.jobs.state("key")
    assert len(desk.left) == 1
    desk.jobs.cancel("key")
    await desk.jobs.close()
    assert desk.left == []
    assert desk.store.digests() == {OTHER}
