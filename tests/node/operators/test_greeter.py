"""An operator that is a real pod and reconciles a custom resource: installed, upgraded, removed, and in each install mode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from devcluster.images import Content
from devcluster.operators.manifests import NEW, OLD
from devcluster.watch import Object, Watch
from tests.e2e.stage import ClusterStage

PACKAGE, NAMESPACE = "greeter", "greeter-system"
PATH = "/apis/greeter.example.com/v1alpha1/greetings"
RESOURCE, CRD = "greetings.greeter.example.com", "greetings.greeter.example.com"
SECONDS = 180.0


@pytest.fixture
def namespaces(stage: ClusterStage) -> Iterator[tuple[str, str, str]]:
    """Three namespaces, which outlive the operator: it removes its finalizers while it is being removed."""
    first, second, third = names = tuple(f"{stage.name}-{number}" for number in range(3))
    stage.cluster.kubectl("create", "namespace", first)
    stage.cluster.kubectl("create", "namespace", second)
    stage.cluster.kubectl("create", "namespace", third)
    yield first, second, third
    stage.cluster.kubectl("delete", "namespace", *names, "--wait=false")


def create(stage: ClusterStage, namespace: str, name: str = "example", **spec: str) -> None:
    body = {
        "apiVersion": "greeter.example.com/v1alpha1",
        "kind": "Greeting",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"name": "Ada", **spec},
    }
    stage.cluster.kubectl("create", "--filename=-", input=json.dumps(body))


def status(objects: Mapping[str, Object], key: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (objects.get(key) or {}).get("status") or {}
    return found


def greeted(watch: Watch, version: str, *namespaces: str, name: str = "example") -> None:
    """Wait until the operator of this version has greeted in all these namespaces."""
    watch.until(
        f"{version} greets in {', '.join(namespaces)}",
        lambda objects: all(status(objects, f"{each}/{name}").get("greetedBy") == version for each in namespaces),
        SECONDS,
    )


def texts(stage: ClusterStage) -> dict[str, str]:
    """The texts of the ConfigMaps by namespace."""
    selector = "greeter.example.com/greeting"
    found = stage.cluster.kubectl("get", "configmaps", "--all-namespaces", f"--selector={selector}", "--output=json")
    return {each["metadata"]["namespace"]: each["data"]["greeting"] for each in json.loads(found)["items"]}


def pods(stage: ClusterStage, namespace: str) -> list[Object]:
    found: list[Object] = json.loads(stage.cluster.kubectl("get", "pods", "-n", namespace, "--output=json"))["items"]
    return [each for each in found if not each["metadata"].get("deletionTimestamp")]


def test_it_reconciles_is_upgraded_and_removed(
    stage: ClusterStage, content: Content, namespaces: tuple[str, str, str]
) -> None:
    first, second, third = namespaces
    pushed = stage.publish(content, [PACKAGE], without=[f"{PACKAGE}.v{NEW}"])
    stage.ready_catalog(pushed.reference)
    operator = stage.operator(PACKAGE)
    stage.ready_operator(operator, OLD, SECONDS)
    with Watch(stage.cluster, PATH) as greetings:
        create(stage, first)
        greeted(greetings, OLD, first)
        uid = greetings.objects[f"{first}/example"]["metadata"]["uid"]
        assert texts(stage) == {first: "Hello, Ada!"}
        # While it runs.
        stage.publish(content, [PACKAGE])
        create(stage, second)
        stage.ready_operator(operator, NEW, SECONDS)
        greeted(greetings, NEW, first, second)
        assert greetings.objects[f"{first}/example"]["metadata"]["uid"] == uid
        create(stage, third, salutation="Good day")
        greeted(greetings, NEW, third)
        assert texts(stage) == {first: "Hello, Ada!", second: "Hello, Ada!", third: "Good day, Ada!"}
        (pod,) = pods(stage, NAMESPACE)
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
        stage.delete("Operator", operator)
    # The finalizers of the Greetings: the operator has removed the ConfigMaps before it was removed itself.
    assert texts(stage) == {}
    assert not stage.exists("crd", CRD)
    assert not stage.exists("namespace", NAMESPACE)


@pytest.mark.parametrize(
    ("watched", "expected"),
    [
        pytest.param([], [0, 1, 2], id="all"),
        pytest.param([0], [0], id="own"),
        pytest.param([1], [1], id="single"),
        pytest.param([1, 2], [1, 2], id="multi"),
    ],
)
def test_install_mode(
    stage: ClusterStage,
    content: Content,
    namespaces: tuple[str, str, str],
    watched: list[int],
    expected: list[int],
) -> None:
    """It is installed into the first namespace, and reconciles in those that it watches."""
    pushed = stage.publish(content, [PACKAGE])
    stage.ready_catalog(pushed.reference)
    install: dict[str, Any] = {"namespace": namespaces[0]}
    if watched:
        install["watchNamespaces"] = [namespaces[number] for number in watched]
    operator = stage.operator(PACKAGE, install=install)
    stage.ready_operator(operator, NEW, SECONDS)
    served = [namespaces[number] for number in expected]
    with Watch(stage.cluster, PATH) as greetings:
        for namespace in namespaces:
            create(stage, namespace)
        greeted(greetings, NEW, *served)
        assert texts(stage) == dict.fromkeys(served, "Hello, Ada!")
        others = [name for name in namespaces if name not in served]
        assert [status(greetings.objects, f"{name}/example") for name in others] == [{}] * len(others)
    stage.delete("Operator", operator)
    assert texts(stage) == {}
