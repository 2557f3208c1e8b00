"""What a summary keeps of a bundle, and what it never has; and files that cannot be summarized."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import yaml

from olmkit.fbc.bundle_reduction import of_objects, summarize
from olmkit.fbc.bundle_summary import BadSummary, BundleSummary, StatedBy, load
from rukpak.format import read_plain, read_registry
from rukpak.format.bundle import RegistryBundle
from tests.unit.rukpak.builders import crd, csv, deployment, files

SECRET_TEXT = "hunter2"
RULES = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]


def object_of(kind: str, api_version: str = "v1", **body: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **body}


def reduced(body: dict[str, Any]) -> Any:
    """The object of a file, in the summary of its bundle."""
    (found,) = summarize({"manifests/x.yaml": yaml.safe_dump(body).encode()}).files["manifests/x.yaml"]
    return found


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param(
            object_of("Role", "rbac.authorization.k8s.io/v1", rules=RULES), {"rules": RULES}, id="a role is whole"
        ),
        pytest.param(
            object_of(
                "ClusterRoleBinding",
                "rbac.authorization.k8s.io/v1",
                subjects=[{"kind": "ServiceAccount", "name": "a"}],
                roleRef={"kind": "ClusterRole", "name": "admin"},
            ),
            {
                "subjects": [{"kind": "ServiceAccount", "name": "a"}],
                "roleRef": {"kind": "ClusterRole", "name": "admin"},
            },
            id="a binding is whole",
        ),
        pytest.param(object_of("ConfigMap", data={"a": SECRET_TEXT}), {}, id="of a ConfigMap its name"),
        pytest.param(object_of("Secret", stringData={"a": SECRET_TEXT}), {}, id="of a Secret its name"),
        pytest.param(
            object_of("Service", spec={"ports": [{"port": 1}]}),
            {"spec": {"ports": [{"port": 1}]}},
            id="a Service is whole",
        ),
        pytest.param(
            object_of(
                "ValidatingWebhookConfiguration",
                "admissionregistration.k8s.io/v1",
                webhooks=[{"name": "w", "rules": RULES, "clientConfig": {"caBundle": "QUJD", "url": "u"}}],
            ),
            {"webhooks": [{"name": "w", "rules": RULES, "clientConfig": {"url": "u"}}]},
            id="a webhook has its scope, and no certificates",
        ),
        pytest.param(
            object_of(
                "Deployment",
                "apps/v1",
                spec={
                    "replicas": 3,
                    "template": {
                        "spec": {
                            "serviceAccountName": "a",
                            "hostNetwork": True,
                            "containers": [
                                {"name": "c", "image": "i", "env": [{"name": "P", "value": SECRET_TEXT}], "args": ["x"]}
                            ],
                        }
                    },
                },
            ),
            {
                "spec": {
                    "template": {
                        "spec": {
                            "serviceAccountName": "a",
                            "hostNetwork": True,
                            "containers": [{"name": "c", "image": "i"}],
                        }
                    }
                }
            },
            id="of a Deployment account and images, not the environment",
        ),
        pytest.param(
            {**object_of("Role", "rbac.authorization.k8s.io/v1"), "Metadata": {"Name": "x"}, "metadata": {"name": "x"}},
            {},
            id="keys in any case",
        ),
    ],
)
def test_what_is_kept_of_an_object(body: dict[str, Any], kept: dict[str, Any]) -> None:
    found = reduced(body)
    assert found == {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": "x"}, **kept}
    assert SECRET_TEXT not in str(found)


def test_a_field_that_is_called_description_stays_in_a_definition() -> None:
    definition = crd()
    schema = {
        "type": "object",
        "description": "for people",
        "properties": {
            "description": {"type": "string", "description": "for people", "default": "d"},
            "spec": {
                "type": "object",
                "default": {"description": "a value"},
                "properties": {"properties": {"type": "object", "properties": {"example": {"type": "string"}}}},
            },
        },
    }
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    found = reduced(definition)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert found["properties"]["description"] == {"type": "string", "default": "d"}
    assert found["properties"]["spec"]["default"] == {"description": "a value"}
    assert found["properties"]["spec"]["properties"]["properties"]["properties"] == {"example": {"type": "string"}}
    assert "for people" not in str(found)


def test_the_summary_is_a_bundle_with_the_same_permissions_and_definitions() -> None:
    install = {
        "deployments": [deployment(serviceAccountName="a")],
        "clusterPermissions": [{"serviceAccountName": "a", "rules": RULES}],
    }
    whole = files(
        csv(
            "things.v1.0.0",
            install=install,
            annotations={"operatorframework.io/suggested-namespace": "n", "alm-examples": SECRET_TEXT},
            customresourcedefinitions={"owned": [{"name": "things.example.com", "version": "v1", "kind": "Thing"}]},
            minKubeVersion="1.20.0",
        ),
        crd(),
        package="things",
    )
    found = summarize(whole)
    bundle, before = read_registry(found.bundle_files()), read_registry(whole)
    assert isinstance(bundle, RegistryBundle)
    assert (bundle.package, bundle.csv_name) == ("things", "things.v1.0.0")
    assert bundle.install_spec["clusterPermissions"] == before.install_spec["clusterPermissions"]
    assert bundle.csv_annotations == {"operatorframework.io/suggested-namespace": "n"}
    assert bundle.crds == before.crds
    assert bundle.spec["minKubeVersion"] == "1.20.0"
    assert bundle.install_modes == before.install_modes
    assert SECRET_TEXT.encode() not in found.to_json()
    assert found.is_registry
    assert list(found.definitions()) == ["things.example.com"]


def test_a_webhook_converts_what_the_service_version_says() -> None:
    hook = {
        "type": "ConversionWebhook",
        "generateName": "convert.example.com",
        "deploymentName": "manager",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "conversionCRDs": ["things.example.com"],
    }
    found = summarize(files(csv(webhookdefinitions=[hook]), crd(), crd("others"), package="things")).definitions()
    strategies = {name: (body["spec"].get("conversion") or {}).get("strategy") for name, body in found.items()}
    assert strategies == {"things.example.com": "Webhook", "others.example.com": None}


def test_the_json_form_is_read_as_it_was_written() -> None:
    found = summarize(files(csv(), crd(), package="things"))
    assert load(orjson.loads(found.to_json())) == found
    bare = found.without_schemas()
    assert "schema" not in bare.definitions()["things.example.com"]["spec"]["versions"][0]
    assert bare.left_out == ("schemas",)
    assert load(orjson.loads(bare.to_json())) == bare


def test_a_plain_bundle() -> None:
    found = summarize({"manifests/a.yaml": b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}"})
    assert not found.is_registry
    (body,) = read_plain(found.bundle_files()).objects
    assert body == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def test_lists_are_flattened() -> None:
    text = b"apiVersion: v1\nkind: ConfigMapList\nitems:\n- {metadata: {name: a}}\n- {metadata: {name: b}}\n"
    found = summarize({"manifests/a.yaml": text}).files["manifests/a.yaml"]
    assert [body["metadata"]["name"] for body in found] == ["a", "b"]
    assert {body["kind"] for body in found} == {"ConfigMap"}


def test_what_the_catalog_states_is_marked() -> None:
    found = of_objects("things", [orjson.dumps(csv()), orjson.dumps(crd())])
    assert found.stated_by is StatedBy.CATALOG
    bundle = read_registry(found.bundle_files())
    assert (bundle.package, len(bundle.crds)) == ("things", 1)


def test_objects_have_a_digest_that_changes_with_them_but_secrets_have_none() -> None:
    def digests(value: str) -> Any:
        bodies = [object_of("ConfigMap", data={"a": value}), object_of("Secret", stringData={"a": value})]
        return summarize({"manifests/x.yaml": yaml.safe_dump_all(bodies).encode()}).digests

    assert digests("a") != digests("b")
    assert list(digests("a")) == ["v1 ConfigMap x"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: [", "manifests/x.yaml: "),
        (b"[1]", "manifests/x.yaml: an object is a mapping"),
        (b"{kind: A}", "manifests/x.yaml: an object needs apiVersion, kind and metadata.name"),
        (b"{apiVersion: v1, kind: A, metadata: {name: [1]}}", "manifests/x.yaml: an object needs"),
        (b"{apiVersion: v1, kind: A, metadata: {name: x, namespace: {a: b}}}", "manifests/x.yaml: an object needs"),
        (
            b"{apiVersion: v1, kind: A, metadata: {name: x}, a: 1}\n---\n{apiVersion: v1, kind: A, metadata: {name: x}, a: 2}",
            "manifests/x.yaml: v1 A x is there twice",
        ),
        (
            b"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: x}, spec: 1}",
            "manifests/x.yaml: ClusterServiceVersion: spec",
        ),
        (
            b"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: 1}",
            "manifests/x.yaml: CustomResourceDefinition x: ",
        ),
    ],
)
def test_a_file_that_cannot_be_summarized_is_named(data: bytes, message: str) -> None:
    with pytest.raises(BadSummary) as caught:
        summarize({"manifests/x.yaml": data})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "body",
    [
        object_of("Deployment", "apps/v1", spec=7),
        object_of("Deployment", "apps/v1", spec={"template": 7}),
        object_of(
            "Deployment", "apps/v1", spec={"template": {"metadata": 1, "spec": {"containers": [1, {"name": 2}]}}}
        ),
        object_of("CronJob", "batch/v1", spec={"jobTemplate": {"spec": 3}}),
        object_of("Service", spec=3),
        object_of("Role", "rbac.authorization.k8s.io/v1", rules=3),
        object_of("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", spec=[{"properties": [1]}]),
        object_of("ClusterRole", "rbac.authorization.k8s.io/v1", metadata={"name": "x", "labels": 3}),
    ],
)
def test_values_of_wrong_types_crash_nothing(body: dict[str, Any]) -> None:
    assert reduced(body)["metadata"]["name"] == "x"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"format": 2},
        {"format": 1, "image": "i", "statedBy": "Nobody", "leftOut": [], "files": {}, "digests": {}},
        {"format": 1, "image": "i", "statedBy": "Image", "leftOut": [], "files": {"manifests/a": [1]}, "digests": {}},
        {"format": 1, "image": "i", "statedBy": "Image", "leftOut": [], "files": {"a": 1}, "digests": {}},
        {"format": 1, "image": "i", "statedBy": "Image", "leftOut": [1], "files": {}, "digests": {}},
    ],
)
def test_what_is_no_summary_is_refused(value: Any) -> None:
    with pytest.raises(BadSummary):
        load(value)


def test_a_subdirectory_stays_so_that_the_bundle_is_refused_for_it() -> None:
    found = summarize({"manifests/a/b.yaml": b"a: ["})
    assert isinstance(found, BundleSummary)
    assert found.bundle_files() == {"manifests/a/b.yaml": b""}
