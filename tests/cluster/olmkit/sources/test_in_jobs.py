"""Jobs, sources and store together: an image becomes content by digest, whatever happens on the way."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from devcluster.cluster import Cluster
from olmkit.errors import Waiting
from olmkit.jobs import Failed, Finished, Jobs, JobState, Running, Task
from olmkit.sources.errors import BadContent
from olmkit.store import Store
from tests import images
from tests.cluster.olmkit.sources.keys import make_keys
from tests.images import file, tar
from tests.registry_proxy import RegistryProxy, redirect_to, silence, wants_token

PULL = "tests.cluster.olmkit.sources.work:pull"
NUMBERS = itertools.count()


@dataclass
class Desk:
    """Jobs that pull into one store."""

    root: Path
    registries: Path
    ends: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.ends.put_nowait, preload=["tests.cluster.olmkit.sources.work"])
        self.store = Store(self.root)

    def task(self, ref: str) -> Task:
        arguments: dict[str, Any] = {"ref": ref, "root": str(self.root), "registries": str(self.registries)}
        return Task(PULL, arguments)

    async def pull(self, ref: str) -> JobState:
        self.jobs.ensure("key", f"{ref} {next(NUMBERS)}", self.task(ref))
        async with asyncio.timeout(60):
            await self.ends.get()
        state = self.jobs.state("key")
        assert state is not None
        return state


@pytest_asyncio.fixture
async def desk(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path / "store", cluster.registries_conf)
    yield made
    await made.jobs.close()


@pytest.fixture
def repository() -> str:
    return f"jobs/{os.getpid()}-{next(NUMBERS)}"


async def test_an_image_becomes_content_that_survives(desk: Desk, cluster: Cluster, repository: str) -> None:
    digest = images.push(cluster.registry, repository, "v1", [tar({"a/b": "1", "c": "2"})], {})
    state = await desk.pull(f"quay.io/{repository}:v1")
    assert isinstance(state, Finished)
    assert state.result == {"ref": f"quay.io/{repository}@{digest}", "digest": digest, "files": 2}
    again = Store(desk.root)
    again.sweep()
    path = again.path(digest)
    assert path is not None
    assert (path / "a" / "b").read_text() == "1"
    assert again.verify(digest)


async def test_bad_content_arrives_with_its_digest_and_leaves_nothing(
    desk: Desk, cluster: Cluster, repository: str
) -> None:
    bomb = gzip.compress(tar([file("a", bytes(300 * 1024**2))]))
    manifest = images.push_blobs(cluster.registry, repository, [bomb], {}, compression="plain")
    digest = images.push_manifest(cluster.registry, repository, "v1", manifest, images.MANIFEST["oci"])
    state = await desk.pull(f"quay.io/{repository}:v1")
    assert isinstance(state, Failed)
    assert isinstance(state.error, BadContent)
    assert state.error.reason == "TooLarge"
    assert state.error.ref == f"quay.io/{repository}@{digest}"
    assert os.listdir(desk.root) == [".staging"]
    assert os.listdir(desk.root / ".staging") == []


async def test_a_pull_that_is_cancelled_leaves_only_what_sweep_removes(
    desk: Desk, cluster: Cluster, repository: str
) -> None:
    async with RegistryProxy(cluster.registry) as proxy:
        desk.registries = desk.root.parent / "registries.conf"
        desk.registries.write_text(f'[[registry]]\nlocation = "{proxy.address}"\ninsecure = true\n')
        asked = asyncio.Event()

        async def stall(request: web.Request, through: RegistryProxy) -> web.StreamResponse:
            asked.set()
            return await silence(request, through)

        manifest = images.push_blobs(cluster.registry, repository, [tar({"a": "1"})], {})
        proxy.on(manifest["layers"][0]["digest"], stall)
        images.push_manifest(cluster.registry, repository, "v1", manifest, images.MANIFEST["oci"])
        state = desk.jobs.ensure("key", "1", desk.task(f"{proxy.address}/{repository}:v1"))
        assert isinstance(state, Running)
        async with asyncio.timeout(60):
            await asked.wait()
        assert len(os.listdir(desk.root / ".staging")) == 1
        desk.jobs.cancel("key")
        await desk.jobs.close()
    desk.store.sweep()
    assert os.listdir(desk.root / ".staging") == []
    assert desk.store.digests() == set()


async def test_tls_that_is_trusted(
    desk: Desk, cluster: Cluster, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs inherit the environment: SSL_CERT_FILE names a private authority."""
    keys = make_keys(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(keys / "ca.crt"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "kube-apiserver.crt", keys / "kube-apiserver.key")
    digest = images.push(cluster.registry, repository, "v1", [tar({"a": "1"})], {})
    async with RegistryProxy(cluster.registry, tls=context) as proxy:
        desk.registries = tmp_path / "registries.conf"
        desk.registries.write_text(
            f'[[registry]]\nlocation = "{proxy.address}"\n[[registry]]\nlocation = "{cluster.registry}"\ninsecure = true\n'
        )
        state = await desk.pull(f"{proxy.address}/{repository}:v1")
        assert isinstance(state, Finished), state
        assert state.result["digest"] == digest

        desk.store.forget(digest)
        proxy.on("/blobs/", redirect_to(cluster.registry))
        state = await desk.pull(f"{proxy.address}/{repository}:v1")
        assert isinstance(state, Failed)
        assert isinstance(state.error, Waiting)
        expected = f"registry {proxy.address} redirects from https to http, to {cluster.registry}, which is refused"
        assert state.error.message == expected

        proxy.on("/blobs/", wants_token("http://169.254.169.254/token", "t0ken"))
        state = await desk.pull(f"{proxy.address}/{repository}:v1")
        assert isinstance(state, Failed)
        assert state.error.reason == "AddressRefused", "the place of the token is judged like any other"
