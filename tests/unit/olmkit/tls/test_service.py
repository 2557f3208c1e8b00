"""The names of a Service, and addresses in URLs."""

import pytest

from olmkit.tls.service import CATALOG_SERVICE, host_of, netloc

OWN = (
    *("127.0.0.1", "::1", "catalogd-catalogserver", "catalogd-catalogserver.olm", "catalogd-catalogserver.olm.svc"),
    *(
        "catalogd-catalogserver.olm.svc.cluster.local",
        "catalogd-service",
        "catalogd-service.olm",
        "catalogd-service.olm.svc",
    ),
    *("catalogd-service.olm.svc.cluster.local", "localhost"),
)


@pytest.mark.parametrize(
    ("addresses", "more"),
    [
        pytest.param((), (), id="no other address"),
        pytest.param(("",), (), id="an empty address"),
        pytest.param(("catalogs.example.com:8443",), ("catalogs.example.com",), id="a host with a port"),
        pytest.param(("10.0.0.7:8083", "[fd00::7]:8083"), ("10.0.0.7", "fd00::7"), id="addresses of both sorts"),
        pytest.param(("catalogd-catalogserver.olm.svc",), (), id="a name that it has anyway"),
    ],
)
def test_a_certificate_has_the_names_of_the_service_localhost_and_the_given_addresses(
    addresses: tuple[str, ...], more: tuple[str, ...]
) -> None:
    assert CATALOG_SERVICE.names("olm", *addresses) == tuple(sorted({*OWN, *more}))


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("h", "h"),
        ("h:80", "h"),
        ("h.example.com:8443", "h.example.com"),
        ("127.0.0.1:1", "127.0.0.1"),
        ("[::1]:1", "::1"),
        ("[::1]", "::1"),
        ("fd00::1", "fd00::1"),
        (":8083", ""),
        ("", ""),
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    assert host_of(address) == host


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.0.0.7:8443", "10.0.0.7:8443"),
        ("h.example.com:8443", "h.example.com:8443"),
        ("fd00::7:8443", "[fd00::7]:8443"),
        ("[fd00::7]:8443", "[fd00::7]:8443"),
    ],
)
def test_an_ipv6_address_is_bracketed_in_a_url(address: str, expected: str) -> None:
    assert netloc(address) == expected
