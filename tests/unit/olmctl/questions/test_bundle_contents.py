"""What a bundle brings, as values and as lines."""

from __future__ import annotations

import pytest

from olmctl.operators.contents_output import as_value, lines
from olmctl.questions.bundle_contents import PackageContents, contents_of
from olmctl.questions.bundle_summaries import CatalogBundle
from olmkit.fbc.bundle_reduction import summarize
from rukpak.format import read_plain, read_registry
from tests.unit.rukpak.builders import crd, csv, deployment, files

INSTALL = {
    "deployments": [deployment(serviceAccountName="a", containers=[{"name": "c", "image": "quay.io/x/y:v1"}])],
    "clusterPermissions": [
        {
            "serviceAccountName": "a",
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get"]}],
        }
    ],
}
HOOK = {
    "type": "ValidatingAdmissionWebhook",
    "generateName": "v.example.com",
    "deploymentName": "manager",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}],
}
WHOLE = files(
    csv(
        install=INSTALL,
        webhookdefinitions=[HOOK],
        customresourcedefinitions={"owned": [{"name": "things.example.com", "version": "v1", "kind": "Thing"}]},
        nativeAPIs=[{"group": "", "version": "v1", "kind": "Pod"}],
    ),
    crd(),
)
TEXT = """\
things 1.0.0 of catalog c
Installed into things-system, it watches all namespaces.

ServiceAccount things-system/a can take control of the cluster:
  create pods in all namespaces

ServiceAccount things-system/a reads objects in the whole cluster:
  get pods in all namespaces

CustomResourceDefinitions:
  things.example.com

Webhooks:
  ValidatingWebhookConfiguration v.example.com: create things.example.com

Requires:
  Pod.v1

Images:
  quay.io/x/y:v1

Objects:
  1 ClusterRole.rbac.authorization.k8s.io
  1 ClusterRoleBinding.rbac.authorization.k8s.io
  1 CustomResourceDefinition.apiextensions.k8s.io
  1 Deployment.apps
  1 Namespace
  1 Service
  1 ServiceAccount
  1 ValidatingWebhookConfiguration.admissionregistration.k8s.io
"""


def test_the_contents_of_a_bundle_are_those_of_its_summary() -> None:
    contents = contents_of(read_registry(WHOLE), "things")
    assert contents == contents_of(read_registry(summarize(WHOLE).bundle_files()), "things")
    found = PackageContents(CatalogBundle("c", "things", "things.v1.0.0", "1.0.0", "i"), contents)
    assert "\n".join(lines(found)) + "\n" == TEXT
    value = as_value(found)
    assert [each["risk"] for each in value["permissions"]] == ["Control", "Reads"]
    assert (value["statedBy"], value["watchNamespaces"]) == ("Image", [""])


@pytest.mark.parametrize(
    ("mode", "watched"),
    [
        ("OwnNamespace", ("things-system",)),
        ("SingleNamespace", ("watched-namespace",)),
        ("MultiNamespace", ("watched-namespace", "watched-namespace-2")),
    ],
)
def test_the_namespaces_that_it_watches(mode: str, watched: tuple[str, ...]) -> None:
    contents = contents_of(read_registry(files(csv(modes=[mode]))), "things")
    assert contents.watched == watched
    found = PackageContents(CatalogBundle("c", "things", "b", "1.0.0", "i"), contents)
    assert "It has no permissions." in list(lines(found))


def test_a_plain_bundle() -> None:
    bundle = read_plain({"manifests/a.yaml": b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"})
    contents = contents_of(bundle, "things")
    assert dict(contents.objects) == {"ConfigMap": 1, "Namespace": 1}
