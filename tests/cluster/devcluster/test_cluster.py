"""Running clusters: their components, recovery after faults, and isolation."""

import json
import os
import shutil
import signal
import socket
import time
import urllib.request
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from devcluster.build import KUBERNETES_VERSION
from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.errors import DevclusterError
from devcluster.state import load

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture
def own(cluster: Cluster) -> Cluster:
    """The cluster of the session, if devcluster started its processes."""
    if not cluster.is_managed:
        pytest.skip("OLM_KUBECONFIG names a cluster whose processes are not ours")
    return cluster


def eventually(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until the condition is true; fail when it does not become true."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.05)


def test_the_server_has_the_expected_version(own: Cluster) -> None:
    if os.environ.get("KUBEBUILDER_ASSETS"):
        pytest.skip("KUBEBUILDER_ASSETS may hold any version")
    assert own.server_version() == KUBERNETES_VERSION


def test_a_deployment_becomes_available_on_a_fake_node(cluster: Cluster) -> None:
    cluster.kubectl("create", "namespace", "devcluster-deployment")
    arguments = ("--namespace=devcluster-deployment", "--timeout=60s")
    cluster.kubectl("create", "deployment", "web", "--image=web", "--replicas=3", arguments[0])
    cluster.kubectl("wait", "deployment/web", "--for=condition=Available", *arguments)
    cluster.kubectl("delete", "namespace", "devcluster-deployment", "--wait=false")


def test_a_connection_to_a_fake_pod_fails_at_once(own: Cluster) -> None:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("unreachable routes need root and ip")
    for range_ in own.state.ranges:
        with pytest.raises(OSError, match="No route to host"):
            socket.create_connection((range_.replace(".0.0/16", ".3.4"), 80), timeout=20)


def test_the_aggregation_layer_publishes_its_client_ca(own: Cluster) -> None:
    found = json.loads(
        own.kubectl("get", "configmap", "extension-apiserver-authentication", "--namespace=kube-system", "-o", "json")
    )
    assert found["data"]["requestheader-client-ca-file"] == (own.directory / "keys" / "front-proxy-ca.crt").read_text()
    assert found["data"]["requestheader-allowed-names"] == '["front-proxy-client"]'


def test_a_token_kubeconfig_has_the_permissions_of_its_service_account(cluster: Cluster) -> None:
    cluster.kubectl("create", "serviceaccount", "devcluster-somebody")
    path = cluster.token_kubeconfig("default", "devcluster-somebody")
    assert path.stat().st_mode & 0o777 == 0o600
    who = json.loads(cluster.kubectl(f"--kubeconfig={path}", "auth", "whoami", "-o", "json"))
    assert who["status"]["userInfo"]["username"] == "system:serviceaccount:default:devcluster-somebody"
    with pytest.raises(DevclusterError, match="Forbidden"):
        cluster.kubectl(f"--kubeconfig={path}", "get", "secrets")
    cluster.kubectl("delete", "serviceaccount", "devcluster-somebody")


@pytest.mark.parametrize(
    "signal_number",
    [pytest.param(signal.SIGKILL, id="killed between two writes"), pytest.param(signal.SIGTERM, id="stopped in order")],
)
def test_a_restarted_api_server_has_its_data(own: Cluster, signal_number: signal.Signals) -> None:
    name = f"kept-{signal_number.name.lower()}"
    own.kubectl("create", "configmap", name)
    identity = own.kubectl("get", "configmap", name, "-o", "jsonpath={.metadata.uid}")
    process = load_components(own)["kube-apiserver"]
    own.restart_apiserver(signal_number)
    assert own.kubectl("get", "configmap", name, "-o", "jsonpath={.metadata.uid}") == identity
    assert load_components(own)["kube-apiserver"] != process


def test_a_stopped_component_stays_stopped_until_it_is_resumed(own: Cluster) -> None:
    own.stop_component("registry")
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://{own.registry}/v2/")
    own.start_component("registry")
    eventually(lambda: reaches(own.registry))


def test_a_component_that_exits_is_restarted(own: Cluster) -> None:
    fallen = load_components(own)["kube-scheduler"]
    os.kill(fallen, signal.SIGKILL)
    eventually(lambda: load_components(own).get("kube-scheduler", fallen) != fallen)


def test_the_registry_stores_an_image(cluster: Cluster) -> None:
    base = f"http://{cluster.registry}/v2/devcluster/image"
    config = b"{}"
    digest = f"sha256:{sha256(config).hexdigest()}"
    upload = send("POST", f"{base}/blobs/uploads/", b"").headers["Location"]
    separator = "&" if "?" in upload else "?"
    send("PUT", f"{upload}{separator}digest={digest}", config)
    descriptor = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": len(config)}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": descriptor, "layers": []}).encode()
    send("PUT", f"{base}/manifests/v1", manifest)
    with urllib.request.urlopen(
        urllib.request.Request(f"{base}/manifests/v1", headers={"Accept": MANIFEST_TYPE})
    ) as answer:
        assert answer.read() == manifest
        assert answer.headers["Docker-Content-Digest"] == f"sha256:{sha256(manifest).hexdigest()}"
    send("DELETE", f"{base}/manifests/sha256:{sha256(manifest).hexdigest()}", b"")
    with pytest.raises(OSError, match="404"):
        urllib.request.urlopen(f"{base}/manifests/v1")


