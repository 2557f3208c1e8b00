"""Connections of a client: what it leaves when it is closed, and which logins and proxies of the environment it uses."""

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
from tests.servers.forward_proxy import ForwardProxy

NAME = "api.test"
"""A name of the server that no resolver knows."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """That of a TLS server that reads requests, and neither answers them nor closes a connection."""
    authority = Authority()
    context = authority.server_context(tmp_path, NAME)
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


def test_a_login_of_netrc_is_not_in_the_way_of_the_token(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password p\n")
    monkeypatch.setenv("NETRC", str(netrc))
    asyncio.run(break_off(kubeconfig))


def test_the_proxy_of_the_environment_is_used(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = yaml.safe_load(kubeconfig.read_text())
    cluster = content["clusters"][0]["cluster"]
    address = cluster["server"].removeprefix("https://")
    there = address.replace("127.0.0.1", NAME)
    cluster["server"] = f"https://{there}"
    kubeconfig.write_text(yaml.safe_dump(content))

    async def request() -> ForwardProxy:
        async with ForwardProxy({there: address}, login="me:secret").running() as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{proxy.address}")
            await break_off(kubeconfig)
            return proxy

    proxy = asyncio.run(request())
    assert proxy.requests == [f"CONNECT {there} HTTP/1.1"]
    assert proxy.authorizations == ["Basic bWU6c2VjcmV0"]
