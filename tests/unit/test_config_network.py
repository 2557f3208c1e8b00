"""The NetworkPolicies of config/network permit each connection of the code, and no other one that a policy can deny.

The network of the local cluster enforces none: this is evaluated (tests/network_policies.py).
"""

from __future__ import annotations

import ast
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalogd.__main__ import add_flags as catalog_flags
from olmkit.api.meta import Object
from olmkit.runtime.flags import make_parser
from operator_controller.__main__ import add_flags as operator_flags
from release.kustomization import objects_of
from rukpak.__main__ import add_flags as rukpak_flags
from tests.network_policies import Endpoint, is_allowed

ROOT = Path(__file__).parents[2]
OBJECTS = objects_of(ROOT / "config" / "default")
POLICIES = [each for each in OBJECTS if each["kind"] == "NetworkPolicy"]
FLAGS: Mapping[str, Callable[[ArgumentParser], None]] = {
    "catalogd": catalog_flags,
    "rukpak": rukpak_flags,
    "operator-controller": operator_flags,
}
CONTROLLERS = tuple(FLAGS)
SYSTEM = "olm-suite-system"


def _pod(name: str, objects: Sequence[Object] = OBJECTS) -> Endpoint:
    """A pod of a controller, as its Deployment makes it."""
    (found,) = [each for each in objects if (each["kind"], each["metadata"]["name"]) == ("Deployment", name)]
    (namespace,) = [each for each in OBJECTS if (each["kind"], each["metadata"]["name"]) == ("Namespace", SYSTEM)]
    template = found["spec"]["template"]
    ports = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
    labels = {**namespace["metadata"]["labels"], "kubernetes.io/metadata.name": SYSTEM}
    return Endpoint("10.1.0.5", SYSTEM, template["metadata"]["labels"], labels, ports)


# Some networks do not count the API server as an address, and it sends its requests from addresses that differ between clusters.
ENDS: Mapping[str, Endpoint] = {
    **{name: _pod(name) for name in CONTROLLERS},
    "API server": Endpoint(""),
    "Prometheus": Endpoint("10.1.0.9", "monitoring", namespace_labels={"metrics": "enabled"}),
    "a pod of a tenant": Endpoint("10.1.0.8", "team-a"),
    "DNS of the cluster": Endpoint("10.1.0.2", "kube-system"),
    "DNS on the node": Endpoint("169.254.20.10"),
    "a registry on the internet": Endpoint("203.0.113.7"),
    "a registry on the internet, IPv6": Endpoint("2001:db8::7"),
    "a registry in the cluster": Endpoint("10.1.0.7", "registry"),
    "an operator's webhook": Endpoint("10.1.0.6", "operators"),
    "metadata of a cloud": Endpoint("169.254.169.254"),
    "metadata of a cloud, IPv6": Endpoint("fd00:ec2::254"),
    "a host of the link, IPv6": Endpoint("fe80::1"),
}

TRANSPORT, SSH = "olmkit/sources/transport.py", "olmkit/sources/git/ssh_client.py"


@dataclass(frozen=True)
class Connection:
    """A connection of the code, by the module that makes it ("" if others make it) and the reason."""

    source: str
    destination: str
    port: int
    module: str
    why: str
    protocol: str = "TCP"


CONNECTIONS = (
    *(
        Connection(name, "API server", 443, f"olmkit/runtime/{module}.py", "its API")
        for name in CONTROLLERS
        for module in ("client", "kubeconfig")
    ),
    *(
        Connection(name, "API server", 6443, "olmkit/runtime/client.py", "the API behind its Service")
        for name in CONTROLLERS
    ),
    *(Connection(name, "API server", 8443, "olmkit/runtime/client.py", "that of minikube") for name in CONTROLLERS),
    *(Connection(name, "DNS of the cluster", 53, "", "names", "UDP") for name in CONTROLLERS),
    *(Connection(name, "DNS of the cluster", 53, "", "long answers") for name in CONTROLLERS),
    *(Connection(name, "DNS of the cluster", 5353, "", "names, on OpenShift", "UDP") for name in CONTROLLERS),
    *(Connection(name, "DNS on the node", 53, "", "names, with a cache on each node", "UDP") for name in CONTROLLERS),
    *(
        Connection(name, registry, port, TRANSPORT, "images, archives, git over HTTP, and proxies")
        for name in ("catalogd", "rukpak")
        for registry in (
            "a registry on the internet",
            "a registry on the internet, IPv6",
            "a registry in the cluster",
        )
        for port in (80, 443, 3128, 5000)
    ),
    *(Connection(name, "a registry on the internet", 22, SSH, "git over ssh") for name in ("catalogd", "rukpak")),
    Connection("catalogd", "catalogd", 8443, "catalogd/replication/follower.py", "replicas copy from the leader"),
    Connection(
        "catalogd", "catalogd", 8443, "catalogd/bundle_summaries/leader_summaries.py", "the leader makes summaries"
    ),
    Connection("rukpak", "rukpak", 9443, "rukpak/bundle/leader_forwarding.py", "the leader has the files of Bundles"),
    Connection("operator-controller", "catalogd", 8443, "operator_controller/catalog_cache/client.py", "catalogs"),
    Connection(
        "rukpak",
        "an operator's webhook",
        9443,
        "rukpak/bundledeployment/cluster/endpoint_probe.py",
        "whether the webhooks of installed operators answer",
    ),
    Connection("a pod of a tenant", "catalogd", 8443, "", "catalogs are open to clients in the cluster"),
    Connection("a pod of a tenant", "operator-controller", 8443, "", "resolutions, for those with a token that may"),
    Connection("API server", "rukpak", 9443, "", "webhooks, the files of Bundles: the API server may be anywhere"),
    *(Connection("Prometheus", name, 8080, "", "metrics") for name in CONTROLLERS),
)
DENIED = (
    *(("a pod of a tenant", name, 8080) for name in CONTROLLERS),
    *(("a pod of a tenant", name, 8081) for name in CONTROLLERS),
    *(("Prometheus", name, 8081) for name in CONTROLLERS),
    *(("a registry on the internet", name, 8080) for name in CONTROLLERS),
    *(
        (name, metadata, port)
        for name in CONTROLLERS
        for metadata in ("metadata of a cloud", "metadata of a cloud, IPv6", "a host of the link, IPv6")
        for port in (80, 5000)
    ),
)


