"""greeter as a process: Greetings get their ConfigMap and status, in the namespaces that olm.targetNamespaces names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.operators.manifests import NEW, OLD, bundles
from devcluster.watch import Watch
from tests.cluster.devcluster.operators.harness import OperatorProcess, applied, deployment_of, namespace_object

PATH = "/apis/greeter.example.com/v1alpha1/greetings"
BUNDLES = {each.version: each for each in bundles() if each.package == "greeter"}
INSTALLED, WATCHED, OTHER = "greeter-process", "greeter-watched", "greeter-other"

Object = dict[str, Any]


@pytest.fixture(autouse=True)
def namespaces(cluster: Cluster) -> Iterator[None]:
    with applied(cluster, [namespace_object(each) for each in (INSTALLED, WATCHED, OTHER)]):
        yield


def greeting(namespace: str, **spec: str) -> Object:
    return {
        "apiVersion": "greeter.example.com/v1alpha1",
        "kind": "Greeting",
        "metadata": {"name": "example", "namespace": namespace},
        "spec": {"name": "Ada", **spec},
    }


def greeted_by(found: Object | None) -> str:
    return str(((found or {}).get("status") or {}).get("greetedBy", ""))


def text(cluster: Cluster, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/configmaps/example-greeting"
    return str(json.loads(cluster.kubectl("get", "--raw", path))["data"]["greeting"])


def test_an_upgraded_operator_keeps_the_greetings(cluster: Cluster, tmp_path: Path) -> None:
    with OperatorProcess(cluster, BUNDLES[OLD], INSTALLED, tmp_path / OLD) as old:
        objects = old.rendered("")
        with applied(cluster, objects) as apply, Watch(cluster, PATH) as greetings:
            old.run(deployment_of(objects))
            cluster.kubectl("create", "--filename=-", input=json.dumps(greeting(WATCHED)))
            greetings.until("1.0.0 greets", lambda found: greeted_by(found.get(f"{WATCHED}/example")) == OLD)
            assert text(cluster, WATCHED) == "Hello, Ada!"
            old.stop()
            with OperatorProcess(cluster, BUNDLES[NEW], INSTALLED, tmp_path / NEW) as new:
                objects = new.rendered("")
                apply(objects)
                new.run(deployment_of(objects))
                greetings.until("2.0.0 greets", lambda found: greeted_by(found.get(f"{WATCHED}/example")) == NEW)
                changed = json.dumps(greeting(WATCHED, salutation="Good day"))
                cluster.kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", input=changed)
                greetings.until(
                    "the text follows",
                    lambda found: found[f"{WATCHED}/example"]["status"]["greeting"] == "Good day, Ada!",
                )
                assert text(cluster, WATCHED) == "Good day, Ada!"
                cluster.kubectl("delete", "greetings.greeter.example.com", "example", f"--namespace={WATCHED}")
                # Its finalizer: the ConfigMap is gone before the Greeting is.
                with pytest.raises(DevclusterError, match="NotFound"):
                    text(cluster, WATCHED)


def test_an_operator_greets_in_the_namespaces_that_it_is_installed_for(cluster: Cluster, tmp_path: Path) -> None:
    with OperatorProcess(cluster, BUNDLES[OLD], INSTALLED, tmp_path / OLD) as process:
        objects = process.rendered(WATCHED, OTHER)
        with applied(cluster, objects), Watch(cluster, PATH) as greetings:
            process.run(deployment_of(objects))
            for namespace in (INSTALLED, WATCHED, OTHER):
                cluster.kubectl("create", "--filename=-", input=json.dumps(greeting(namespace)))
            for namespace in (WATCHED, OTHER):
                name = f"{namespace}/example"
                greetings.until(f"{name} is greeted", lambda found, name=name: greeted_by(found.get(name)) == OLD)  # type: ignore[misc]
            assert "status" not in greetings.objects[f"{INSTALLED}/example"]
            for namespace in (INSTALLED, WATCHED, OTHER):
                cluster.kubectl("delete", "greetings.greeter.example.com", "example", f"--namespace={namespace}")
