"""What the controllers create for an Operator of an Application is not taken for a part of the Application, and is not pruned.

Argo CD marks each object in git with a label, an annotation or both, and prunes marked objects that are not in git. An object of
a bundle may have the label itself, so only tracking by annotation is safe for it (docs/gitops.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.gitops.argocd import NAMESPACE, ArgoCd
from devcluster.watch import Object
from tests.gitops.argocd_delivery import NO_WAVES, SERVER_SIDE, ArgoCdDelivery, Layout

pytestmark = pytest.mark.timeout(600)

LABEL = "app.kubernetes.io/instance"
ANNOTATION = "argocd.argoproj.io/tracking-id"
KINDS = (
    "catalogs,packages.catalogd.operatorframework.io,operators.operators.operatorframework.io,bundledeployments,bundles,"
    "customresourcedefinitions,namespaces,deployments,replicasets,pods,serviceaccounts,clusterroles,clusterrolebindings,roles,"
    "rolebindings,secrets,configmaps"
)


@pytest.fixture(params=["annotation", "label", "annotation+label"])
def tracking(argocd: ArgoCd, request: pytest.FixtureRequest) -> Iterator[str]:
    """Argo CD with a method of tracking."""
    argocd.configure({"application.resourceTrackingMethod": request.param})
    yield request.param
    argocd.configure({"application.resourceTrackingMethod": None})


def labelled(name: str) -> Object:
    """An object of a bundle with the label that charts give to all objects, with the name of an Application."""
    metadata = {"name": f"{name}-labelled", "labels": {LABEL: name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


@pytest.mark.parametrize("layout", [NO_WAVES, SERVER_SIDE], ids=["client", "server"])
def test_tracked(tracking: str, delivery: ArgoCdDelivery, layout: Layout) -> None:
    """Only what is in git."""
    own = [] if tracking == "label" else [labelled(delivery.name)]
    delivery.publish(others=own)
    delivery.deliver(delivery.objects(layout), layout)
    delivery.until_synced_and_healthy()
    before = objects_of(delivery)
    in_git = {("Catalog", f"{layout.catalog}-{delivery.name}"), *(("Operator", p) for p in delivery.asked)}
    in_bundle = {("ConfigMap", each["metadata"]["name"]) for each in own}
    marked = {key for key, found in before.items() if is_marked(found, delivery.name)}
    assert marked == in_git | in_bundle
    assert {kind for kind, _ in before.keys() - marked} >= {
        *("Package", "Operator", "BundleDeployment", "Bundle", "CustomResourceDefinition", "Namespace", "Deployment"),
        "ServiceAccount",
    }

    delivery.refresh()
    delivery.argocd.cli("app", "sync", delivery.name, "--prune", "--timeout", "120")
    delivery.until_synced_and_healthy()
    after = objects_of(delivery)
    assert {key: uid(found) for key, found in after.items()} == {key: uid(found) for key, found in before.items()}


def objects_of(delivery: ArgoCdDelivery) -> dict[tuple[str, str], Object]:
    """All objects of the test but its custom resources: those whose names contain its name, and those in its namespaces."""
    listed = json.loads(delivery.stage.cluster.kubectl("get", KINDS, "--all-namespaces", "-o", "json"))["items"]
    found = {}
    for each in listed:
        metadata = each["metadata"]
        if (
            metadata.get("namespace") != NAMESPACE
            and delivery.name in f"{metadata.get('namespace')}/{metadata['name']}"
        ):
            found[each["kind"], metadata["name"]] = each
    return found


def is_marked(found: Object, application: str) -> bool:
    """Whether Argo CD takes the object for a part of the Application, by any of its methods."""
    metadata = found["metadata"]
    annotation = (metadata.get("annotations") or {}).get(ANNOTATION, "")
    return (metadata.get("labels") or {}).get(LABEL) == application or annotation.startswith(f"{application}:")


def uid(found: Object) -> str:
    """What is another one if the object is created again."""
    return str(found["metadata"]["uid"])
