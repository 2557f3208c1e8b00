"""The proxy that requests to the API server use."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from olmkit.errors import Blocked
from olmkit.runtime.kubeconfig import choose_proxy

PROXY = {"HTTPS_PROXY": "http://proxy:3128"}
HOST = "https://api.example.com:6443"


@pytest.mark.parametrize(
    ("environment", "host", "named", "expected"),
    [
        pytest.param({}, HOST, None, (None, None), id="none"),
        pytest.param(PROXY, HOST, None, ("http://proxy:3128", None), id="that of the environment"),
        pytest.param(PROXY, HOST, "http://own:1", ("http://own:1", None), id="that of the kubeconfig before it"),
        pytest.param({**PROXY, "NO_PROXY": "example.com"}, HOST, None, (None, None), id="none for what NO_PROXY names"),
        pytest.param(
            {**PROXY, "NO_PROXY": "api.example.com:443"},
            "https://api.example.com",
            None,
            (None, None),
            id="the port of https if the address has none",
        ),
        pytest.param(PROXY, "https://[::1]:6443", None, (None, None), id="none for loopback"),
        pytest.param(
            {"HTTPS_PROXY": "http://me:p@proxy:3128"},
            HOST,
            None,
            ("http://proxy:3128", {"Proxy-Authorization": "Basic bWU6cA=="}),
            id="with the login of its URL",
        ),
    ],
)
def test_proxy(
    environment: dict[str, str], host: str, named: str | None, expected: tuple[str | None, dict[str, str] | None]
) -> None:
    configuration = SimpleNamespace(host=host, proxy=named, proxy_headers=None)
    choose_proxy(configuration, environment)
    assert (configuration.proxy, configuration.proxy_headers) == expected


def test_a_proxy_that_is_no_url_is_named() -> None:
    with pytest.raises(Blocked, match="HTTPS_PROXY is not the URL of a proxy"):
        choose_proxy(SimpleNamespace(host=HOST, proxy=None, proxy_headers=None), {"HTTPS_PROXY": "ftp://proxy"})
