"""Images pulled into a store by jobs: success, faults, cancellation, TLS, and no secret in any output."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import itertools
import logging
import os
import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import pytest_asyncio
from aiohttp import web

from olmkit.errors import Blocked, Waiting
from olmkit.jobs.job import Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished, JobState, Queued
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials, credentials_of
from olmkit.sources.errors import BadContent
from olmkit.store.store import Store
from tests import images
from tests.images import file, tar
from tests.integration.olmkit.sources.work import PULL, PullRequest, PullResult
from tests.secrets import auth, docker_config
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.local_registry import LocalRegistry
from tests.servers.registry import (
    PASSWORD,
    USER,
    TokenService,
    basic_auth,
    own_registry,
    served,
    server_context,
    token_auth,
)
from tests.servers.registry_proxy import RegistryProxy, redirect, redirect_to, silence, wants_token
from tests.servers.server_keys import make_keys

pytestmark = pytest.mark.usefixtures("cluster_programs")

NUMBERS = itertools.count()


@dataclass
class JobHarness:
    """Jobs that pull into one store."""

    root: Path
    registries: Path
    authorities: Path | None = None
    credentials: Credentials = field(default_factory=Credentials)
    ends: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        sandbox = Sandbox(reads=(self.registries, self.root.parent), writes=(self.root,))
        self.jobs = Jobs[PullResult](self.ends.put_nowait, preload=[PULL.module], sandbox=sandbox)
        self.store = Store(self.root)

    def task(self, ref: str) -> Task[PullRequest, PullResult]:
        access = Access(self.registries, self.authorities).with_credentials(self.credentials)
        return Task(PULL, PullRequest(ref, self.root, access))

    async def pull(self, ref: str) -> JobState[PullResult]:
        self.jobs.ensure("key", f"{ref} {next(NUMBERS)}", self.task(ref))
        async with asyncio.timeout(60):
            await self.ends.get()
        state = self.jobs.state("key")
        assert state is not None
        return state


@pytest_asyncio.fixture
async def harness(local_registry: LocalRegistry, tmp_path: Path) -> AsyncIterator[JobHarness]:
    made = JobHarness(tmp_path / "store", local_registry.registries_conf)
    yield made
    await made.jobs.close()


@pytest.fixture
def repository() -> str:
    return f"jobs/{os.getpid()}-{next(NUMBERS)}"


async def test_a_pulled_image_is_stored_by_digest(
    harness: JobHarness, local_registry: LocalRegistry, repository: str
) -> None:
    digest = images.push(local_registry.address, repository, "v1", [tar({"a/b": "1", "c": "2"})], {})
    state = await harness.pull(f"quay.io/{repository}:v1")
    assert isinstance(state, Finished)
    assert state.result == PullResult(f"quay.io/{repository}@{digest}", digest, 2)
    again = Store(harness.root)
    again.remove_abandoned_staging()
    path = again.path(digest)
    assert path is not None
    assert (path / "a" / "b").read_text() == "1"
    assert again.verify(digest)


async def test_bad_content_is_reported_with_its_digest_and_not_stored(
    harness: JobHarness, local_registry: LocalRegistry, repository: str
) -> None:
    bomb = gzip.compress(tar([file("a", bytes(300 * 1024**2))]))
    manifest = images.push_blobs(local_registry.address, repository, [bomb], {}, compression="plain")
    digest = images.push_manifest(local_registry.address, repository, "v1", manifest, images.MANIFEST["oci"])
    state = await harness.pull(f"quay.io/{repository}:v1")
    assert isinstance(state, Failed)
    assert isinstance(state.error, BadContent)
    assert state.error.reason == "TooLarge"
    assert state.error.ref == f"quay.io/{repository}@{digest}"
    assert os.listdir(harness.root) == [".staging"]
    assert os.listdir(harness.root / ".staging") == []


async def test_the_files_of_a_cancelled_pull_are_removed(
    harness: JobHarness, local_registry: LocalRegistry, repository: str
) -> None:
    async with RegistryProxy(local_registry.address) as proxy:
        harness.registries = harness.root.parent / "registries.conf"
        harness.registries.write_text(f'[[registry]]\nlocation = "{proxy.address}"\ninsecure = true\n')
        asked = asyncio.Event()

        async def stall(request: web.Request, through: RegistryProxy) -> web.StreamResponse:
            asked.set()
            return await silence(request, through)

        manifest = images.push_blobs(local_registry.address, repository, [tar({"a": "1"})], {})
        proxy.on(manifest["layers"][0]["digest"], stall)
        images.push_manifest(local_registry.address, repository, "v1", manifest, images.MANIFEST["oci"])
        state = harness.jobs.ensure("key", "1", harness.task(f"{proxy.address}/{repository}:v1"))
        assert isinstance(state, Queued)
        async with asyncio.timeout(60):
            await asked.wait()
        assert len(os.listdir(harness.root / ".staging")) == 1
        harness.jobs.cancel("key")
        await harness.jobs.close()
    harness.store.remove_abandoned_staging()
    assert os.listdir(harness.root / ".staging") == []
    assert harness.store.digests() == set()


async def test_a_certificate_authority_of_the_environment_is_trusted(
    harness: JobHarness, local_registry: LocalRegistry, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs inherit SSL_CERT_FILE, which names a private authority, from the environment."""
    keys = make_keys(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(keys / "ca.crt"))
    digest = images.push(local_registry.address, repository, "v1", [tar({"a": "1"})], {})
    async with RegistryProxy(local_registry.address, tls=server_context(keys)) as proxy:
        harness.registries = tmp_path / "registries.conf"
        harness.registries.write_text(
            f'[[registry]]\nlocation = "{proxy.address}"\n[[registry]]\nlocation = "{local_registry.address}"\ninsecure = true\n'
        )
        state = await harness.pull(f"{proxy.address}/{repository}:v1")
        assert isinstance(state, Finished), state
        assert state.result.digest == digest

        harness.store.remove(digest)
        proxy.on("/blobs/", redirect_to(local_registry.address))
        state = await harness.pull(f"{proxy.address}/{repository}:v1")
        assert isinstance(state, Failed)
        assert isinstance(state.error, Waiting)
        expected = (
            f"registry {proxy.address} redirects from https to http, to {local_registry.address}, which is refused"
        )
        assert state.error.message == expected

        proxy.on("/blobs/", wants_token("http://169.254.169.254/token", "t0ken"))
        state = await harness.pull(f"{proxy.address}/{repository}:v1")
        assert isinstance(state, Failed)
        assert state.error.reason == "AddressRefused", "the address of the token service is checked too"


