"""The ports of probes and metrics of a process with 256 file descriptors, while a peer holds as many connections as it can."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cluster.olmkit.processes import ROOT

MANY = 400
PATHS = {"probes": "/healthz", "metrics": "/metrics"}


@pytest.fixture
async def ports() -> AsyncIterator[dict[str, int]]:
    """The ports of a process that serves both, by name; it has logged nothing but that at its end."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.olmkit.runtime.ports"),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stderr is not None
    try:
        lines = [json.loads(await child.stderr.readline()) for _ in PATHS]
        yield {line["server"]: int(line["address"].rpartition(":")[2]) for line in lines}
        child.stdin.close()
        assert await child.stderr.read() == b""
        assert await child.wait() == 0
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


@contextlib.contextmanager
def connected(port: int, says: bytes) -> Iterator[list[socket.socket]]:
    """As many connections as a peer likes, each having said that."""
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(MANY):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            with contextlib.suppress(ConnectionError):
                client.sendall(says)
            clients.append(client)
        yield clients


async def get(port: int, path: str) -> tuple[int, bytes]:
    """Status and body, asked over a connection of its own as the kubelet does."""
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split(b" ")[1]), body


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    "says",
    [
        pytest.param(b"", id="that say nothing"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: p", id="that do not end their request"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: p\r\n\r\n", id="that asked once and stay"),
    ],
)
async def test_many_connections_cost_a_process_few_descriptors(ports: dict[str, int], name: str, says: bytes) -> None:
    with connected(ports[name], says):
        for server, path in PATHS.items():
            status, body = await get(ports[server], path)
            assert status == 200
            assert body
