"""A real node: what pods reach, what kubectl does with them, and what is left of a cluster that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator

import pytest

from devcluster import state
from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.processes import python_environment
from release import image
from tests.node.leftovers import leftovers

NAMESPACE = "reachable"
SERVE = "import http.server; http.server.test(http.server.SimpleHTTPRequestHandler, port=8000)"
GET = "import urllib.request, sys; print(urllib.request.urlopen(sys.argv[1], timeout=20).status)"
RESOLVE = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))"


@pytest.fixture(scope="module")
def web(cluster: Cluster, suite_image: image.Built) -> Iterator[str]:
    """The address of a Service `web` whose two pods serve HTTP. Their image has another host than the registry."""
    image.push(suite_image, cluster.registry)
    cluster.kubectl("create", "namespace", NAMESPACE)
    inside = f"--namespace={NAMESPACE}"
    reference = f"quay.io/{suite_image.tags[0]}"
    cluster.kubectl(
        *("create", "deployment", "web", f"--image={reference}", "--replicas=2", inside),
        *("--", "python", "-c", SERVE),
    )
    cluster.kubectl("expose", "deployment", "web", "--port=80", "--target-port=8000", inside)
    cluster.kubectl("rollout", "status", "deployment/web", inside, "--timeout=120s")
    yield cluster.kubectl("get", "service", "web", inside, "--output=jsonpath={.spec.clusterIP}")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def run_in_pod(cluster: Cluster, *arguments: str) -> str:
    inside = ("exec", "deployment/web", f"--namespace={NAMESPACE}", "--")
    return cluster.kubectl(*inside, "python", "-c", *arguments).strip()


def eventually(holds: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.05)


def test_a_pod_reaches_a_service_by_its_name(cluster: Cluster, web: str) -> None:
    assert run_in_pod(cluster, RESOLVE, f"web.{NAMESPACE}.svc.cluster.local") == web
    assert run_in_pod(cluster, GET, "http://web") == "200"


def test_a_pod_resolves_no_name_of_another_machine(cluster: Cluster, web: str) -> None:
    refused = "import socket\ntry: print(socket.gethostbyname('registry.example.com'))\nexcept OSError as e: print(e)"
    assert "Name or service not known" in run_in_pod(cluster, refused)


def test_a_pod_reaches_the_api_server_with_its_token(cluster: Cluster, web: str) -> None:
    call = (
        "import ssl, urllib.request, urllib.error\n"
        "directory = '/var/run/secrets/kubernetes.io/serviceaccount/'\n"
        "context = ssl.create_default_context(cafile=directory + 'ca.crt')\n"
        "token = {'Authorization': 'Bearer ' + open(directory + 'token').read()}\n"
        "request = urllib.request.Request('https://kubernetes.default.svc/version', headers=token)\n"
        "print(urllib.request.urlopen(request, context=context, timeout=20).status)"
    )
    assert run_in_pod(cluster, call) == "200"


def test_a_pod_has_no_way_out_of_this_machine(cluster: Cluster, web: str) -> None:
    leave = "import socket\ntry: socket.create_connection(('192.0.2.1', 9), timeout=20)\nexcept OSError as e: print(e)"
    assert "Network is unreachable" in run_in_pod(cluster, leave) or "No route" in run_in_pod(cluster, leave)


def test_this_machine_reaches_services(cluster: Cluster, web: str) -> None:
    with urllib.request.urlopen(f"http://{web}", timeout=20) as answer:
        assert answer.status == 200


def test_kubectl_shows_logs_of_pods(cluster: Cluster, web: str) -> None:
    urllib.request.urlopen(f"http://{web}/?asked", timeout=20).close()
    selected = ("logs", "--selector=app=web", f"--namespace={NAMESPACE}")
    eventually(lambda: "GET /?asked" in cluster.kubectl(*selected))


def test_kubectl_forwards_ports_of_pods(cluster: Cluster, web: str) -> None:
    command = [f"{cluster.state.programs}/kubectl", f"--kubeconfig={cluster.kubeconfig}", "port-forward"]
    arguments = ["deployment/web", ":8000", f"--namespace={NAMESPACE}", "--address=127.0.0.1"]
    with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) as forwarding:
        assert forwarding.stdout is not None
        port = forwarding.stdout.readline().partition("127.0.0.1:")[2].split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=20) as answer:
            assert answer.status == 200
        forwarding.terminate()


def test_pods_outlive_a_restart_of_the_programs_of_the_node(cluster: Cluster, web: str) -> None:
    def started() -> list[str]:
        listed = json.loads(cluster.kubectl("get", "pods", f"--namespace={NAMESPACE}", "--output=json"))["items"]
        return sorted(pod["status"]["containerStatuses"][0]["containerID"] for pod in listed)

    before = started()
    for name in ("containerd", "kubelet", "kube-proxy"):
        cluster.stop_component(name, signal.SIGKILL)
        cluster.start_component(name)
    eventually(lambda: can_execute(cluster), 60)
    assert started() == before
    with urllib.request.urlopen(f"http://{web}", timeout=20) as answer:
        assert answer.status == 200


def can_execute(cluster: Cluster) -> bool:
    try:
        return run_in_pod(cluster, "print(1)") == "1"
    except Exception:
        return False


def test_clusters_run_side_by_side(cluster: Cluster, web: str) -> None:
    with (
        start(ClusterOptions(f"simulated-{os.getpid()}"), print) as simulated,
        start(ClusterOptions(f"second-{os.getpid()}", real_node=True), print) as second,
    ):
        for other in (simulated, second):
            other.kubectl("create", "namespace", NAMESPACE)
            other.kubectl("create", "deployment", "web", "--image=web", f"--namespace={NAMESPACE}")
        simulated.kubectl("wait", "deployment/web", "--for=condition=Available", f"--namespace={NAMESPACE}")
        assert {second.state.link, second.registry, second.state.server}.isdisjoint(
            {cluster.state.link, cluster.registry, cluster.state.server}
        )
        assert run_in_pod(cluster, GET, "http://web") == "200"
    assert run_in_pod(cluster, GET, "http://web") == "200"


@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(("owner",), id="its owner is killed"),
        pytest.param(("supervisor",), id="its supervisor is killed"),
        pytest.param(("owner", "supervisor"), id="both are killed"),
    ],
)
def test_nothing_is_left_of_a_cluster_when(victims: tuple[str, ...]) -> None:
    name = f"killed-{os.getpid()}"
    command = [sys.executable, "-m", "devcluster", "up", "--node=real", f"--name={name}"]
    with subprocess.Popen(command, env=python_environment(), stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert any(line.startswith("Stop it") for line in owner.stdout)
        found = state.load(state.run_directory(name))
        assert found is not None
        assert leftovers(found) != []
        processes = {"owner": owner.pid, "supervisor": found.supervisor}
        for victim in victims:
            os.kill(processes[victim], signal.SIGKILL)
    if victims == ("owner", "supervisor"):
        # Files and cgroups remain, until the next start or this.
        subprocess.run(
            [sys.executable, "-m", "devcluster", "down", f"--name={name}"], env=python_environment(), check=True
        )
    eventually(lambda: leftovers(found) == [] and not state.run_directory(name).exists(), 60)
