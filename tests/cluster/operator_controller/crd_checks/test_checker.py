"""status.available.crdCheck with the real API server, catalogd and registry: what a version that waits would break."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import yaml

from devcluster.api_client import MERGE
from devcluster.images import Registry
from devcluster.watch import Object
from olmkit.api import operators
from olmkit.runtime.client import Client
from tests.cluster.operator_controller.conftest import Scene, blobs
from tests.e2e.packages import catalog_file, definition, labels, registry_bundle

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CHECK = "crdCheck"
MESSAGE = "v1: spec.color: the field is removed"


def crd(package: str, *fields: str, scope: str = "Namespaced") -> Object:
    """The definition of the package, with these fields."""
    found = definition(package)
    spec = {"type": "object", "properties": {each: {"type": "string"} for each in fields}}
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec
    found["spec"]["scope"] = scope
    return found


def push(scene: Scene, version: str, new: Object) -> str:
    """Push a bundle with this definition; returns its reference by digest."""
    files = registry_bundle(scene.name, version) | {"manifests/crd.yaml": yaml.safe_dump(new).encode()}
    registry = scene.cluster.registry
    digest = Registry(registry).push(f"bundles/{scene.name}", f"v{version}", files, labels(scene.name))
    return f"{registry}/bundles/{scene.name}@{digest}"


def publish(scene: Scene, images: dict[str, str]) -> None:
    """Push a catalog whose versions have these images."""
    content = blobs(scene.name, [*images], {})
    for blob, image in zip(content[-len(images) :], images.values(), strict=True):
        blob["image"] = image
    scene.repository().push_files(catalog_file(content))


@contextlib.contextmanager
def on_cluster(scene: Scene, body: Object) -> Iterator[None]:
    """The definition on the cluster."""
    scene.cluster.api.apply(CRDS, body)
    try:
        yield
    finally:
        scene.cluster.api.call("DELETE", f"{CRDS}/{body['metadata']['name']}")


def checked(scene: Scene, name: str, result: str | None) -> Any:
    """crdCheck as soon as it has this result."""

    def holds(found: Object) -> bool:
        available = found["status"].get("available") or {}
        return available.get("version") == "1.1.0" and (available.get(CHECK) or {}).get("result") == result

    return scene.operator_when(name, f"crdCheck is {result}", holds)["status"]["available"].get(CHECK)


def waiting(scene: Scene, image: str, **spec: Any) -> str:
    """An Operator that runs 1.0.0 while 1.1.0, which has this image, waits for approval; returns its name."""
    old = push(scene, "1.0.0", crd(scene.name, "size", "color"))
    publish(scene, {"1.0.0": old})
    scene.ready_catalog(scene.repository().reference)
    name = scene.operator(scene.name, **spec)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"approval": "Manual"})
    publish(scene, {"1.0.0": old, "1.1.0": image})
    return name


def test_the_rules_that_a_version_breaks_are_in_the_status_and_follow_the_cluster(scene: Scene) -> None:
    live = crd(scene.name, "size", "color")
    with on_cluster(scene, live):
        name = waiting(scene, push(scene, "1.1.0", crd(scene.name, "size")))
        crd_name = live["metadata"]["name"]
        finding = {
            "crd": crd_name,
            "rule": "field-removed",
            "refuses": "IfUsed",
            "message": "v1: spec.color: the field is removed",
        }
        assert checked(scene, name, "IfUsed") == {"result": "IfUsed", "findings": [finding]}

        scene.patch_operator(name, {"install": {"crdUpgradeSafety": {"policy": "Enforce"}}})
        refused = checked(scene, name, "Refused")
        assert refused == {"result": "Refused", "findings": [{**finding, "refuses": "Always"}]}

        known = scene.get("operators.operators.operatorframework.io", name)["metadata"]["resourceVersion"]
        scene.suite.stop("operator-controller")
        scene.suite.start("operator-controller")
        scene.cluster.api.call("PATCH", f"{CRDS}/{crd_name}", {"metadata": {"annotations": {"seen": "1"}}}, MERGE)
        scene.cluster.api.apply(CRDS, crd(scene.name, "size"))
        assert checked(scene, name, "NotRefused") == {"result": "NotRefused"}
        after = scene.get("operators.operators.operatorframework.io", name)["metadata"]["resourceVersion"]
        assert asyncio.run(written(scene, name, known, after)) == ["NotRefused"]


async def written(scene: Scene, name: str, after: str, until: str) -> list[str]:
    """The results in what was written of the Operator from one resourceVersion to another."""
    found: list[str] = []
    async with await Client.connect(str(scene.cluster.kubeconfig)) as client:
        events = client.watch(operators.KIND, after, field_selector=f"metadata.name={name}")
        async with asyncio.timeout(30), contextlib.aclosing(events):
            async for event in events:
                if event["type"] == "MODIFIED":
                    found.append(event["object"]["status"]["available"][CHECK]["result"])
                    if event["object"]["metadata"]["resourceVersion"] == until:
                        break
    return found


def test_a_version_whose_image_cannot_be_read_has_no_check_and_is_checked_when_it_can(scene: Scene) -> None:
    with on_cluster(scene, crd(scene.name, "size", "color")):
        name = waiting(scene, f"{scene.cluster.registry}/bundles/{scene.name}:absent")
        assert checked(scene, name, None) is None
        push(scene, "1.1.0", crd(scene.name, "size", scope="Cluster"))
        image = f"{scene.cluster.registry}/bundles/{scene.name}:v1.1.0"
        publish(scene, {"1.0.0": f"{scene.cluster.registry}/bundles/{scene.name}:v1.0.0", "1.1.0": image})
        found = checked(scene, name, "Refused")
        assert {(each["rule"], each["refuses"]) for each in found["findings"]} == {
            ("scope-changed", "Always"),
            ("field-removed", "IfUsed"),
        }
