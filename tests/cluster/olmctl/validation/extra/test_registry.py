"""The rules that say what the API server refuses, compared with what it refuses. Nothing is stored."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from devcluster.cluster import Cluster
from olmctl.validation.loaded_bundle import LoadedBundle
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from tests.unit.olmctl.validation.extra.schemas import FAULTY, RIGHT
from tests.unit.olmctl.validation.made_bundle import CRD

REFUSED = frozenset({
    "binding-names-nothing", "container-name", "crd-scale", "crd-schema-missing", "deployment-name",
    "deployment-selector", "metadata-text", "no-containers", "object-data", "object-name", "removed-api", "rule-names-nothing",
    "rule-urls", "volume-mount", "volume-twice",
})  # fmt: skip
"""The rules whose cases the API server refuses."""
PARTLY_REFUSED = frozenset({"image"})
"""The rules of which the API server refuses some cases: it does not read references of images."""
PATHS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    "Secret": "/api/v1/namespaces/default/secrets",
}

Object = dict[str, Any]


async def refusals(cluster: Cluster, objects: Iterable[Object]) -> list[str]:
    """The answer of the API server to each object; empty if it takes it."""
    found = []
    async with await Client.connect(str(cluster.kubeconfig)) as client:
        for body in objects:
            try:
                await client.request("POST", PATHS[body["kind"]], query={"dryRun": "All"}, body=body)
            except ApiError as error:
                found.append(error.message)
            else:
                found.append("")
    return found


def definition(schema: Object) -> Object:
    body: Object = copy.deepcopy(dict(CRD))
    body["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return body


def schema_of(case: Any) -> Object:
    schema: Object = case.values[0]
    return schema


def objects(bundle: LoadedBundle) -> Iterator[Object]:
    """The objects of a bundle, and its Deployments."""
    assert bundle.csv is not None
    installed = bundle.csv.spec["install"].get("spec") or {}
    for deployment in installed.get("deployments") or ():
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": deployment["name"]},
            "spec": deployment["spec"],
        }
    for permission in installed.get("clusterPermissions") or ():
        meta = {"name": permission["serviceAccountName"]}
        yield {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": meta,
            "rules": permission["rules"],
        }
    for document in bundle.documents:
        if document.kind in PATHS and document.api_version != "apiextensions.k8s.io/v1beta1":
            yield dict(document.body)


async def test_schemas(cluster: Cluster) -> None:
    faulty = await refusals(cluster, (definition(schema_of(case)) for case in FAULTY))
    assert {case.id for case, answer in zip(FAULTY, faulty, strict=True) if not answer} == set()
    right = await refusals(cluster, (definition(schema_of(case)) for case in RIGHT))
    assert {case.id: answer for case, answer in zip(RIGHT, right, strict=True) if answer} == {}


async def test_objects(cluster: Cluster) -> None:
    # Each process that shares the tests would make the bundles.
    from tests.unit.olmctl.validation.extra.test_registry import CASES

    found: dict[str, set[bool]] = {}
    for case in CASES:
        bundle, _, rule = case.values
        assert isinstance(bundle, LoadedBundle)
        answers = await refusals(cluster, objects(bundle))
        found.setdefault(str(rule), set()).add(any(answers))
    assert {rule for rule, refused in found.items() if refused == {True}} == REFUSED
    assert {rule for rule, refused in found.items() if refused == {True, False}} == PARTLY_REFUSED
