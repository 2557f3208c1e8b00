"""`olm why --trace` with two replicas of operator-controller, of which one leads, on a real API server.

The replicas are processes of this machine; their pods are those of kwok, which forwards the ports to them.
"""

from __future__ import annotations

import json
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE, Suite
from olmctl.questions.port_forward import OPERATOR_CONTROLLER
from olmkit.tls import certificate_authority
from tests.cluster.olmctl.conftest import Desk
from tests.cluster.olmctl.kubelet import Kubelet

LEADER, FOLLOWER = "operator-controller", "operator-controller-2"


def test_the_leader_of_two_replicas_has_the_trace(cluster: Cluster, desk: Desk, tmp_path: Path) -> None:
    with Suite(cluster, tmp_path / "suite") as suite:
        suite.install()
        suite.start(LEADER)
        assert suite.start_replica(LEADER) == FOLLOWER
        name = desk.operator("a")
        issued = certificate_authority.create(["kubelet"], datetime.now(UTC))
        ports = {each: int((suite.addresses[each].debug or "").rpartition(":")[2]) for each in (FOLLOWER, LEADER)}
        hosts = {LEADER: socket.gethostname(), FOLLOWER: "another-host"}
        kubelet = Kubelet(desk, tmp_path, issued, ports, OPERATOR_CONTROLLER, NAMESPACE, hosts)
        try:
            kubelet.add_pods()
            deadline = time.monotonic() + 60
            while (traced := desk.olm("why", name, "--trace"))[0] != 0:
                assert "has no resolution" in traced[2] or "nothing is resolved yet" in traced[2], traced
                assert time.monotonic() < deadline
        finally:
            kubelet.stop()
    found = json.loads(traced[1])
    assert (found["operator"], found["isResolved"]) == (name, False)