def test_two_clusters_run_side_by_side(own: Cluster) -> None:
    with start(ClusterOptions(f"second-{os.getpid()}", nodes=2), print) as other:
        assert not set(other.state.ranges) & set(own.state.ranges)
        assert {other.registry, other.state.server}.isdisjoint({own.registry, own.state.server})
        other.kubectl("create", "namespace", "only-here")
        assert "only-here" not in own.kubectl("get", "namespaces", "-o", "name")
        assert other.kubectl("get", "nodes", "-o", "name").split() == ["node/node-1", "node/node-2"]


def test_an_external_cluster_is_used_unchanged(own: Cluster) -> None:
    wanted = ClusterOptions(f"borrowed-{os.getpid()}", kubeconfig=own.kubeconfig, registry=own.registry)
    with start(wanted, print) as borrowed:
        assert borrowed.state.components == {}
        assert borrowed.kubectl("get", "nodes", "-o", "name") == own.kubectl("get", "nodes", "-o", "name")
        with pytest.raises(DevclusterError, match="no kube-apiserver of its own"):
            borrowed.restart_apiserver()
    assert own.kubectl("get", "--raw", "/readyz") == "ok"


def test_the_name_of_a_running_cluster_is_refused(own: Cluster) -> None:
    with pytest.raises(DevclusterError, match=f"A cluster named '{own.state.name}' is running"):
        start(ClusterOptions(own.state.name), print)
    assert own.kubectl("get", "--raw", "/readyz") == "ok"


def test_a_component_that_cannot_start_is_reported_with_its_log(
    own: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "programs"
    shutil.copytree(own.state.programs, broken, symlinks=True)
    (broken / "etcd").unlink()
    (broken / "etcd").write_text("#!/bin/sh\necho the disk is full >&2\nexit 3\n")
    (broken / "etcd").chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(broken))
    monkeypatch.setenv("OLM_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DevclusterError, match=r"etcd ended while the cluster started(.|\n)*the disk is full"):
        start(ClusterOptions("broken"), print)
    assert list((tmp_path / "cache" / "clusters").iterdir()) == []


def load_components(cluster: Cluster) -> dict[str, int]:
    known = load(cluster.directory)
    assert known is not None
    return dict(known.components)


def reaches(registry: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{registry}/v2/") as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def send(method: str, address: str, body: bytes) -> urllib.request.http.client.HTTPResponse:  # type: ignore[name-defined]
    headers = {"Content-Type": MANIFEST_TYPE if "/manifests/" in address else "application/octet-stream"}
    with urllib.request.urlopen(urllib.request.Request(address, body, headers, method=method)) as answer:
        return answer
