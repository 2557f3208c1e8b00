"""Objects that carry the labels of a tool are taken over in the real cluster as soon as nothing of the tool owns them."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api import bundledeployments
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundledeployment.adoption import CLUSTER_SERVICE_VERSIONS, SECRETS, SUBSCRIPTIONS
from rukpak.bundledeployment.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    kind_of,
    namespace,
    plain,
    says,
    thing,
)
from tests.conditions import triple


async def adopt(at: Harness, *objects: Object) -> None:
    body = at.body(at.push(plain(*objects)))
    body["spec"]["adoptionPolicy"] = "IfUnowned"
    await at.client.apply(bundledeployments.KIND, body, "test")


def with_metadata(body: Object, **metadata: Any) -> Object:
    return {**body, "metadata": {**body["metadata"], **metadata}}


def operator_definition(kind: Kind) -> Object:
    """A CRD of OLM v0, as far as its objects are looked up."""
    group, name = kind.group, f"{kind.plural}.{kind.group}"
    body = definition(group, kind.kind, kind.version)
    names = {"kind": kind.kind, "plural": kind.plural}
    return {**body, "metadata": {"name": name}, "spec": {**body["spec"], "names": names}}


async def a_boat(at: Harness) -> Object:
    """A custom resource of the CRD that an earlier installation left."""
    boats = kind_of(at.group)
    await at.read(boats)
    return await at.create(boats, thing(boats, "dinghy", at.name))


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        pytest.param(
            {"olm.managed": "true", "operators.coreos.com/boats.operators": ""},
            {"operatorframework.io/installed-alongside-1a2b": "operators/boats.v1.0.0"},
            id="a definition as OLM v0 leaves it",
        ),
        pytest.param(
            {
                "olm.owner": "boats.v1.0.0",
                "olm.owner.kind": "ClusterServiceVersion",
                "olm.owner.namespace": "operators",
            },
            {},
            id="an object that names its ClusterServiceVersion",
        ),
        pytest.param({"olm.managed": "true"}, {}, id="the label of OLM v0 alone"),
        pytest.param(
            {},
            {"meta.helm.sh/release-name": "boats", "meta.helm.sh/release-namespace": "default"},
            id="a former release",
        ),
        pytest.param({"core.rukpak.io/owner-uid": "a-uid-of-nobody"}, {}, id="a BundleDeployment that is not there"),
    ],
)
async def test_a_definition_that_nobody_owns_any_more_is_taken_over_with_its_custom_resources(
    at: Harness, running: Client, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    found = with_metadata(definition(at.group), labels=labels, annotations=annotations)
    created = await at.create(CRDS, found)
    boat = await a_boat(at)
    await adopt(at, definition(at.group), config_map("log", at.name))
    await at.until(READY)
    crd = await at.find(CRDS, f"boats.{at.group}")
    assert crd is not None
    assert crd["metadata"]["uid"] == created["metadata"]["uid"]
    kept = await at.find(kind_of(at.group), "dinghy", at.name)
    assert kept is not None
    assert (kept["metadata"]["uid"], kept["spec"]) == (boat["metadata"]["uid"], boat["spec"])


async def test_what_a_tool_owns_is_taken_over_when_its_owner_is_deleted(at: Harness, running: Client) -> None:
    for kind in (CLUSTER_SERVICE_VERSIONS, SUBSCRIPTIONS):
        await at.create(CRDS, operator_definition(kind))
        await at.read(kind)
    await at.create(NAMESPACES, namespace(at.name))
    component = {"operators.coreos.com/boats.operators": ""}
    version = thing(CLUSTER_SERVICE_VERSIONS, "boats.v1.0.0", at.name, labels=component)
    subscription = thing(SUBSCRIPTIONS, "boats", at.name, labels=component)
    for kind, body in ((CLUSTER_SERVICE_VERSIONS, version), (SUBSCRIPTIONS, subscription)):
        await at.create(kind, body)
    release = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "sh.helm.release.v1.log.v1"}}
    await at.create(SECRETS, with_metadata(release, namespace=at.name, labels={"owner": "helm", "name": "log"}))
    await at.create(CRDS, with_metadata(definition(at.group), labels={"olm.managed": "true", **component}))
    boat = await a_boat(at)
    log = config_map("log", at.name, whose="mine")
    helm = {"meta.helm.sh/release-name": "log", "meta.helm.sh/release-namespace": at.name}
    await at.create(CONFIG_MAPS, with_metadata(log, annotations=helm))

    await adopt(at, definition(at.group), config_map("log", at.name, whose="bundle"))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    message = triple(raw, "Ready")[2]
    assert message == (
        f"CustomResourceDefinition.apiextensions.k8s.io boats.{at.group} already exists and is managed by OLM v0 "
        f"(ClusterServiceVersion {at.name}/boats.v1.0.0): delete its Subscription and its ClusterServiceVersion, and it is "
        "taken over (OLM v0 keeps CustomResourceDefinitions and their custom resources)"
    )
    await at.client.delete(CLUSTER_SERVICE_VERSIONS, "boats.v1.0.0", at.name)
    await at.until(says("Stalled", "True", "Blocked", f"(Subscription {at.name}/boats)"))
    await at.client.delete(SUBSCRIPTIONS, "boats", at.name)
    raw = await at.until(says("Stalled", "True", "Blocked", f"(Secret {at.name}/sh.helm.release.v1.log.v1)"))
    assert data(await at.find(CONFIG_MAPS, "log", at.name))["whose"] == "mine"
    await at.client.delete(SECRETS, "sh.helm.release.v1.log.v1", at.name)
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name))["whose"] == "bundle"
    kept = await at.find(kind_of(at.group), "dinghy", at.name)
    assert kept is not None
    assert kept["metadata"]["uid"] == boat["metadata"]["uid"]


async def test_where_the_owner_cannot_be_known_the_message_names_what_to_remove(at: Harness, running: Client) -> None:
    annotations = {"argocd.argoproj.io/tracking-id": f"fleet:apiextensions.k8s.io/CustomResourceDefinition:/{at.group}"}
    labels = {"kustomize.toolkit.fluxcd.io/name": "fleet", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    await at.create(NAMESPACES, namespace(at.name))
    await at.create(CRDS, with_metadata(definition(at.group), annotations=annotations, labels=labels))
    boat = await a_boat(at)
    await adopt(at, definition(at.group))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    assert triple(raw, "Ready")[2] == (
        f"CustomResourceDefinition.apiextensions.k8s.io boats.{at.group} already exists and is managed by Argo CD: have Argo CD "
        "let go of it without deleting it, remove its argocd.argoproj.io/tracking-id, and it is taken over with its custom "
        "resources"
    )
    await at.client.patch(CRDS, f"boats.{at.group}", {"metadata": {"annotations": dict.fromkeys(annotations)}})
    await at.until(says("Stalled", "True", "Blocked", "remove its kustomize.toolkit.fluxcd.io/name, and"))
    await at.client.patch(CRDS, f"boats.{at.group}", {"metadata": {"labels": dict.fromkeys(labels)}})
    await at.until(READY)
    kept = await at.find(kind_of(at.group), "dinghy", at.name)
    assert kept is not None
    assert kept["metadata"]["uid"] == boat["metadata"]["uid"]
