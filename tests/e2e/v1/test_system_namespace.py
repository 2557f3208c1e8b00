"""The suite in the namespace of OLM v1, where the lines of tutorials and the defaults of clients find it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.suite import Suite
from olmctl.main import main
from olmctl.suite.manifests import load_manifests
from olmkit.tls.service import V1_CA_SECRET, V1_NAMESPACE
from tests.e2e.stage import CLUSTER_CATALOGS
from tests.e2e.v1.scene import Scene
from tests.e2e.v1.test_plugin import catalog, check_content, check_search, created

pytestmark = pytest.mark.v1

INSTALL = ("suite", "install", "--system-namespace", V1_NAMESPACE, "--image", load_manifests().image)
ONCE = {
    "services": "catalogd-service",
    "secrets": V1_CA_SECRET,
    "roles": "olm-suite-v1-catalogd-ca",
    "rolebindings": "olm-suite-v1-catalogd-ca",
}


@pytest.fixture(scope="module")
def cluster(cluster_programs: object) -> Iterator[Cluster]:
    """A cluster without the suite."""
    with start(ClusterOptions(f"v1-{os.getpid()}"), print) as bare:
        yield bare


@pytest.fixture(scope="module")
def suite(cluster: Cluster) -> Iterator[Suite]:
    """The suite that the command has installed, with processes in the place of pods, which simulated nodes do not execute."""
    assert main([*INSTALL, "--no-wait", "--kubeconfig", str(cluster.kubeconfig)]) == 0
    in_namespace = f"--namespace={V1_NAMESPACE}"
    cluster.kubectl("delete", "deployments", "--all", in_namespace)
    cluster.run_kubectl("wait", "--for=delete", "pods", "--all", in_namespace, "--timeout=60s")
    with Suite(cluster, forwards_ports=True, namespace=V1_NAMESPACE) as running:
        running.publish()
        running.start()
        yield running


@pytest.mark.usefixtures("suite")
def test_what_clients_of_olm_v1_look_for_is_once_in_their_namespace(cluster: Cluster) -> None:
    for resource, name in ONCE.items():
        listed = json.loads(cluster.kubectl("get", resource, "--all-namespaces", "--output=json"))["items"]
        places = [each["metadata"]["namespace"] for each in listed if each["metadata"]["name"] == name]
        assert (resource, places) == (resource, [V1_NAMESPACE])


def test_a_package_is_searched_and_installed_with_the_lines_of_tutorials(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.create_namespace()
    created(scene, CLUSTER_CATALOGS, catalog(scene))
    name = scene.serving_catalog()
    check_search(scene, name)
    with forwarded_port(scene.cluster) as port:
        check_content(scene, port, f"/catalogs/{name}")
    scene.install()
    capsys.readouterr()
    assert main(["why", scene.name, "--kubeconfig", str(scene.cluster.kubeconfig)]) == 0
    assert capsys.readouterr().err == "", "it finds the controllers in their namespace"
    scene.delete("ClusterExtension", scene.name)


@contextmanager
def forwarded_port(cluster: Cluster) -> Iterator[int]:
    """The port of this machine that `kubectl port-forward` gives to the Service of catalogd."""
    command = [f"{cluster.state.programs}/kubectl", f"--kubeconfig={cluster.kubeconfig}", "port-forward"]
    arguments = ["service/catalogd-service", ":443", f"--namespace={V1_NAMESPACE}", "--address=127.0.0.1"]
    with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) as forwarding:
        try:
            assert forwarding.stdout is not None
            yield int(forwarding.stdout.readline().partition("127.0.0.1:")[2].split()[0])
        finally:
            forwarding.terminate()
