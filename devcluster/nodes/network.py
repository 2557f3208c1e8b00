"""The addresses of a cluster with a real node. Pure.

All are in the cluster's pod range, so no two clusters share any:

- `link`: a pair of virtual interfaces between this machine and the node. This machine's end has the addresses of the API server
  and of the registry, apart, because the suite refuses sources at the address of the API server.
- `pods`: the addresses of pods, on a bridge of the node. This machine reaches them, and the addresses of Services, through the
  node, as a machine beside a cluster does.
"""

import ipaddress
from dataclasses import dataclass

from devcluster.allocation import Allocation

NODE = "node-1"
"""The name of the node."""
LINK_PREFIX_LENGTH = 29

_PODS_PREFIX_LENGTH = 20


@dataclass(frozen=True)
class NodeNetwork:
    """The addresses that belong to an allocation."""

    allocation: Allocation

    @property
    def link(self) -> str:
        """The name of the interface on this machine; that of the other end is `eth0`."""
        return f"olm-node-{self.allocation.number}"

    @property
    def api_server(self) -> str:
        """The address of the API server."""
        return self._on_link(1)

    @property
    def registry(self) -> str:
        """The address of the registry."""
        return self._on_link(2)

    @property
    def node(self) -> str:
        """The address of the node."""
        return self._on_link(3)

    @property
    def pods(self) -> str:
        """The range of the pods, as "10.180.0.0/20"."""
        return f"{ipaddress.ip_network(self.allocation.pod_cidr).network_address}/{_PODS_PREFIX_LENGTH}"

    @property
    def services(self) -> str:
        """The range of the Services."""
        return self.allocation.service_cidr

    @property
    def dns(self) -> str:
        """The address of the Service of the cluster's DNS."""
        return str(ipaddress.ip_network(self.services)[10])

    def _on_link(self, number: int) -> str:
        size = 2 ** (ipaddress.IPV4LENGTH - LINK_PREFIX_LENGTH)
        return str(ipaddress.ip_network(self.allocation.pod_cidr)[number - size])
