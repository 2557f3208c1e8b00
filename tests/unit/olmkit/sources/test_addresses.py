"""Addresses that are refused, in every notation."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as some

from olmkit.errors import Blocked
from olmkit.sources.addresses import AddressGuard, SourceAddresses, literal_address
from olmkit.sources.errors import BadReference


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("169.254.169.254", "link-local"),
        ("169.254.0.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("fd00:ec2::254", "metadata"),
        ("fd20:ce::254", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("192.0.0.192", "metadata"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "multicast"),
        ("ff02::1", "multicast"),
    ],
)
def test_refused_addresses(address: str, why: str) -> None:
    refusal = SourceAddresses().refusal_of_address(address, 443)
    assert refusal is not None
    assert why in refusal
    assert SourceAddresses.load(["0.0.0.0/0", "::/0"]).refusal_of_address(address, 443) is None, (
        "a range that is allowed lifts it"
    )


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "8.8.8.8", "fd00::1", "2001:4860::1", "64:ff9b::808:808"],
)
def test_allowed_addresses(address: str) -> None:
    assert SourceAddresses().refusal_of_address(address, 443) is None


def test_the_api_server_is_refused_at_its_port_or_at_every_port() -> None:
    addresses = SourceAddresses.load(
        deny=["10.96.0.1", "192.168.1.10:6443", "[fd00::1]:6443", "no-such-host.invalid:1"]
    )
    assert addresses.refusal_of_address("10.96.0.1", 443) == "which is the API server's"
    assert addresses.refusal_of_address("::ffff:10.96.0.1", 80) is not None
    assert addresses.refusal_of_address("192.168.1.10", 6443) is not None
    assert addresses.refusal_of_address("192.168.1.10", 5000) is None, "a registry on the same machine"
    assert addresses.refusal_of_address("fd00::1", 6443) is not None
    assert addresses.refusal_of_address("fd00::1", 443) is None


def test_an_allowed_range_applies_to_that_range_only() -> None:
    addresses = SourceAddresses.load(["127.0.0.2/32", "169.254.0.0/24"])
    assert addresses.refusal_of_address("127.0.0.2", 1) is None
    assert addresses.refusal_of_address("127.0.0.1", 1) is not None
    assert addresses.refusal_of_address("169.254.0.7", 1) is None
    assert addresses.refusal_of_address("169.254.1.7", 1) is not None


def test_an_invalid_range_is_reported() -> None:
    with pytest.raises(Blocked, match="--allow-source-cidr: 'ten'"):
        SourceAddresses.load(["ten"])


def test_the_guard_refuses_before_creating_a_socket() -> None:
    guard = AddressGuard(SourceAddresses())
    with pytest.raises(PermissionError):
        guard((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80)))
    assert guard.refused == {"the address 127.0.0.1, which is loopback"}
    with guard((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("10.0.0.1", 80))) as made:
        assert made.family == socket.AF_INET


@given(some.ip_addresses(v=4))
def test_an_embedded_ipv4_address_is_checked(plain: ipaddress.IPv4Address) -> None:
    addresses = SourceAddresses()
    expected = addresses.refusal_of_address(str(plain), 80)
    mapped = ipaddress.IPv6Address(0xFFFF_0000_0000 + int(plain))
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(plain))
    assert addresses.refusal_of_address(str(mapped), 80) == expected
    assert addresses.refusal_of_address(str(translated), 80) == expected
    local = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b:1::")) + int(plain))
    assert addresses.refusal_of_address(str(local), 80) == expected


@given(some.ip_addresses(v=4))
def test_every_notation_of_an_address_is_recognized(plain: ipaddress.IPv4Address) -> None:
    value, parts = int(plain), plain.packed
    for written in (
        str(plain),
        str(value),
        hex(value),
        f"0{value:o}",
        ".".join(f"0{part:o}" for part in parts),
        ".".join(map(hex, parts)),
        f"{parts[0]}.{value & 0xFFFFFF}",
        f"{parts[0]}.{parts[1]}.{value & 0xFFFF}",
    ):
        assert literal_address(written) == plain, written


@pytest.mark.parametrize(
    "host", ["quay.io", "a", "1.2.3.4.5", "1.2.3.4 x", "256.1.1.1", "0xg", "1e3", "", "4294967296"]
)
def test_a_name_is_not_an_address(host: str) -> None:
    assert literal_address(host) is None


@pytest.mark.parametrize(
    ("host", "what"),
    [
        ("localhost", "the address 127.0.0.1, which is loopback"),
        ("Localhost.", "the address 127.0.0.1, which is loopback"),
        ("a.localhost", "the address 127.0.0.1, which is loopback"),
        ("2130706433", "the address 127.0.0.1, which is loopback"),
        ("[::1]", "the address ::1, which is loopback"),
        ("fe80::1%eth0", "the address fe80::1, which is link-local, the range of metadata services"),
        ("metadata.google.internal", "the name metadata.google.internal, which is a metadata service's"),
        ("10.96.0.1", "the address 10.96.0.1, which is the API server's"),
    ],
)
def test_some_hosts_are_refused_without_resolving_them(host: str, what: str) -> None:
    assert SourceAddresses.load(deny=["10.96.0.1:443"]).refusal_of_host(host, 443) == what


@pytest.mark.parametrize("host", ["quay.io", "notlocalhost", "10.0.0.1", "localhost.example.com", "[fd00::1]"])
def test_other_names_are_not_refused_without_resolving_them(host: str) -> None:
    assert SourceAddresses().refusal_of_host(host, 443) is None
    lifted = SourceAddresses.load(["127.0.0.0/8"])
    assert lifted.refusal_of_host("localhost", 443) is None


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        pytest.param("169.254.169.254", "the address 169.254.169.254, which is link-local", id="an address"),
        pytest.param("[::1]", "the address ::1, which is loopback", id="one of version 6"),
        pytest.param("0x7f.1", "the address 127.0.0.1, which is loopback", id="written in another way"),
        pytest.param("192.168.1.10", "the address 192.168.1.10, which is the API server's", id="the API server's"),
        pytest.param("10.0.0.1", "", id="one that may be had"),
        pytest.param("localhost", "", id="a name, which may get another address"),
        pytest.param("metadata.google.internal", "", id="any name"),
    ],
)
def test_a_refused_address_in_a_spec_is_a_bad_reference(host: str, refused: str) -> None:
    addresses = SourceAddresses.load(deny=["192.168.1.10"])
    try:
        addresses.check_literal(host, 443, "web server X")
        found = ""
    except BadReference as error:
        found = error.message
    assert found.startswith(f"web server X has {refused}") if refused else found == ""
    SourceAddresses.load(["0.0.0.0/0", "::/0"]).check_literal(host, 443, "web server X")
