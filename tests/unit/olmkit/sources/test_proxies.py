"""HTTP_PROXY, HTTPS_PROXY and NO_PROXY with the semantics of Go."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from olmkit.errors import Blocked
from olmkit.sources.proxies import Proxies, Proxy

BOTH = {"HTTP_PROXY": "http://proxy:3128", "HTTPS_PROXY": "http://secure:3129"}


@pytest.mark.parametrize(
    ("environment", "scheme", "expected"),
    [
        pytest.param({}, "https", None, id="no variable"),
        pytest.param({"HTTPS_PROXY": ""}, "https", None, id="an empty one"),
        pytest.param(BOTH, "http", "http://proxy:3128", id="http"),
        pytest.param(BOTH, "https", "http://secure:3129", id="https"),
        pytest.param({"http_proxy": "http://lower:1"}, "http", "http://lower:1", id="in lower case"),
        pytest.param({"http_proxy": "http://lower:1", **BOTH}, "http", "http://proxy:3128", id="upper case first"),
        pytest.param({"HTTP_PROXY": "http://proxy:3128"}, "https", None, id="one scheme is not the other"),
        pytest.param({"ALL_PROXY": "http://all:1"}, "https", None, id="ALL_PROXY is ignored"),
        pytest.param({"HTTPS_PROXY": "proxy:3128"}, "https", "http://proxy:3128", id="without a scheme"),
        pytest.param({"HTTPS_PROXY": "proxy"}, "https", "http://proxy:80", id="without a port"),
        pytest.param({"HTTPS_PROXY": "https://proxy/"}, "https", "https://proxy:443", id="a proxy that speaks TLS"),
        pytest.param({"HTTPS_PROXY": "http://[fd00::1]:3128"}, "https", "http://[fd00::1]:3128", id="IPv6"),
    ],
)
def test_each_scheme_has_its_proxy(environment: Mapping[str, str], scheme: str, expected: str | None) -> None:
    proxy = Proxies.load(environment).choose(scheme, "quay.io", 443)
    assert (proxy.url if proxy else None) == expected


def test_the_login_of_a_proxy_is_in_no_repr() -> None:
    proxies = Proxies.load({"HTTPS_PROXY": "http://us%40er:Ses%3Aame@proxy:3128"})
    assert proxies.https == Proxy("http://proxy:3128", "Basic dXNAZXI6U2VzOmFtZQ==")
    assert "ame" not in repr(proxies)
    assert "U2Vz" not in repr(proxies)


@pytest.mark.parametrize(
    ("no_proxy", "host", "port", "direct"),
    [
        pytest.param("", "quay.io", 443, False, id="empty"),
        pytest.param("*", "quay.io", 443, True, id="everything"),
        pytest.param("a.com, *", "quay.io", 443, True, id="a star among other entries"),
        pytest.param("quay.io", "quay.io", 443, True, id="a domain"),
        pytest.param("quay.io", "cdn.quay.io", 443, True, id="what is below a domain"),
        pytest.param("quay.io", "myquay.io", 443, False, id="not what ends the same"),
        pytest.param(".quay.io", "cdn.quay.io", 443, True, id="a suffix"),
        pytest.param(".quay.io", "quay.io", 443, False, id="a suffix is not the domain"),
        pytest.param("*.quay.io", "cdn.quay.io", 443, True, id="a star and a suffix"),
        pytest.param("*.quay.io", "quay.io", 443, False, id="which is not the domain either"),
        pytest.param("QUAY.io", "Quay.IO", 443, True, id="case does not count"),
        pytest.param(" a.com , quay.io ", "quay.io", 443, True, id="blanks only"),
        pytest.param("quay.io:8443", "quay.io", 8443, True, id="a port"),
        pytest.param("quay.io:8443", "quay.io", 443, False, id="another port"),
        pytest.param("10.0.0.0/8", "10.1.2.3", 443, True, id="a CIDR"),
        pytest.param("10.0.0.0/8", "11.1.2.3", 443, False, id="outside of a CIDR"),
        pytest.param("10.0.0.7/8", "10.1.2.3", 443, True, id="a CIDR with a host in it"),
        pytest.param("10.0.0.0/8", "ten.example", 443, False, id="names are not looked up"),
        pytest.param("10.1.2.3", "10.1.2.3", 443, True, id="an address"),
        pytest.param("10.1.2.3:5000", "10.1.2.3", 5000, True, id="an address with its port"),
        pytest.param("10.1.2.3:5000", "10.1.2.3", 443, False, id="an address with another port"),
        pytest.param("fd00::/8", "[fd00::1]", 443, True, id="a CIDR of IPv6"),
        pytest.param("fd00::1", "fd00::1", 443, True, id="an IPv6 address"),
        pytest.param("[fd00::1]:5000", "fd00::1", 5000, True, id="an IPv6 address with a port"),
        pytest.param("10.0.0.0/99,:80,", "quay.io", 80, False, id="what makes no sense is passed over"),
        pytest.param("", "localhost", 443, True, id="localhost is always direct"),
        pytest.param("", "127.0.0.9", 443, True, id="nor is loopback"),
        pytest.param("", "[::1]", 443, True, id="nor its IPv6 form"),
    ],
)
def test_hosts_of_no_proxy_are_direct(no_proxy: str, host: str, port: int, direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        proxies = Proxies.load({**BOTH, name: no_proxy})
        assert (proxies.choose("https", host, port) is None) == direct


@pytest.mark.parametrize(
    "text", ["socks5://u:Sesame@proxy:1", "http://u:Sesame@", "http://u:Sesame@proxy:port", "http://"]
)
def test_an_invalid_proxy_is_reported_without_its_value(text: str) -> None:
    with pytest.raises(Blocked) as raised:
        Proxies.load({"HTTPS_PROXY": text})
    assert raised.value.reason == "InvalidConfiguration"
    assert raised.value.message == (
        "the environment variable HTTPS_PROXY is not the URL of a proxy: write http://host:port or https://host:port"
    )
