"""Documents as Go's types read them: names of fields, scalars as texts, the errors."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.gocompat.go_unmarshal import is_zero, unmarshal

CSV, CRD = "v1alpha1.ClusterServiceVersion", "CustomResourceDefinition"
SPEC = "spec.install.spec.deployments.spec"
CONTAINER = f"{SPEC}.template.spec.containers"


def deployment(**spec: Any) -> dict[str, Any]:
    return {"spec": {"install": {"spec": {"deployments": [{"spec": spec}]}}}}


def container(**fields: Any) -> dict[str, Any]:
    return deployment(template={"spec": {"containers": [fields]}})


def schema(**fields: Any) -> dict[str, Any]:
    return {"spec": {"versions": [{"schema": {"openAPIV3Schema": fields}}]}}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        pytest.param({"spec": {"DisplayName": "a"}}, {"spec": {"displayName": "a"}}, id="another case"),
        pytest.param(
            {"spec": {"displayName": "a", "DisplayName": "b"}},
            {"spec": {"displayName": "a"}},
            id="the exact name counts",
        ),
        pytest.param({"metadata": {"name": 5}}, {"metadata": {"name": "5"}}, id="a number as a text"),
        pytest.param(
            {"metadata": {"annotations": {"a": True, "b": 1.5, "c": 1e21}}},
            {"metadata": {"annotations": {"a": "true", "b": "1.5", "c": "1e+21"}}},
            id="scalars in a mapping of texts",
        ),
        pytest.param({"spec": {"keywords": [1, None]}}, {"spec": {"keywords": ["1", None]}}, id="null stays"),
        pytest.param({"x": {"y": 1}}, {"x": {"y": 1}}, id="unknown fields stay"),
    ],
)
def test_values_that_go_reads(value: Any, read: Any) -> None:
    assert unmarshal(CSV, value) == (read, "")


@pytest.mark.parametrize(
    ("value", "kind", "field", "type_name"),
    [
        pytest.param(deployment(replicas="x"), "string", f"DeploymentSpec.{SPEC}.replicas", "int32", id="a text"),
        pytest.param(
            deployment(replicas=1.5), "number 1.5", f"DeploymentSpec.{SPEC}.replicas", "int32", id="a fraction"
        ),
        pytest.param(
            deployment(replicas=2**40),
            "number 1099511627776",
            f"DeploymentSpec.{SPEC}.replicas",
            "int32",
            id="a long number",
        ),
        pytest.param(
            container(env={}), "object", f"Container.{CONTAINER}.env", "[]v1.EnvVar", id="a mapping as a list"
        ),
        pytest.param(
            container(command=[[]]), "array", f"Container.{CONTAINER}.command", "string", id="a list as a text"
        ),
        pytest.param(
            container(imagePullPolicy=[]),
            "array",
            f"Container.{CONTAINER}.imagePullPolicy",
            "v1.PullPolicy",
            id="a named text",
        ),
        pytest.param(
            *(container(resources={"limits": []}), "array", f"ResourceRequirements.{CONTAINER}.resources.limits"),
            "v1.ResourceList",
            id="a list of quantities",
        ),
        pytest.param(
            *({"spec": {"webhookdefinitions": [{"targetPort": []}]}}, "array"),
            *("WebhookDescription.spec.webhookdefinitions.targetPort", "int32"),
            id="a port",
        ),
        pytest.param(
            *({"spec": []}, "array", "ClusterServiceVersion.spec", "v1alpha1.ClusterServiceVersionSpec"), id="a spec"
        ),
        pytest.param(
            {"metadata": {"labels": {"a": {}}}}, "object", "ObjectMeta.metadata.labels", "string", id="a label"
        ),
    ],
)
def test_values_of_another_type(value: Any, kind: str, field: str, type_name: str) -> None:
    wanted = f"json: cannot unmarshal {kind} into Go struct field {field} of type {type_name}"
    assert unmarshal(CSV, value)[1] == wanted


@pytest.mark.parametrize(
    ("value", "kind", "field", "type_name"),
    [
        pytest.param(schema(type=[]), "array", "type", "string", id="a schema"),
        pytest.param(schema(items={"maxLength": "x"}), "string", "items.maxLength", "int64", id="a schema of items"),
        pytest.param(
            *(schema(properties={"a": {"required": "b"}}), "string", "properties.required", "[]string"), id="a property"
        ),
    ],
)
def test_schemas_of_another_form(value: Any, kind: str, field: str, type_name: str) -> None:
    place = f"JSONSchemaProps.spec.versions.schema.openAPIV3Schema.{field}"
    assert unmarshal(CRD, value)[1] == f"json: cannot unmarshal {kind} into Go struct field {place} of type {type_name}"


def test_the_package_of_a_type_is_that_of_the_definition() -> None:
    value = {"spec": {"scope": [], "validation": {"openAPIV3Schema": 5}}}
    assert unmarshal("v1beta1.CustomResourceDefinition", value)[1].endswith("spec.scope of type v1beta1.ResourceScope")
    del value["spec"]["scope"]
    assert unmarshal("v1beta1.CustomResourceDefinition", value)[1].endswith("of type v1beta1.JSONSchemaProps")


def test_fields_of_an_embedded_struct_are_not_converted() -> None:
    message = (
        "json: cannot unmarshal number into Go struct field ClusterServiceVersion.TypeMeta.apiVersion of type string"
    )
    assert unmarshal(CSV, {"apiVersion": 1})[1] == message


def test_a_scalar_is_no_mapping_of_texts() -> None:
    message = (
        "json: cannot unmarshal number into Go struct field AnnotationMetadata.annotations of type map[string]string"
    )
    assert unmarshal("bundle.AnnotationMetadata", {"annotations": 5})[1] == message


def test_a_text_is_no_schema() -> None:
    assert unmarshal(CRD, schema(additionalProperties="x"))[1] == "boolean or JSON schema expected"


def test_the_error_of_a_decoder_of_its_own_comes_before_mismatches() -> None:
    assert unmarshal(CSV, {"metadata": {"name": []}, "spec": {"version": "x.y"}})[1].startswith("Invalid character(s)")


@pytest.mark.parametrize(
    ("type_name", "value", "zero"),
    [
        ("ObjectMeta", {}, True),
        ("ObjectMeta", {"name": "", "x": 1, "creationTimestamp": None}, True),
        ("ObjectMeta", {"labels": {}}, False),
        ("v1alpha1.NamedInstallStrategy", {"strategy": "", "spec": {"deployments": None}}, True),
        ("v1alpha1.NamedInstallStrategy", {"spec": {"deployments": []}}, False),
        ("v1alpha1.ClusterServiceVersionSpec", {"version": "0.0.0", "cleanup": {"enabled": False}}, True),
        ("v1alpha1.ClusterServiceVersionSpec", {"displayName": "a"}, False),
    ],
)
def test_zero_values(type_name: str, value: Any, zero: bool) -> None:
    assert is_zero(type_name, value) is zero
