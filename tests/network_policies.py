"""NetworkPolicies as Kubernetes defines them, evaluated for one connection. Pure, and without the network of a cluster.

Knows what config/network uses: selectors by `matchLabels`, address blocks, ports by number and name. Another field is an error.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Endpoint:
    """One end of a connection: a pod, with the labels of its namespace, or an address outside the cluster (no namespace).

    The address "" is in no block. `ports` are the numbers of the named ports of a pod.
    """

    address: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)


def is_allowed(
    policies: Sequence[Object], source: Endpoint, destination: Endpoint, port: int, protocol: str = "TCP"
) -> bool:
    """Report whether the policies of both ends permit the connection. A pod without a policy for a direction permits it."""
    return _permits(policies, "Egress", source, destination, destination, port, protocol) and _permits(
        policies, "Ingress", destination, source, destination, port, protocol
    )


def _permits(
    policies: Sequence[Object],
    direction: str,
    pod: Endpoint,
    peer: Endpoint,
    destination: Endpoint,
    port: int,
    protocol: str,
) -> bool:
    concerned = [
        each["spec"]
        for each in policies
        if pod.namespace == each["metadata"]["namespace"]
        and direction in each["spec"]["policyTypes"]
        and _selects(each["spec"]["podSelector"], pod.labels)
    ]
    key, peers = direction.lower(), "to" if direction == "Egress" else "from"
    return not concerned or any(
        _has_port(rule.get("ports"), destination, port, protocol) and _has_peer(rule.get(peers), peer)
        for spec in concerned
        for rule in spec.get(key, ())
    )


def _has_port(ports: Iterable[Object] | None, destination: Endpoint, port: int, protocol: str) -> bool:
    if ports is None:
        return True
    for each in ports:
        _check(each, "port", "protocol")
        number = destination.ports.get(each["port"]) if isinstance(each["port"], str) else each["port"]
        if (number, each["protocol"]) == (port, protocol):
            return True
    return False


def _has_peer(peers: Iterable[Object] | None, peer: Endpoint) -> bool:
    return peers is None or any(_is_peer(each, peer) for each in peers)


def _is_peer(selected: Object, peer: Endpoint) -> bool:
    _check(selected, "ipBlock", "namespaceSelector")
    if "ipBlock" in selected:
        block = selected["ipBlock"]
        is_outside = not peer.namespace  # many networks know pods by their labels alone
        return (
            is_outside
            and _contains(block["cidr"], peer.address)
            and not any(_contains(each, peer.address) for each in block.get("except", ()))
        )
    return bool(peer.namespace) and _selects(selected["namespaceSelector"], peer.namespace_labels)


def _contains(block: str, address: str) -> bool:
    return address != "" and ipaddress.ip_address(address) in ipaddress.ip_network(block)


def _selects(selector: Object, labels: Mapping[str, str]) -> bool:
    _check(selector, "matchLabels")
    wanted: Mapping[str, str] = selector.get("matchLabels", {})
    return wanted.items() <= labels.items()


def _check(value: Object, *known: str) -> None:
    if unknown := value.keys() - set(known):
        raise NotImplementedError(f"{', '.join(sorted(unknown))} in a NetworkPolicy")
