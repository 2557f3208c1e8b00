"""Changes that somebody else makes are reverted: of objects in git by Argo CD, of what a bundle contains by rukpak."""

import json

import pytest

from devcluster.watch import CATALOGS, OPERATORS
from olmkit.api.operators import FINALIZER
from tests.gitops.argocd_delivery import NO_WAVES, ArgoCdDelivery

pytestmark = pytest.mark.timeout(600)


def test_drift(delivery: ArgoCdDelivery) -> None:
    stage = delivery.stage
    delivery.publish()
    delivery.deliver(delivery.objects(NO_WAVES, version="1.0.0"), NO_WAVES)
    delivery.until_synced_and_healthy()
    before = stage.get("Operator", delivery.other)

    stage.patch_operator(delivery.other, {"version": "7.0.0"})
    stage.until(
        OPERATORS,
        "the Operator's version is that of git",
        lambda found: (
            found[delivery.other]["spec"]["version"] == "1.0.0"
            and found[delivery.other]["metadata"]["generation"] == before["metadata"]["generation"] + 2
        ),
    )
    delivery.until_synced_and_healthy()

    catalog = f"{NO_WAVES.catalog}-{delivery.name}"
    stage.patch_catalog(catalog, {"source": {"image": {"ref": f"{stage.cluster.registry}/catalogs/another:latest"}}})
    reference = stage.repository().reference
    stage.until(
        CATALOGS,
        "the Catalog's ref is that of git",
        lambda found: (
            found[catalog]["spec"]["source"]["image"]["ref"] == reference
            and found[catalog]["metadata"]["generation"] >= 3
        ),
    )
    delivery.until_synced_and_healthy()

    namespace = f"{delivery.other}-system"
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    name = f"{namespace}/{delivery.other}"
    watch = stage.watch(deployments)
    watch.until("the Deployment is listed", lambda found: name in found)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "manager", "image": "changed"}]}}}}
    stage.cluster.kubectl("patch", "deployment", delivery.other, "-n", namespace, "-p", json.dumps(patch))
    seen: list[int] = []
    watch.until(
        "the Deployment is that of the bundle",
        lambda found: seen and image(found[name]) != "changed",
        seen=lambda event: seen.append(1) if event.object and image(event.object) == "changed" else None,
    )
    delivery.refresh()
    delivery.until_synced_and_healthy()


def test_replacing_objects_changes_nothing_that_is_installed(delivery: ArgoCdDelivery) -> None:
    """A replaced Operator has lost its finalizer, and gets it again."""
    delivery.publish()
    delivery.deliver(delivery.objects(NO_WAVES), NO_WAVES)
    delivery.until_synced_and_healthy()
    before = {package: delivery.identity(package) for package in delivery.packages}
    seen: list[list[str]] = []
    operators = delivery.stage.watch(OPERATORS)
    operators.until("the Operator is listed", lambda found: delivery.other in found)
    delivery.argocd.cli("app", "sync", delivery.name, "--replace")
    operators.until(
        "it has lost its finalizer, and has it again",
        lambda found: [] in seen and found[delivery.other]["metadata"].get("finalizers") == [FINALIZER],
        seen=lambda event: (
            seen.append(event.object["metadata"].get("finalizers", []))
            if event.object and event.name == delivery.other
            else None
        ),
    )
    assert {package: delivery.identity(package) for package in delivery.packages} == before
    delivery.until_synced_and_healthy()


def test_what_is_deleted_comes_back(delivery: ArgoCdDelivery) -> None:
    """With the Operator its CRD and the custom resources are deleted, which are in git too.

    Argo CD heals what it misses first, the custom resource, and never syncs a commit again of which a sync has failed: a person
    syncs the Application.
    """
    stage = delivery.stage
    delivery.publish()
    delivery.deliver(delivery.objects(NO_WAVES), NO_WAVES)
    delivery.until_synced_and_healthy()
    stage.delete("Operator", delivery.other)
    delivery.sync()
    stage.ready_operator(delivery.other, "1.0.0")
    delivery.until_synced_and_healthy()
    thing = delivery.thing(delivery.other)["metadata"]
    assert stage.exists(f"things.{delivery.other}.example.com", thing["name"], "-n", thing["namespace"])


def image(deployment: dict[str, dict[str, dict[str, dict[str, list[dict[str, str]]]]]]) -> str:
    """The image of its container."""
    return deployment["spec"]["template"]["spec"]["containers"][0]["image"]
