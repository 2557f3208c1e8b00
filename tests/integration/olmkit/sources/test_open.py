"""open_source for ConfigMaps and images, and all types of sources in jobs with limits."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from olmkit.errors import Waiting
from olmkit.jobs.job import Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished, JobState
from olmkit.sources.access import Access
from olmkit.sources.content_limits import CATALOG_LIMITS, ContentLimits
from olmkit.sources.credentials import credentials_of
from olmkit.sources.errors import BadContent
from olmkit.sources.oci.image import FromLabel
from olmkit.sources.open import open_source, unpack
from olmkit.sources.source import ConfigMapsSource, HttpSource, ImageSource, Source, digest_of_files
from tests import images
from tests.images import tar
from tests.integration.olmkit.sources.harness import SourceHarness, branch
from tests.integration.olmkit.sources.work import OPEN, OpenRequest, OpenResult
from tests.secrets import secret
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.git_ssh_server import GitSshServer
from tests.servers.local_registry import LocalRegistry
from tests.servers.web_server import WebServer


@pytest.fixture
def harness(tmp_path: Path) -> SourceHarness:
    return SourceHarness(tmp_path)


class Office:
    """Jobs that open sources."""

    def __init__(self, directory: Path) -> None:
        self._ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[OpenResult](self._ends.put_nowait, preload=[OPEN.module], sandbox=Sandbox(writes=(directory,)))

    async def run(self, source: Source, access: Access, into: Path) -> JobState[OpenResult]:
        os.mkdir(into)
        self.jobs.ensure("key", str(into), Task(OPEN, OpenRequest(source, access, into)))
        async with asyncio.timeout(120):
            await self._ends.get()
        state = self.jobs.state("key")
        assert state is not None
        return state


@pytest_asyncio.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    made = Office(tmp_path)
    yield made
    await made.jobs.close()


async def test_files_of_configmaps(harness: SourceHarness) -> None:
    source = ConfigMapsSource((("a.yaml", b"1"), ("deep/er/b.yaml", b"2")))
    assert await harness.files(source) == {"a.yaml": "1", "deep/er/b.yaml": "2"}
    async with open_source(source, harness.access) as opened:
        assert opened.digest == digest_of_files(source.files)
        assert opened.ref == f"configMaps@{opened.digest}"
        assert opened.resolved == {"type": "configMaps", "configMaps": {"digest": opened.digest}}
        assert (opened.validator, opened.unchanged) == ("", False)


async def test_selected_files_of_configmaps(harness: SourceHarness) -> None:
    source = ConfigMapsSource((("beside", b"1"), ("manifests/a.yaml", b"2"), ("metadata/b.yaml", b"3")))
    assert await harness.files(source, only=("manifests",)) == {"manifests/a.yaml": "2"}
    error = await harness.error(source, only=("manifests", "tests"))
    assert isinstance(error, BadContent)
    assert error.reason == "MissingContent"
    words = 'has no content at "/tests", where its content should be: the path of each ConfigMap is the directory of its files'
    assert error.message == f"configMaps@{digest_of_files(source.files)} {words}"


async def test_limits_apply_to_files_of_configmaps(harness: SourceHarness) -> None:
    harness.limits = ContentLimits(bytes=10)
    source = ConfigMapsSource((("a", b"x" * 11),))
    error = await harness.error(source)
    assert isinstance(error, BadContent)
    assert error.reason == "TooLarge"
    assert error.message.startswith(
        f"configMaps@{digest_of_files(source.files)} makes the content larger than 10 bytes"
    )


async def test_an_image(local_registry: LocalRegistry, harness: SourceHarness) -> None:
    repository = f"opening/{os.getpid()}"
    digest = images.push(
        local_registry.address, repository, "v1", [tar({"configs/a": "1", "etc/b": "2"})], {"where": "/configs"}
    )
    access = Access(registries_conf=local_registry.registries_conf)
    async with open_source(ImageSource(f"quay.io/{repository}:v1"), access) as opened:
        assert (opened.digest, opened.ref) == (digest, f"quay.io/{repository}@{digest}")
        assert opened.resolved == {"type": "image", "image": {"ref": opened.ref}}
        into = harness.directory / "into"
        os.mkdir(into)
        root = unpack(await opened.fetch(into, FromLabel("where")), into, CATALOG_LIMITS, lambda line: None)
        assert root == into / "configs"
        assert (root / "a").read_text() == "1"
        assert not (into / "etc").exists()


async def test_all_types_of_sources_in_jobs(office: Office, harness: SourceHarness) -> None:
    """A job has an address space of 768 MB, including its threads."""
    big = "x" * 20_000_000
    repository = Repository(harness.directory / "repositories" / "x.git")
    repository.commit({"catalog/a": big, "catalog/b": "2"})
    (harness.directory / "files").mkdir()
    (harness.directory / "files" / "a.tar.gz").write_bytes(gzip.compress(tar({"a": big, "b": "2"})))
    directory = harness.directory / "repositories"
    async with (
        GitServer(directory) as git,
        GitSshServer(directory) as ssh,
        WebServer(harness.directory / "files") as web,
    ):
        keys = {"ssh-privatekey": ssh.private_key, "ssh-knownhosts": ssh.known_hosts}
        granted = credentials_of(secret("kubernetes.io/ssh-auth", keys, ssh.address))
        sources: list[Source] = [
            branch(f"{git.url}/x.git", directory="catalog"),
            branch(f"ssh://git@{ssh.address}/x.git", directory="catalog"),
            HttpSource(f"{web.url}/a.tar.gz"),
            ConfigMapsSource((("a", big.encode()[:1_000_000]), ("b", b"2"))),
        ]
        for number, source in enumerate(sources):
            state = await office.run(
                source, harness.access.with_credentials(granted), harness.directory / f"into-{number}"
            )
            assert isinstance(state, Finished), state
            assert sorted(state.result.files) == ["a", "b"]


async def test_a_decompression_bomb_fails_its_own_job_only(office: Office, harness: SourceHarness) -> None:
    repository = Repository(harness.directory / "repositories" / "x.git")
    repository.commit({"a": bytes(140_000_000)})
    async with GitServer(harness.directory / "repositories") as git:
        state = await office.run(branch(f"{git.url}/x.git"), harness.access, harness.directory / "into")
    assert isinstance(state, Failed)
    assert isinstance(state.error, BadContent)
    assert "contains a file of 140,000,000 bytes" in state.error.message


async def test_a_job_that_is_cancelled_during_a_fetch(office: Office, harness: SourceHarness) -> None:
    repository = Repository(harness.directory / "repositories" / "x.git")
    repository.commit({"a": "1"})
    asked = asyncio.Event()
    async with GitServer(harness.directory / "repositories") as git:

        async def stall(request: object) -> None:
            asked.set()
            await git.closing()

        git.fault = stall
        running = asyncio.create_task(
            office.run(branch(f"{git.url}/x.git"), harness.access, harness.directory / "into")
        )
        async with asyncio.timeout(60):
            await asked.wait()
        office.jobs.cancel("key")
        running.cancel()
        await office.jobs.close()


async def test_cancelling_open_source_leaves_no_thread_behind(harness: SourceHarness) -> None:
    repository = Repository(harness.directory / "repositories" / "x.git")
    repository.commit({"a": "1"})
    directory = harness.directory / "repositories"
    async with GitServer(directory) as git, GitSshServer(directory) as ssh:
        keys = {"ssh-privatekey": ssh.private_key, "ssh-knownhosts": ssh.known_hosts}
        harness.use_secrets(secret("kubernetes.io/ssh-auth", keys, ssh.address))
        asked = asyncio.Event()

        async def stall(request: object) -> None:
            asked.set()
            await git.closing()

        git.fault = stall
        ssh.script = lambda process: asked.set()
        for url in (f"{git.url}/x.git", f"ssh://git@{ssh.address}/x.git"):
            asked.clear()
            running = asyncio.create_task(harness.files(branch(url)))
            async with asyncio.timeout(60):
                await asked.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        # The threads of asyncio.to_thread end with the operation that they wait for.
        async with asyncio.timeout(60):
            await asyncio.get_running_loop().shutdown_default_executor()


async def test_an_unavailable_source_is_waiting(harness: SourceHarness) -> None:
    async with WebServer(harness.directory) as web:
        pass
    for source in (HttpSource(f"{web.url}/a"), branch(f"{web.url}/x.git")):
        error = await harness.error(source)
        assert isinstance(error, Waiting)
        assert error.reason == "SourceUnavailable"
        assert error.message.endswith(f"{web.address} does not answer: connection refused")
