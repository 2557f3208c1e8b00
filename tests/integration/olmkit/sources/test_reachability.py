"""Whether a server answers, for each type of source: any answer is enough, and only a server without one is an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from olmkit.errors import Waiting
from olmkit.sources.errors import BadReference
from olmkit.sources.reachability import verify_reachable
from olmkit.sources.source import ConfigMapsSource, HttpSource, ImageSource, Source
from tests.integration.olmkit.sources.harness import SourceHarness, branch
from tests.servers.raw_server import never_answer, speaking

DIGEST = "sha256:" + "1" * 64
SOURCES: tuple[tuple[str, Callable[[str], Source]], ...] = (
    ("an image by tag", lambda address: ImageSource(f"{address}/a:v1")),
    ("an image by digest", lambda address: ImageSource(f"{address}/a@{DIGEST}")),
    ("an archive", lambda address: HttpSource(f"http://{address}/a.tar?token=x")),
    ("a git repository over http", lambda address: branch(f"http://{address}/a.git")),
    ("a git repository over ssh", lambda address: branch(f"ssh://git@{address}/a.git")),
)
EACH = pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in SOURCES])


@pytest.fixture
def harness(tmp_path: Path) -> SourceHarness:
    made = SourceHarness(tmp_path)
    made.use_short_timeouts()
    return made


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request with 404; in ssh, as in HTTP, that is an answer."""
    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()
    await reader.read(65536)


def using_plain_http(harness: SourceHarness, address: str) -> None:
    conf = harness.directory / "registries.conf"
    conf.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
    harness.access = replace(harness.access, registries_conf=conf)


@EACH
async def test_an_answer_is_enough_whatever_it_is(source: Callable[[str], Source], harness: SourceHarness) -> None:
    async with speaking(refuse) as address:
        using_plain_http(harness, address)
        await verify_reachable(source(address), harness.access)


async def answer_with_a_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer HEAD as GET, as simple servers do."""
    writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody")
    await writer.drain()
    await reader.read(65536)


@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in SOURCES[2:4]])
async def test_an_answer_to_head_that_has_a_body_is_enough(
    source: Callable[[str], Source], harness: SourceHarness
) -> None:
    async with speaking(answer_with_a_body) as address:
        await verify_reachable(source(address), harness.access)


@EACH
async def test_a_server_that_accepts_connections_and_never_answers(
    source: Callable[[str], Source], harness: SourceHarness
) -> None:
    async with speaking(never_answer) as address:
        with pytest.raises(
            Waiting, match=rf"{address} does not answer: (nothing|no connection with a TLS handshake) within"
        ):
            await verify_reachable(source(address), harness.access)


@EACH
async def test_a_server_that_does_not_listen(source: Callable[[str], Source], harness: SourceHarness) -> None:
    async with speaking(never_answer) as address:
        pass
    with pytest.raises(Waiting, match=f"{address} does not answer: connection refused"):
        await verify_reachable(source(address), harness.access)


@EACH
async def test_an_address_that_is_not_allowed_is_not_asked(
    source: Callable[[str], Source], harness: SourceHarness
) -> None:
    with pytest.raises(BadReference, match="such addresses are refused"):
        await verify_reachable(source("169.254.169.254:80"), harness.access)


async def test_configmaps_have_no_server(harness: SourceHarness) -> None:
    await verify_reachable(ConfigMapsSource((("a", b"1"),)), harness.access)
