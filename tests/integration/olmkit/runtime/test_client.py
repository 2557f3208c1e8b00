"""A client whose requests were broken off leaves no connection when it is closed."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from olmkit.runtime.client import Client
from tests.servers.certificates import Authority


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """That of a TLS server that reads requests, and neither answers them nor closes a connection."""
    authority = Authority()
    context = authority.server_context(tmp_path)
    listening = socket.create_server(("127.0.0.1", 0))
    accepted: list[ssl.SSLSocket] = []

    def accept() -> None:
        while True:
            try:
                found, _ = listening.accept()
                accepted.append(context.wrap_socket(found, server_side=True))
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    cluster = {
        "server": f"https://127.0.0.1:{listening.getsockname()[1]}",
        "certificate-authority": str(authority.directory(tmp_path) / "test.crt"),
    }
    file = tmp_path / "kubeconfig"
    content = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "current-context": "c",
    }
    file.write_text(yaml.safe_dump(content))
    yield file
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()
    for each in accepted:
        each.close()


async def break_off(kubeconfig: Path) -> None:
    async with await Client.connect(str(kubeconfig)) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.version()


def test_a_request_that_was_broken_off_leaves_no_connection(kubeconfig: Path) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(break_off(kubeconfig))
        gc.collect()
    assert [str(each.message) for each in found if "unclosed" in str(each.message)] == []