async def test_the_directory_of_authorities_is_read_for_each_job(
    harness: JobHarness, local_registry: LocalRegistry, repository: str, tmp_path: Path
) -> None:
    first, second = (make_keys(directory(tmp_path, name)) for name in ("first", "second"))
    harness.authorities = directory(tmp_path, "authorities")
    digest = images.push(local_registry.address, repository, "v1", [tar({"a": "1"})], {})
    harness.registries = tmp_path / "registries.conf"
    for keys, words in ((first, "with an authority that nobody knows"), (second, "with one that was replaced")):
        async with RegistryProxy(local_registry.address, tls=server_context(keys)) as proxy:
            harness.registries.write_text(f'[[registry]]\nlocation = "{proxy.address}"\n')
            state = await harness.pull(f"{proxy.address}/{repository}:v1")
            assert isinstance(state, Failed), words
            assert "presents a certificate that is not trusted: " in state.error.message
            assert "the directory of --pull-cas-dir" in state.error.message, "the hint"
            (harness.authorities / "private.crt").write_bytes((keys / "ca.crt").read_bytes())
            state = await harness.pull(f"{proxy.address}/{repository}:v1")
            assert isinstance(state, Finished), state
            harness.store.remove(digest)

    (harness.authorities / "other.pem").write_text("-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n")
    state = await harness.pull(f"{local_registry.address}/{repository}:v1")
    assert isinstance(state, Failed)
    assert isinstance(state.error, Blocked)
    assert state.error.reason == "InvalidConfiguration"
    assert state.error.message.startswith(
        f"certificate authorities of {harness.authorities}/other.pem cannot be read: "
    )


