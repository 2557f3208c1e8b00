"""The samples of OLM v1 work together: a catalog, two packages, and a policy that limits who may install what."""

from __future__ import annotations

import pytest
import yaml

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Catalog, Content, Registry
from devcluster.watch import Object
from tests.conditions import triple
from tests.e2e.stage import CLUSTER_EXTENSIONS
from tests.e2e.v1.scene import Scene, installed_bundle, retried

pytestmark = pytest.mark.v1

GREETERS = ("--as=alice", "--as-group=greeters", "--as-group=system:authenticated")


def objects(name: str) -> list[Object]:
    """The objects of a sample."""
    return list(yaml.safe_load_all((SAMPLES / "v1" / f"{name}.yaml").read_text()))


def test_the_samples_can_be_applied_together(scene: Scene) -> None:
    if not scene.cluster.is_managed:
        pytest.skip("the samples use names that may exist on the cluster of the user")
    registry = Registry(scene.cluster.registry)
    content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
    Catalog(registry, "catalogs/samples:latest", "registry.example.com").push(content)
    (catalog,) = objects("clustercatalog")
    scene.catalogs["test"] = scene.apply(catalog)
    scene.serving_catalog()
    for name in ("hello-operator", "notebook-operator"):
        namespace, extension = objects(name)
        scene.create_namespace(namespace["metadata"]["name"])
        scene.apply(extension)
        scene.until(
            CLUSTER_EXTENSIONS,
            f"{name} is available",
            lambda found, name=name: triple(found.get(name), "Available")[0] == "True",  # type: ignore[misc]
        )
    assert installed_bundle(scene.get("ClusterExtension", "hello-operator")) == ("hello-operator.v0.2.0", "0.2.0")
    assert installed_bundle(scene.get("ClusterExtension", "notebook-operator")) == ("notebook-operator.v1.0.0", "1.0.0")


def test_the_policy_permits_what_its_messages_say(scene: Scene) -> None:
    policy = str(SAMPLES / "v1" / "policy.yaml")
    scene.cluster.run_kubectl("apply", "--filename", policy)
    try:
        _, permitted = objects("hello-operator")
        permitted["metadata"]["name"] = scene.name
        catalog = permitted["spec"]["source"]["catalog"]
        wrong: list[tuple[Object, str]] = [
            ({"namespace": "default"}, "into the namespaces"),
            (chosen(catalog, packageName="grafana"), "may install"),
            (chosen(catalog, selector={}), "the label team"),
            (chosen(catalog, upgradeConstraintPolicy="SelfCertified"), "upgrade edges"),
            ({"config": {"configType": "Inline", "inline": {"watchNamespace": "kube-system"}}}, "spec.config"),
            ({"install": {"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}}}, "CustomResourceDefinitions"),
        ]
        for fields, message in wrong:
            denied = {**permitted, "spec": {**permitted["spec"], **fields}}
            retried(lambda one=denied: written(scene, one), lambda printed, text=message: text in printed)  # type: ignore[misc]
        assert "created (server dry run)" in written(scene, permitted)
        scene.apply(permitted)
        assert "deleted (server dry run)" in deleted(scene, scene.name)
        others = {**permitted, "metadata": {"name": f"{scene.name}-others"}}
        scene.apply({**others, "spec": {**permitted["spec"], **chosen(catalog, packageName="grafana")}})
        assert "may install and delete hello-operator" in deleted(scene, f"{scene.name}-others")
    finally:
        scene.cluster.run_kubectl("delete", "--filename", policy)


def chosen(catalog: Object, **fields: object) -> Object:
    """Another source."""
    return {"source": {"sourceType": "Catalog", "catalog": {**catalog, **fields}}}


def deleted(scene: Scene, name: str) -> str:
    """What kubectl prints to a member of the group who would delete a ClusterExtension."""
    arguments = ("delete", f"clusterextensions.olm.operatorframework.io/{name}", "--dry-run=server", *GREETERS)
    done = scene.cluster.finished_kubectl(*arguments)
    return done.stdout + done.stderr


def written(scene: Scene, extension: Object) -> str:
    """What kubectl prints to a member of the group who would apply it."""
    done = scene.kubectl_apply(extension, "--dry-run=server", *GREETERS)
    return done.stdout + done.stderr
