"""Command lines of the control plane and kwok."""

from pathlib import Path

import pytest

from devcluster import control_plane
from devcluster.allocation import allocation_of
from devcluster.control_plane import Component, Layout
from devcluster.nodes import simulated
from devcluster.nodes.network import NodeNetwork
from devcluster.suite import COMPONENTS, NAMESPACE

LAYOUT = Layout(Path("/run"), Path("/programs"), allocation_of(3))
API_SERVER = control_plane.api_server(LAYOUT)
NETWORK = NodeNetwork(allocation_of(3))
AUDITED = control_plane.api_server(
    Layout(Path("/run"), Path("/programs"), allocation_of(3), audit_log=Path("/audit/x.log"))
)
WITH_REAL_NODE = control_plane.api_server(Layout(Path("/run"), Path("/programs"), allocation_of(3), NETWORK))
CONTROLLER_MANAGER = control_plane.controller_manager(LAYOUT)


@pytest.mark.parametrize(
    ("component", "argument"),
    [
        pytest.param(control_plane.etcd(LAYOUT), "--unsafe-no-fsync", id="etcd does not wait for the disk"),
        pytest.param(API_SERVER, "--authorization-mode=RBAC", id="the API server authorizes with RBAC"),
        pytest.param(API_SERVER, "--token-auth-file=/run/keys/tokens.csv", id="the admin has a token"),
        pytest.param(
            API_SERVER, "--enable-aggregator-routing=true", id="aggregated APIs are reached by their endpoints"
        ),
        pytest.param(
            API_SERVER,
            "--requestheader-client-ca-file=/run/keys/front-proxy-ca.crt",
            id="aggregated APIs have a CA of their own",
        ),
        pytest.param(
            API_SERVER, "--service-cluster-ip-range=10.187.0.0/16", id="Services have the cluster's own range"
        ),
        pytest.param(AUDITED, "--audit-log-path=/audit/x.log", id="the API server logs requests where it is asked to"),
        pytest.param(AUDITED, "--audit-policy-file=/run/audit-policy.json", id="and only some"),
        pytest.param(API_SERVER, "--bind-address=127.0.0.1", id="the API server is on this machine only"),
        pytest.param(
            WITH_REAL_NODE, f"--bind-address={NETWORK.api_server}", id="pods of a real node reach the API server"
        ),
        pytest.param(
            WITH_REAL_NODE, "--authorization-mode=Node,RBAC", id="a kubelet may read what its pods need, and no more"
        ),
        pytest.param(
            WITH_REAL_NODE,
            "--kubelet-certificate-authority=/run/keys/ca.crt",
            id="the API server verifies the kubelet it calls",
        ),
        pytest.param(API_SERVER, "--allow-privileged=true", id="operators may ask for privileged pods"),
        pytest.param(
            CONTROLLER_MANAGER, "--use-service-account-credentials=true", id="each controller has its own account"
        ),
        pytest.param(CONTROLLER_MANAGER, "--root-ca-file=/run/keys/ca.crt", id="tokens come with the CA"),
        pytest.param(simulated.kwok(LAYOUT), "--manage-all-nodes=true", id="kwok runs every node"),
        pytest.param(simulated.kwok(LAYOUT), "--cidr=10.186.0.0/16", id="pods have the cluster's own range"),
    ],
)
def test_arguments(component: Component, argument: str) -> None:
    assert argument in component.arguments


def test_nothing_is_logged_without_being_asked() -> None:
    assert not any("audit" in argument for argument in API_SERVER.arguments)


def test_only_requests_of_the_suite_are_logged() -> None:
    *logged, other = control_plane.audit_policy()["rules"]
    assert other == {"level": "None"}
    accounts = {f"system:serviceaccount:{NAMESPACE}:{name}" for name in COMPONENTS}
    assert all(set(rule["users"]) == accounts for rule in logged)


@pytest.mark.parametrize("component", [control_plane.etcd(LAYOUT), API_SERVER], ids=["etcd", "kube-apiserver"])
def test_every_listener_is_on_loopback_with_an_allocated_port(component: Component) -> None:
    addresses = [part for argument in component.arguments for part in argument.split("://")[1:]]
    assert all(address.startswith("127.0.0.1:") for address in addresses if not address.startswith("kubernetes."))
    assert all(
        int(address.split(":")[1]) in LAYOUT.allocation.ports for address in addresses if address.startswith("127.")
    )


@pytest.mark.parametrize(
    ("conditions", "taints", "expected"),
    [
        pytest.param([], [], False, id="a node without heartbeats is not ready"),
        pytest.param([{"type": "Ready", "status": "False"}], [], False, id="a node with Ready false is not ready"),
        pytest.param(
            [{"type": "Ready", "status": "True"}],
            [{"key": "node.kubernetes.io/not-ready"}],
            False,
            id="a tainted node is not ready",
        ),
        pytest.param([{"type": "Ready", "status": "True"}], [], True, id="a Ready node without taints is ready"),
    ],
)
def test_the_ready_condition_of_a_node(
    conditions: list[dict[str, str]], taints: list[dict[str, str]], expected: bool
) -> None:
    node = {"spec": {"taints": taints}, "status": {"conditions": conditions}}
    assert simulated.is_ready(node) is expected


def test_a_node_allows_a_thousand_pods_and_has_labels_of_its_machine() -> None:
    node = simulated.node(1, "arm64")
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert node["metadata"]["labels"]["kubernetes.io/arch"] == "arm64"
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert node["status"]["allocatable"]["pods"] == "1000"
