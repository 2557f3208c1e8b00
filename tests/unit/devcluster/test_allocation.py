"""Allocations of ports and ranges, and parsing of the routing table."""

from ipaddress import IPv4Network

import pytest

from devcluster.allocation import MAX_CLUSTERS, allocation_of, overlaps, routed_networks

HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT"


def test_no_two_allocations_share_a_port_or_an_address() -> None:
    allocations = [allocation_of(number) for number in range(MAX_CLUSTERS)]
    ports = [port for each in allocations for port in (each.ports[0] - 1, *each.ports)]
    ranges = [range_ for each in allocations for range_ in (each.pod_cidr, each.service_cidr)]
    assert len(set(ports)) == len(ports)
    assert len(set(ranges)) == len(ranges)
    assert all(IPv4Network(range_).prefixlen == 16 for range_ in ranges)


def test_the_kubernetes_service_has_the_first_address_of_the_service_range() -> None:
    assert allocation_of(0).first_service_address == "10.181.0.1"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0",
            ["192.0.2.0/24"],
            id="a network of the machine counts",
        ),
        pytest.param(
            "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0",
            [],
            id="the default route is ignored",
        ),
        pytest.param(
            "*\t0000B40A\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0", [], id="an unreachable route is one of ours"
        ),
        pytest.param(
            "tun0\t0000B40A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
            ["10.180.0.0/16"],
            id="a tunnel to 10.180 counts",
        ),
    ],
)
def test_routes_of_the_machine(line: str, expected: list[str]) -> None:
    assert [str(network) for network in routed_networks([HEADER, line])] == expected


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        pytest.param("10.0.0.0/8", True, id="a route to all of 10 takes the range"),
        pytest.param("10.180.7.0/24", True, id="a route to a part of the range takes it"),
        pytest.param("10.182.0.0/16", False, id="a route outside the range is ignored"),
    ],
)
def test_a_range_with_an_existing_route_is_not_used(network: str, expected: bool) -> None:
    assert overlaps("10.180.0.0/16", [IPv4Network(network)]) is expected
