"""The unpack job with hostile web servers and repositories: the limits of Bundles, and the servers that may not be asked."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from olmkit.errors import OlmError, Waiting
from olmkit.sources.content_limits import BUNDLE_LIMITS
from olmkit.sources.network import Timeouts
from olmkit.sources.source import GitReference, GitSource, HttpSource, RefKind, Source
from tests.images import digest_of, tar, zipped
from tests.integration.job_results import staged
from tests.integration.rukpak.bundle.source_unpacker import SourceUnpacker
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.web_server import WebServer, redirect, trickle

LARGE = bytes(BUNDLE_LIMITS.bytes + 1)
MANY = BUNDLE_LIMITS.files + 1
GIT = {"Content-Type": "application/x-git-upload-pack-advertisement"}


class HostileServers(SourceUnpacker):
    """The unpack jobs of rukpak, a web server and a git server."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.served = root / "served"
        self.repository = Repository(self.served / "a.git")
        self.web = WebServer(self.served)
        self.git = GitServer(self.served)

    def archive(self, data: bytes) -> HttpSource:
        """The source of an archive, which is named by its digest."""
        (self.served / "a").write_bytes(data)
        return HttpSource(f"{self.web.url}/a", digest_of(data))

    def commit(self, manifests: Mapping[str, bytes]) -> Source:
        """The source of a commit with these manifests."""
        hashes = {data: self.repository.blob(data) for data in set(manifests.values())}
        entries = [("100644", name.encode(), hashes[data]) for name, data in manifests.items()]
        whole = self.repository.raw_tree([("40000", b"manifests", self.repository.raw_tree(entries))])
        return GitSource(f"{self.git.url}/a.git", GitReference(RefKind.COMMIT, self.repository.commit(whole)))

    def server_of(self, source: str) -> tuple[WebServer, Source]:
        """The server and a source of it: `web` or `git`."""
        if source == "web":
            return self.web, HttpSource(f"{self.web.url}/a")
        return self.git, GitSource(f"{self.git.url}/a.git", GitReference(RefKind.BRANCH, "main"))

    async def error(self, source: Source) -> OlmError:
        """The error of a job that fails; nothing is stored."""
        with pytest.raises(OlmError) as caught:
            await self.unpack(source)
        assert self.store.digests() == set()
        assert staged(self.directory) == []
        return caught.value


@pytest_asyncio.fixture
async def servers(tmp_path: Path) -> AsyncIterator[HostileServers]:
    made = HostileServers(tmp_path)
    async with made.web, made.git:
        yield made
    await made.jobs.close()


def many_files() -> dict[str, bytes]:
    return {f"manifests/{number}.yaml": b"" for number in range(MANY)}


Content = Callable[[HostileServers], Source]
BEYOND_LIMITS = [
    pytest.param(
        lambda at: at.archive(gzip.compress(tar({"manifests/a.yaml": LARGE}), 1)),
        "larger than",
        id="a bomb in a tar archive",
    ),
    pytest.param(
        lambda at: at.archive(zipped({"manifests/a.yaml": LARGE})),
        "larger than",
        id="a bomb in a zip archive",
        marks=pytest.mark.hostile,
    ),
    pytest.param(
        lambda at: at.archive(gzip.compress(tar(many_files()), 1)),
        "more files than",
        id="too many files in a tar archive",
        marks=pytest.mark.hostile,
    ),
    pytest.param(lambda at: at.archive(zipped(many_files())), "more files than", id="too many files in a zip archive"),
    pytest.param(lambda at: at.commit({"a.yaml": LARGE}), "are read of one", id="a bomb in a repository"),
    pytest.param(
        lambda at: at.commit(dict.fromkeys(map(str, range(MANY)), b"")),
        "more than",
        id="too many files in a repository",
        marks=pytest.mark.hostile,
    ),
]


@pytest.mark.parametrize(("content", "words"), BEYOND_LIMITS)
async def test_content_beyond_the_limits_of_bundles_is_final(
    servers: HostileServers, content: Content, words: str
) -> None:
    found = await servers.unpack(content(servers))
    assert words in found.problem
    assert servers.store.digests() == set()
    assert staged(servers.directory) == []


SERVERS = pytest.mark.parametrize(
    "kind", [pytest.param("web", id="a web server"), pytest.param("git", id="a git server")]
)


@SERVERS
async def test_an_endless_response_is_ended_at_the_limit(servers: HostileServers, kind: str) -> None:
    server, source = servers.server_of(kind)
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        if request.method == "HEAD":
            return web.Response()
        response = web.StreamResponse(headers=GIT)
        await response.prepare(request)
        while request.transport and not request.transport.is_closing():
            await response.write(b"0032" + b"x" * 46 if kind == "git" else bytes(1024**2))
            sent += 1
        return response

    server.fault = endless
    error = await servers.error(source)
    assert isinstance(error, Waiting)
    assert re.search("larger than|too (large|many|long)|more than", error.message), error.message


@SERVERS
async def test_a_server_that_sends_too_slowly_is_waited_for_later(servers: HostileServers, kind: str) -> None:
    server, source = servers.server_of(kind)
    servers.access = replace(servers.access, timeouts=Timeouts(5, 5, 0.3, 50 * 1024))

    server.fault = trickle
    error = await servers.error(source)
    assert isinstance(error, Waiting)
    assert "sends too slowly" in error.message


@SERVERS
async def test_a_redirect_to_an_address_of_the_machine_is_not_followed(servers: HostileServers, kind: str) -> None:
    server, source = servers.server_of(kind)
    servers.access = replace(servers.access, allowed_cidrs=("127.0.0.1/32",))
    server.fault = redirect(f"http://127.0.0.2:{server.address.rpartition(':')[2]}/api/v1/secrets")
    error = await servers.error(source)
    assert "127.0.0.2" in error.message
    assert {request.path for request in server.requests}.isdisjoint({"/api/v1/secrets"})