SECRETS = ("0pen-Sesame-1", "0pen-Sesame-2", "0pen-Sesame-3", "0pen-Sesame-4", "0pen-Sesame-5", PASSWORD, "r3fresh")


def shapes(value: str) -> list[str]:
    """The text as it is, quoted for a URL, and in base64 at each of the three offsets."""
    data = value.encode()
    encoded = [base64.b64encode(bytes(shift) + data).decode()[4 : len(data)] for shift in (0, 1, 2)]
    return [value, quote(value, safe=""), quote_plus(value), *encoded]


async def test_no_secret_is_visible_anywhere(
    harness: JobHarness,
    local_registry: LocalRegistry,
    repository: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Valid, refused and malformed logins, that of a proxy, and a signed URL: none is in any output."""
    caplog.set_level(logging.DEBUG)
    kept, keys = tmp_path / "images", make_keys(tmp_path)
    service = TokenService(keys)
    async with own_registry(kept) as address:
        images.push(address, repository, "v1", [tar({"a": "1"})], {})
    seen: list[object] = []
    harness.registries = tmp_path / "registries.conf"
    async with (
        served(service.answer) as realm,
        own_registry(kept, basic_auth(kept)) as basic,
        own_registry(kept, token_auth(f"http://{realm}/token", keys)) as tokens,
        RegistryProxy(tokens) as broken,
        ForwardProxy({}, login="me:right").running() as forward,
    ):
        broken.on("/v2/", redirect("https://storage.invalid/x?signature=0pen-Sesame-5"))
        hosts = (basic, tokens, realm, broken.address)
        harness.registries.write_text(
            "".join(f'[[registry]]\nlocation = "{each}"\ninsecure = true\n' for each in hosts)
            + '[[registry]]\nprefix = "registry.test"\nlocation = "registry.test"\n'
        )
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:0pen-Sesame-4@{forward.address}")
        monkeypatch.setenv("NO_PROXY", "invalid")
        right = {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
        logins: list[dict[str, str]] = [
            right,
            auth(USER, "0pen-Sesame-1"),
            {"identitytoken": "r3fresh"},
            {"identitytoken": "0pen-Sesame-2"},
            {"registrytoken": "0pen-Sesame-3"},
        ]
        for login in logins:
            secret = docker_config({each: login for each in (*hosts, "registry.test")})
            harness.credentials = credentials_of(secret)
            for host in (basic, tokens, broken.address, "registry.test"):
                seen += await what_is_seen(harness, f"{host}/{repository}:v1")
        assert sum(isinstance(each, Finished) for each in seen) == 3, "two valid logins, and an exchanged token"
        assert sum(isinstance(each, Failed) for each in seen) == 17
        text = "\n".join(f"{each} {each!r}" for each in seen)
    out, err = capfd.readouterr()
    for where, shown in (("errors, states and tasks", text), ("output", out + err), ("logs", caplog.text)):
        for value in SECRETS:
            for shape in shapes(value):
                assert shape not in shown, where
    assert "refuses the login of Secret olm-suite-system/login" in text
    assert "refuses the user and password of its variable (407)" in text


async def what_is_seen(harness: JobHarness, ref: str) -> list[object]:
    """All output of a pull that others can read."""
    state = await harness.pull(ref)
    seen: list[object] = [harness.task(ref), state, harness.credentials, harness.jobs, *command_lines()]
    if isinstance(state, Failed):
        seen += [state.error, state.error.message, *traceback.format_exception(state.error)]
    if isinstance(state, Finished):
        seen.append(state.result)
        harness.store.remove(state.result.digest)
    return seen


def command_lines() -> list[bytes]:
    """The command lines of this process and of its children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.getsid(int(path.parent.name)) == os.getsid(0):
                found.append(path.read_bytes())
    return found


def directory(below: Path, name: str) -> Path:
    made = below / name
    made.mkdir()
    return made
