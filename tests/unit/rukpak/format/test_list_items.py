"""Items that a list has twice: made one where Kubernetes does, refused by name where a server-side apply cannot have both."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.format.list_items import without_repeated_items
from rukpak.format.objects import BundleObject

Body = dict[str, Any]
TWICE = "Deployment.apps a/d: spec.template.spec."


def deployment(container: Body | None = None, **pod: Any) -> BundleObject:
    spec = {"containers": [{"name": "c", **(container or {})}], **pod}
    metadata = {"name": "d", "namespace": "a"}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": spec}}}
    return BundleObject(body)


def pod_of(manifest: BundleObject) -> Body:
    found: Body = manifest.body["spec"]["template"]["spec"]
    return found


def env(*pairs: tuple[str, str]) -> list[Body]:
    return [{"name": name, "value": value} for name, value in pairs]


@pytest.mark.parametrize(
    ("given", "made", "note"),
    [
        pytest.param(
            {"env": env(("A", "1"), ("B", "$(C)"), ("A", "2"))},
            {"env": env(("B", "$(C)"), ("A", "2"))},
            "containers[c].env has A twice: the last value counts",
            id="of variables the last value counts",
        ),
        pytest.param(
            {"env": env(("A", "1"), ("B", "$(A)"), ("A", "1"), ("A", "1"))},
            {"env": env(("A", "1"), ("B", "$(A)"))},
            "containers[c].env has A 3 times: it is applied once",
            id="equal variables are one, where the first is",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP", "name": "a"}]},
            {"ports": [{"containerPort": 1, "protocol": "TCP", "name": "a"}]},
            "containers[c].ports has 1/TCP twice: the one that says more is applied",
            id="a port without a name is that with one, and the protocol has a default",
        ),
        pytest.param(
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}] * 2},
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}]},
            "containers[c].volumeMounts has /a twice: it is applied once",
            id="equal mounts are one",
        ),
    ],
)
def test_items_of_a_container_are_made_one(given: Body, made: Body, note: str) -> None:
    (manifest,), notes, errors = without_repeated_items([deployment(given)])
    assert pod_of(manifest)["containers"] == [{"name": "c", **made}]
    assert (notes, errors) == ((TWICE + note,), ())


def test_the_names_of_host_aliases_are_put_together() -> None:
    given = [{"ip": "::1", "hostnames": ["a", "b"]}, {"ip": "::2"}, {"ip": "::1", "hostnames": ["b", "c"]}]
    (manifest,), notes, errors = without_repeated_items([deployment(hostAliases=given)])
    assert pod_of(manifest)["hostAliases"] == [{"ip": "::1", "hostnames": ["a", "b", "c"]}, {"ip": "::2"}]
    assert (notes, errors) == ((f"{TWICE}hostAliases has ::1 twice: their host names are put together",), ())


@pytest.mark.parametrize(
    ("given", "error"),
    [
        pytest.param(
            {"env": env(("A", "1"), ("A", "$(A)2"))},
            "containers[c].env has A twice",
            id="a variable from its first value",
        ),
        pytest.param(
            {"env": env(("A", "1"), ("B", "$(A)"), ("A", "2"))},
            "containers[c].env has A twice",
            id="a variable that another one has read",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 1, "name": "b"}]},
            "containers[c].ports has 1/TCP twice",
            id="a port with two names",
        ),
        pytest.param(
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a"}]},
            "containers[c].volumeMounts has /a twice",
            id="two volumes at one path",
        ),
    ],
)
def test_what_cannot_be_one_is_refused_by_name(given: Body, error: str) -> None:
    found = without_repeated_items([deployment(given)])[2]
    assert found == (f"{TWICE}{error}, with different values: a server-side apply takes one; remove the others",)


def test_sets_and_rules_of_schemas_are_lists_of_this_kind_too() -> None:
    rule = {"rule": "self > 1"}
    schema = {"properties": {"a": {"x-kubernetes-validations": [rule, rule]}}}
    spec = {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}
    api = "apiextensions.k8s.io/v1"
    definition = BundleObject(
        {"apiVersion": api, "kind": "CustomResourceDefinition", "metadata": {"name": "x"}, "spec": spec}
    )
    driver = BundleObject(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": "x"},
            "spec": {"volumeLifecycleModes": ["Persistent", "Ephemeral", "Persistent"]},
        }
    )
    (crd, csi), notes, errors = without_repeated_items([definition, driver])
    made = crd.body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]
    assert made["x-kubernetes-validations"] == [rule]
    assert csi.body["spec"]["volumeLifecycleModes"] == ["Persistent", "Ephemeral"]
    assert (len(notes), errors) == (2, ())


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(deployment({"env": env(("A", "1"), ("B", "1"))}), id="different keys"),
        pytest.param(
            deployment({"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]}), id="two protocols"
        ),
        pytest.param(
            deployment({"env": "none", "ports": [1, 1, None]}, containers=7), id="what the API server refuses"
        ),
        pytest.param(
            BundleObject({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}), id="a kind without lists"
        ),
    ],
)
def test_an_object_without_repeated_items_is_the_same_object(manifest: BundleObject) -> None:
    (made,), notes, errors = without_repeated_items([manifest])
    assert made is manifest
    assert (notes, errors) == ((), ())
