"""The same charts by the real `helm install` and by rukpak, on the same API server: the objects are compared field by field."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from tests.chart_files import CHARTS
from tests.cluster.rukpak.bundledeployment.charts.conftest import Charts
from tests.cluster.rukpak.harness import READY, Harness, Object

VALUES: Mapping[str, Any] = {
    "web": {
        "replicas": 2,
        "ingress": {"enabled": True, "hosts": [{"name": "web.example.com"}]},
        "autoscaling": {"enabled": True},
    },
    "umbrella": {"tags": {"messaging": True}},
    "migrations": {"hooks": False},
}
"""The values that a chart of tests/charts is installed with; none for the others."""
GENERATED = {"password": {"password", "plain"}, "certificates": {"tls.crt", "tls.key", "ca.crt", "caBundle"}}
"""Keys whose values a chart generates anew each time."""
ANNOTATIONS = ("meta.helm.sh/", "deployment.kubernetes.io/")
FIELDS = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
ADDRESSES = ("clusterIP", "clusterIPs", "nodePort")
HELM_LABEL = "app.kubernetes.io/managed-by"


class HelmPeer:
    """The real helm, as an administrator uses it."""

    def __init__(self, program: Path, cluster: Cluster, home: Path) -> None:
        self._program, self._cluster, self._home = program, cluster, home

    def run(self, *arguments: str) -> str:
        command = [str(self._program), *arguments, f"--kubeconfig={self._cluster.kubeconfig}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"HOME": str(self._home)})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def installed(self, chart: str, name: str, namespace: str) -> dict[str, Object]:
        """The objects of a release, which is installed and removed again."""
        values = self._home / "values.yaml"
        values.write_text(json.dumps(VALUES.get(chart, {})))
        where = f"--namespace={namespace}"
        self.run("install", name, str(CHARTS / chart), where, "--create-namespace", "--values", str(values))
        manifests = self.run("get", "manifest", name, where)
        manifests += "".join(f"\n---\n{path.read_text()}" for path in (CHARTS / chart).glob("crds/*.yaml"))
        found = self._cluster.kubectl("get", where, "--filename=-", "--output=json", input=manifests)
        self.run("uninstall", name, where)
        self._cluster.kubectl("delete", where, "--filename=-", "--ignore-not-found", "--wait", input=manifests)
        self._cluster.kubectl("delete", "namespace", namespace, "--wait=false")
        return objects_in(chart, found)


def objects_in(chart: str, output: str) -> dict[str, Object]:
    """The objects that kubectl has printed as JSON, as they are compared."""
    found = json.loads(output)
    bodies = found["items"] if found["kind"] == "List" else [found]
    return {key(each): comparable(chart, each) for each in bodies}


def key(body: Object) -> str:
    metadata = body["metadata"]
    return f"{body['apiVersion']} {body['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def comparable(chart: str, body: Object) -> Object:
    """The object without what the API server, Helm and rukpak add to it, and without what the chart generates."""
    body = {name: value for name, value in body.items() if name != "status"}
    metadata = {name: value for name, value in body["metadata"].items() if name not in FIELDS}
    labels, annotations = metadata.pop("labels", {}), metadata.pop("annotations", {})
    labels = {name: value for name, value in labels.items() if name not in (OWNER_UID_LABEL, HELM_LABEL)}
    annotations = {name: value for name, value in annotations.items() if not name.startswith(ANNOTATIONS)}
    body["metadata"] = {**metadata, "labels": labels, "annotations": annotations}
    cleaned: Object = without_generated(body, GENERATED.get(chart, set()))
    return cleaned


def without_generated(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {
            name: "generated" if name in keys else without_generated(inner, keys)
            for name, inner in value.items()
            if name not in ADDRESSES
        }
    return [without_generated(each, keys) for each in value] if isinstance(value, list) else value


@pytest.fixture
def helm(helm_program: Path, definitions: Cluster, tmp_path: Path) -> HelmPeer:
    return HelmPeer(helm_program, definitions, tmp_path)


@pytest.mark.parametrize("chart", sorted(path.name for path in CHARTS.iterdir()))
async def test_rukpak_installs_what_helm_installs(at: Harness, charts: Charts, helm: HelmPeer, chart: str) -> None:
    namespace = f"{at.name}-helm"
    theirs = await asyncio.to_thread(helm.installed, chart, at.name, namespace)
    theirs = json.loads(json.dumps(theirs).replace(namespace, charts.namespace))
    await charts.install(chart, VALUES.get(chart))
    raw = await at.until(READY)
    manifests = yaml.safe_dump_all(_stub(each) for each in theirs)
    found = await asyncio.to_thread(at.cluster.kubectl, "get", "--filename=-", "--output=json", input=manifests)
    ours = objects_in(chart, found)
    assert theirs
    assert ours == theirs
    kinds = raw["metadata"]["annotations"]["core.rukpak.io/contains-group-kinds"].split(",")
    assert len(kinds) == len({each.split()[1] for each in theirs}), "no other kinds"


def _stub(name: str) -> Object:
    version, kind, place = name.split(" ")
    namespace, _, own = place.partition("/")
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": own, **({"namespace": namespace} if namespace else {})},
    }
