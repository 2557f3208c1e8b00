"""Git servers with random faults: the result is the files or an error. Also through a proxy."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from aiohttp import web

from olmkit.errors import OlmError
from olmkit.sources.access import Access
from olmkit.sources.source import HttpSource
from tests.images import tar
from tests.integration.olmkit.sources.harness import SourceHarness, branch, commit, tag
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.web_server import WebServer

FILES = {"catalog/a": "1" * 1000, "catalog/b": "2" * 1000}
ROUNDS = 120


@pytest.mark.hostile
@pytest.mark.parametrize("version", [2, 0])
async def test_responses_with_changed_bytes(tmp_path: Path, version: int, caplog: pytest.LogCaptureFixture) -> None:
    """Each round changes or truncates a real response; its number is the seed. Every tenth round changes nothing."""
    harness = SourceHarness(tmp_path)
    repository = Repository(tmp_path / "repositories" / "x.git")
    made = repository.commit(FILES)
    repository.git("tag", "--annotate", "--message", "words", "heavy", made)
    ends: dict[str, list[int]] = {}
    async with GitServer(tmp_path / "repositories", version=version) as server:
        number = 0

        async def change(request: web.Request) -> web.StreamResponse:
            real = await server.run(request)
            assert isinstance(real.body, bytes)
            if number % 10 == 0:
                return real
            return web.Response(status=real.status, headers=real.headers, body=changed(real.body, number))

        server.fault = change
        url = f"{server.url}/x.git"
        for number in range(ROUNDS):
            source = (branch(url), tag(url, "heavy"), commit(url, made))[number % 3]
            try:
                end = "read" if await harness.files(source) == FILES else "other files"
            except OlmError as error:
                end = error.message.partition(" ")[0]
            ends.setdefault(end, []).append(number)
    assert set(ends) <= {"read", "git", "commit"}, f"in rounds {ends}"
    assert {*range(0, ROUNDS, 10)} <= {*ends["read"]}
    assert len(ends["git"]) > ROUNDS / 4
    assert not caplog.records, "what a server sends is in no log"


def changed(body: bytes, seed: int) -> bytes:
    chance = random.Random(seed * 1000 + len(body))
    data = bytearray(body)
    match chance.randrange(5):
        case 0:
            return body
        case 1:
            return body[: chance.randrange(len(body) + 1)]
        case 2:
            place = chance.randrange(len(data) + 1)
            data[place:place] = chance.randbytes(chance.randrange(1, 9))
        case _:
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


async def test_through_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy resolves names. The servers act as the proxy, because they accept absolute URLs."""
    harness = SourceHarness(tmp_path, Access())
    repository = Repository(tmp_path / "repositories" / "x.git")
    repository.commit(FILES)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.tar").write_bytes(tar(FILES))
    async with GitServer(tmp_path / "repositories") as git, WebServer(tmp_path / "files") as web_server:
        monkeypatch.setenv("HTTP_PROXY", git.url)
        assert await harness.files(branch("http://git.example/x.git", directory="catalog")) == {
            "a": "1" * 1000,
            "b": "2" * 1000,
        }
        assert git.requests
        monkeypatch.setenv("HTTP_PROXY", web_server.url)
        assert await harness.files(HttpSource("http://files.example/a.tar")) == FILES
        asked = len(web_server.requests)
        error = await harness.error(HttpSource("http://169.254.169.254/a.tar"))
        assert error.reason == "AddressRefused"
        error = await harness.error(branch("http://metadata.google.internal/x.git"))
        assert error.reason == "AddressRefused"
        assert len(web_server.requests) == asked