@pytest.mark.parametrize(
    "connection",
    CONNECTIONS,
    ids=lambda each: f"{each.source} to {each.destination} {each.port} {each.protocol}: {each.why}",
)
def test_each_connection_is_permitted(connection: Connection) -> None:
    ends = ENDS[connection.source], ENDS[connection.destination]
    assert is_allowed(POLICIES, *ends, connection.port, connection.protocol)


@pytest.mark.parametrize(("source", "destination", "port"), DENIED)
def test_other_connections_are_denied(source: str, destination: str, port: int) -> None:
    assert not is_allowed(POLICIES, ENDS[source], ENDS[destination], port)


def test_the_console_reaches_what_it_needs_and_is_reached_by_people() -> None:
    objects = [*OBJECTS, *objects_of(ROOT / "config" / "console")]
    policies = [each for each in objects if each["kind"] == "NetworkPolicy"]
    console = _pod("olm-console", objects)
    for end, port, protocol in (
        *(("API server", port, "TCP") for port in (443, 6443, 8443)),
        ("catalogd", 8443, "TCP"),
        *(("DNS of the cluster", 53, protocol) for protocol in ("TCP", "UDP")),
    ):
        assert is_allowed(policies, console, ENDS[end], port, protocol)
    for end, port in (
        ("a registry on the internet", 5000),
        ("metadata of a cloud", 80),
        ("an operator's webhook", 9443),
    ):
        assert not is_allowed(policies, console, ENDS[end], port)
    assert is_allowed(policies, ENDS["a pod of a tenant"], console, 8443)
    assert is_allowed(policies, ENDS["Prometheus"], console, 8080)
    assert not is_allowed(policies, ENDS["a pod of a tenant"], console, 8080)


def test_without_the_policies_everything_is_permitted() -> None:
    assert all(is_allowed([], ENDS[source], ENDS[destination], port) for source, destination, port in DENIED)


# --- the table has what the code has


CONNECTS = {"ClientSession", "open_connection", "create_connection", "sock_connect", "ws_connect"}
"""Functions that open a connection, unless they are given a socket (`sock=`)."""


def _connecting_modules() -> Iterator[str]:
    for directory in ("olmkit", "catalogd", "rukpak", "operator_controller"):
        for path in sorted((ROOT / directory).rglob("*.py")):
            calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
            for call in calls:
                name = ast.unparse(call.func).rpartition(".")[2]
                if name in CONNECTS and "sock" not in {each.arg for each in call.keywords}:
                    yield path.relative_to(ROOT).as_posix()


def test_each_module_that_connects_is_in_the_table() -> None:
    assert set(_connecting_modules()) == {each.module for each in CONNECTIONS} - {""}


def test_each_port_of_a_pod_is_in_the_table() -> None:
    """The kubelet alone uses the port of probes; policies do not concern it."""
    for name in CONTROLLERS:
        asked = {each.port for each in CONNECTIONS if each.destination == name}
        assert asked == {number for port, number in ENDS[name].ports.items() if port != "probes"}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_each_address_that_a_controller_listens_on_is_a_port_of_its_pod(name: str) -> None:
    parser = make_parser(name)
    FLAGS[name](parser)
    listening = {
        flag
        for action in parser._actions
        for flag in action.option_strings
        if flag.endswith(("-bind-address", "-server-addr"))
    }
    (deployment,) = [each for each in OBJECTS if (each["kind"], each["metadata"]["name"]) == ("Deployment", name)]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    given = dict(argument.split("=", 1) for argument in container["args"] if argument.partition("=")[0] in listening)
    assert given.keys() == listening
    assert {int(address.rpartition(":")[2]) for address in given.values()} == set(ENDS[name].ports.values())
