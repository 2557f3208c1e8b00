"""The addresses of the API server by configuration and endpoints; and that no source may have one of them."""

from __future__ import annotations

import pytest

from devcluster.cluster import Cluster
from olmkit.jobs import codec
from olmkit.runtime.api_server_addresses import ApiServerAddresses, endpoints
from olmkit.runtime.client import Client
from olmkit.sources.access import Access
from tests.cluster.endpoints import endpoint_of_the_api_server


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({}, (), id="nothing"),
        pytest.param({"endpoints": None, "ports": None}, (), id="none yet"),
        pytest.param(
            {"endpoints": [{"addresses": ["10.0.0.2"]}, {"addresses": ["10.0.0.1"]}], "ports": [{"port": 6443}]},
            ("10.0.0.1:6443", "10.0.0.2:6443"),
            id="two API servers",
        ),
        pytest.param(
            {"endpoints": [{"addresses": ["fd00::1"]}], "ports": [{"name": "https", "port": 6443}, {"name": "any"}]},
            ("[fd00::1]:6443",),
            id="IPv6, and a port without a number",
        ),
    ],
)
def test_endpoints(raw: dict[str, object], expected: tuple[str, ...]) -> None:
    assert endpoints(raw) == expected


async def test_the_configured_address_and_the_endpoints_are_refused_to_sources(cluster: Cluster) -> None:
    async with await Client.connect(str(cluster.kubeconfig)) as client:
        assert await ApiServerAddresses(client).hosts() == (client.host,), "an API server on loopback has no endpoints"
        with endpoint_of_the_api_server(cluster, "192.0.2.1"):
            hosts = await ApiServerAddresses(client).hosts()
        assert hosts == (client.host, "192.0.2.1:6443")
    addresses = codec.decode(Access, codec.encode(Access().with_denied_hosts(hosts))).addresses()
    assert addresses.refusal_of_address("192.0.2.1", 6443) == "which is the API server's"
    assert addresses.refusal_of_address("192.0.2.1", 443) is None
