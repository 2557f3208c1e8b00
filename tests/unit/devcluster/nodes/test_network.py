"""The addresses of a cluster with a real node."""

from ipaddress import ip_address, ip_network
from itertools import combinations

from devcluster.allocation import MAX_CLUSTERS, allocation_of
from devcluster.nodes.network import NodeNetwork

ALL = [NodeNetwork(allocation_of(number)) for number in range(MAX_CLUSTERS)]


def test_every_address_is_in_a_range_of_the_cluster() -> None:
    for network in ALL:
        pods = ip_network(network.allocation.pod_cidr)
        for address in (network.api_server, network.registry, network.node):
            assert ip_address(address) in pods
            assert ip_address(address) not in ip_network(network.pods)
        assert ip_network(network.pods).subnet_of(pods)  # type: ignore[arg-type]
        assert ip_address(network.dns) in ip_network(network.services)


def test_no_two_are_the_same() -> None:
    for network in ALL:
        assert len({network.api_server, network.registry, network.node, network.dns}) == 4
    for one, other in combinations(ALL, 2):
        assert not ip_network(one.pods).overlaps(ip_network(other.pods))
        assert one.link != other.link


def test_the_kernel_accepts_the_names_of_the_interfaces() -> None:
    assert all(len(network.link) <= 15 for network in ALL)
