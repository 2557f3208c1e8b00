"""Commands as requests do and print what kubectl does and prints; what they do not know is left to kubectl."""

from __future__ import annotations

import json
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.commands import Commands

Object = dict[str, Any]
NAMESPACE = "commands"
IN = f"--namespace={NAMESPACE}"
GATE = "gates.commands.example.com"
LIFE: tuple[tuple[tuple[str, ...], Object | None], ...] = (
    (("create", "configmap", "NAME", IN), None),
    (("create", "configmap", "NAME-literal", "-n", NAMESPACE, "--from-literal=a=b"), None),
    (("create", "serviceaccount", "NAME", IN), None),
    (("create", "namespace", "NAME-space"), None),
    (("create", "clusterrolebinding", "NAME", "--clusterrole=view", f"--serviceaccount={NAMESPACE}:NAME"), None),
    (("create", "rolebinding", "NAME", "--role=some", "--user=somebody", IN), None),
    (("create", "-f", "-", IN), {"kind": "ConfigMap", "metadata": {"name": "NAME-made"}, "data": {"a": "b"}}),
    (("apply", "-f", "-", IN), {"kind": "ConfigMap", "metadata": {"name": "NAME-new", "labels": {"a": "b"}}}),
    (("apply", "-f", "-", IN), {"kind": "ConfigMap", "metadata": {"name": "NAME-new", "labels": {"a": "c"}}}),
    (
        ("apply", "--server-side", "--filename=-"),
        {"kind": "Secret", "metadata": {"name": "NAME", "namespace": NAMESPACE}},
    ),
    (
        ("apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", "-", IN),
        {"kind": "Secret", "metadata": {"name": "NAME", "annotations": {"a": "b"}}},
    ),
    (("patch", "cm", "NAME", IN, "--type=merge", "-p", '{"data": {"a": "b"}}'), None),
    (("patch", "configmap/NAME", IN, "--type=json", "-p", '[{"op": "remove", "path": "/data"}]'), None),
    (("patch", "serviceaccount", "NAME", IN, "-p", '{"imagePullSecrets": [{"name": "x"}]}'), None),
    (("label", "configmap/NAME", "secret/NAME", "a=b", "c=d", IN), None),
    (("label", "configmap", "NAME", "a-", IN), None),
    (("annotate", "configmaps", "NAME", "example.com/a=b c", IN), None),
    (("annotate", "configmaps", "NAME", "--overwrite", "example.com/a=c", IN), None),
    (("get", "configmap", "NAME", IN, "-o", "json", "--show-managed-fields"), None),
    (("get", "configmap/NAME", IN, "--output=json"), None),
    (("get", "configmap", "missing", IN, "--ignore-not-found", "-o", "json"), None),
    (("get", "configmap", "NAME", IN, "-o", "name"), None),
    (("get", "--raw", "/apis/commands.example.com/v1/gates"), None),
    (
        ("create", "--raw", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "-f", "-"),
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
        },
    ),
    (("get", "gates", "-A", "-o", "json"), None),
    (("get", "crd,nodes", "-o", "name"), None),
    (("get", "deployments", "-n", NAMESPACE, "-l", "a=b", "-o", "json"), None),
    (("wait", "--for=condition=Established", f"crd/{GATE}", "--timeout=60s"), None),
    (("wait", "--for=jsonpath={.metadata.name}=NAME", "--timeout=60s", "configmap", "NAME", IN), None),
    (("wait", "--for=create", "serviceaccount/default", IN), None),
    (("delete", "configmap", "NAME", "missing", IN, "--ignore-not-found"), None),
    (("delete", "namespace", "NAME-space", "--wait=false"), None),
    (("delete", "clusterrolebinding/NAME"), None),
    (("delete", "rolebindings", "NAME", IN, "--cascade=orphan"), None),
)
"""Commands, each with the object that it reads. NAME differs from run to run."""
DIFFERING = {"creationTimestamp", "resourceVersion", "time", "uid"}
KINDS = "configmaps,secrets,serviceaccounts,rolebindings"


@pytest.fixture(scope="module")
def prepared(cluster: Cluster) -> Cluster:
    """A namespace, and a kind without objects."""
    if not cluster.is_managed:
        pytest.skip("on the cluster of OLM_KUBECONFIG kubectl runs each command")
    cluster.run_kubectl("create", "namespace", NAMESPACE)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": GATE},
        "spec": {
            "group": "commands.example.com",
            "names": {"kind": "Gate", "plural": "gates"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    cluster.run_kubectl("create", "-f", "-", input=json.dumps(definition))
    cluster.run_kubectl("wait", "--for=condition=Established", f"crd/{GATE}")
    return cluster


def answered(cluster: Cluster, arguments: tuple[str, ...], given: str | None) -> str:
    """The answer of requests alone, but for an object that is applied again."""
    printed = Commands(cluster.api).run(arguments, given)
    if printed is None and arguments[:2] == ("apply", "-f"):
        return cluster.run_kubectl(*arguments, input=given)
    assert printed is not None, arguments
    return printed


def of_run(text: str, name: str) -> Any:
    """What is printed, JSON as its value, without what differs from run to run."""
    text = text.replace(name, "NAME").replace(f" from {NAMESPACE} namespace", "")
    return pruned(json.loads(text)) if text.startswith("{") else text


def pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: pruned(each) for key, each in value.items() if key not in DIFFERING}
    return [pruned(each) for each in value] if isinstance(value, list) else value


def life(cluster: Cluster, name: str, *, by_requests: bool) -> list[Any]:
    """What the commands print, and the objects that they leave."""
    found = []
    for arguments, object_ in LIFE:
        words = tuple(each.replace("NAME", name) for each in arguments)
        given = json.dumps({"apiVersion": "v1", **object_}).replace("NAME", name) if object_ else None
        printed = answered(cluster, words, given) if by_requests else cluster.run_kubectl(*words, input=given)
        found.append(of_run(printed, name))
    left = json.loads(cluster.run_kubectl("get", KINDS, IN, "-o", "json", "--show-managed-fields"))["items"]
    mine = [each for each in left if name in each["metadata"]["name"]]
    return found + [of_run(json.dumps(each), name) for each in mine]


def test_requests_do_what_kubectl_does(prepared: Cluster) -> None:
    expected = life(prepared, "by-a-process", by_requests=False)
    found = life(prepared, "by-requests", by_requests=True)
    for one, other in zip(found, expected, strict=True):
        assert one == other
