"""Listen addresses, as flags name them."""

from __future__ import annotations

import pytest

from olmkit.errors import OlmError
from olmkit.runtime.listener.sockets import parse_listen_address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("127.0.0.1:8080", ("127.0.0.1", 8080), id="host and port"),
        pytest.param(":8081", (None, 8081), id="a port of all addresses"),
        pytest.param("[::1]:0", ("::1", 0), id="IPv6 and a free port"),
    ],
)
def test_parse_listen_address(address: str, expected: tuple[str | None, int]) -> None:
    assert parse_listen_address(address) == expected


@pytest.mark.parametrize("address", ["", "8080", "host", "host:", "host:http", "host:70000", "host:-1"])
def test_an_invalid_listen_address_is_reported(address: str) -> None:
    with pytest.raises(OlmError, match="use host:port"):
        parse_listen_address(address)
