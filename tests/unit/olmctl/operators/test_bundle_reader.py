"""Registries at loopback addresses, which a catalog must not make a machine call."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from olmctl.operators.bundle_reader import bundle_reader, is_loopback, is_within, loopback_network
from olmkit.errors import OlmError

OPTIONS = {"registries_conf": None, "pull_cas_dir": None, "allow_source_cidr": ()}
IMAGE = f"127.0.0.1:1/x@sha256:{'1' * 64}"


@pytest.mark.parametrize(
    ("image", "network"),
    [
        ("127.0.0.1:5000/x:v1", "127.0.0.1/32"),
        ("127.1.2.3:5000/x:v1", "127.1.2.3/32"),
        ("localhost:5000/x:v1", "127.0.0.1/32"),
        ("[::1]:5000/x:v1", "::1/128"),
        ("10.0.0.1:5000/x:v1", ""),
        ("quay.io/x/y:v1", ""),
        ("localhost.example.com/x:v1", ""),
        ("not an image", ""),
    ],
)
def test_the_loopback_network_of_an_image(image: str, network: str) -> None:
    assert loopback_network(image) == network


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("127.0.0.1:6443", True),
        ("localhost:6443", True),
        ("[::1]:6443", True),
        ("10.0.0.1:443", False),
        ("k8s.io", False),
    ],
)
def test_whether_an_api_server_is_on_this_machine(server: str, expected: bool) -> None:
    assert is_loopback(server) is expected


@pytest.mark.parametrize("server", ["10.0.0.1:443", "127.0.0.1:6443"])
def test_a_loopback_registry_is_called_only_where_the_api_server_is(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session: Any = SimpleNamespace(client=SimpleNamespace(host=server))
    with pytest.raises(OlmError) as caught:
        asyncio.run(_read(session))
    is_refused = caught.value.message.endswith("--allow-source-cidr names them: --allow-source-cidr 127.0.0.1/32")
    assert is_refused is (server == "10.0.0.1:443"), caught.value.message
    assert ("is pulled from this machine" in capsys.readouterr().err) is not is_refused


async def _read(session: Any) -> None:
    await bundle_reader(OPTIONS, session)(IMAGE)


@pytest.mark.parametrize(
    ("network", "allowed", "expected"),
    [
        pytest.param("127.0.0.1/32", ("127.0.0.0/8",), True, id="all of loopback is permitted"),
        pytest.param("127.0.0.1/32", ("10.0.0.0/8", "127.0.0.1/32"), True, id="this address is permitted"),
        pytest.param("127.0.0.2/32", ("127.0.0.1/32",), False, id="another address is permitted"),
        pytest.param("127.0.0.1/32", ("::/0",), False, id="the networks of the other version are permitted"),
        pytest.param("127.0.0.1/32", (), False, id="nothing is permitted"),
    ],
)
def test_what_the_options_permit_needs_no_warning(network: str, allowed: tuple[str, ...], expected: bool) -> None:
    assert is_within(network, allowed) is expected
