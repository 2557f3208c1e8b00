"""Mappings as Kubernetes' types write them."""

from typing import Any

import pytest

from olmkit.gocompat.go_encoding import Mismatch, round_trip

CPU = "spec.containers[0].resources.limits.cpu: "
POD = {"containers": [{"name": "c", "resources": {}}]}


@pytest.mark.parametrize(
    ("type_name", "value", "wanted"),
    [
        pytest.param(
            "KeyToPath", {"key": "a", "path": "b", "other": 1}, {"key": "a", "path": "b"}, id="unknown fields go"
        ),
        pytest.param("KeyToPath", {"Key": "a", "PATH": "b"}, {"key": "a", "path": "b"}, id="fields in another case"),
        pytest.param(
            "KeyToPath", {"key": "a", "Key": "c", "path": "b"}, {"key": "a", "path": "b"}, id="the exact name counts"
        ),
        pytest.param(
            "LabelSelector", {"MatchLabels": {"App": "x"}}, {"matchLabels": {"App": "x"}}, id="keys of a map stay"
        ),
        pytest.param("KeyToPath", None, {"key": "", "path": ""}, id="fields that are always written appear"),
        pytest.param(
            "PolicyRule", {"apiGroups": [], "verbs": ["get"]}, {"verbs": ["get"]}, id="an empty optional list goes"
        ),
        pytest.param("PolicyRule", {}, {"verbs": None}, id="a list that is always written is null"),
        pytest.param("PolicyRule", {"verbs": []}, {"verbs": []}, id="and stays empty when it was"),
        pytest.param("EnvVar", {"name": "A", "value": ""}, {"name": "A"}, id="empty text goes"),
        pytest.param(
            "SecretKeySelector", {"key": "k", "optional": False}, {"key": "k", "optional": False}, id="false stays"
        ),
        pytest.param("HTTPGetAction", {"port": "https"}, {"port": "https"}, id="a port by name"),
        pytest.param("HTTPGetAction", {"port": None}, {"port": 0}, id="no port is 0"),
        pytest.param(
            "ResourceRequirements",
            {"limits": {"cpu": 1, "memory": "1024Mi"}},
            {"limits": {"cpu": "1", "memory": "1Gi"}},
            id="quantities",
        ),
        pytest.param(
            "ResourceFieldSelector",
            {"resource": "limits.cpu"},
            {"resource": "limits.cpu", "divisor": "0"},
            id="no quantity is 0",
        ),
        pytest.param(
            "JSONSchemaProps",
            {"default": False, "maximum": 1},
            {"default": False, "maximum": 1},
            id="any default, whole floats",
        ),
        pytest.param(
            "JSONSchemaProps",
            {"default": None, "enum": [None, 1]},
            {"enum": [None, 1]},
            id="a null default goes, a null in a list stays",
        ),
        pytest.param(
            "JSONSchemaProps", {"items": {"type": "string"}}, {"items": {"type": "string"}}, id="items as a schema"
        ),
        pytest.param(
            "JSONSchemaProps", {"items": [{"type": "string"}]}, {"items": [{"type": "string"}]}, id="items as a list"
        ),
        pytest.param(
            "JSONSchemaProps",
            {"additionalProperties": True},
            {"additionalProperties": True},
            id="additionalProperties true",
        ),
        pytest.param(
            "JSONSchemaProps",
            {"additionalProperties": {"x": 1}},
            {"additionalProperties": {}},
            id="additionalProperties as a schema",
        ),
        pytest.param(
            "JSONSchemaProps",
            {"x-kubernetes-preserve-unknown-fields": False},
            {"x-kubernetes-preserve-unknown-fields": False},
            id="an optional boolean stays false",
        ),
        pytest.param("ObjectMeta", {"name": "a", "creationTimestamp": None}, {"name": "a"}, id="no creation time"),
        pytest.param(
            "PodTemplateSpec",
            {"spec": POD},
            {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {}}]}},
            id="structs are always written",
        ),
    ],
)
def test_a_value_as_its_type_writes_it(type_name: str, value: Any, wanted: Any) -> None:
    assert round_trip(type_name, value) == wanted
    assert round_trip(type_name, wanted) == wanted


@pytest.mark.parametrize(
    ("type_name", "value", "message"),
    [
        ("DeploymentSpec", {"replicas": "1"}, "replicas: must be a whole number, not text"),
        ("DeploymentSpec", {"replicas": True}, "replicas: must be a whole number, not true or false"),
        ("DeploymentSpec", {"replicas": 1.5}, "replicas: must be a whole number, not a number"),
        (
            "PodTemplateSpec",
            {"metadata": {"annotations": {"a": True}}},
            "metadata.annotations.a: must be text in quotes, not true or false (True)",
        ),
        ("PodTemplateSpec", {"metadata": {"labels": {"a": ["b"]}}}, "metadata.labels.a: must be text, not a list"),
        ("PodTemplateSpec", {"spec": {"containers": {}}}, "spec.containers: must be a list, not a mapping"),
        ("PodTemplateSpec", {"spec": {"containers": [1]}}, "spec.containers[0]: must be a mapping, not a number"),
        (
            "PodTemplateSpec",
            {"spec": {"containers": [{"resources": {"limits": {"cpu": "x"}}}]}},
            CPU + "'x' is no quantity such as 100m, 1.5 or 64Mi",
        ),
        (
            "JSONSchemaProps",
            {"properties": {"a": {"items": [{"maximum": "1"}]}}},
            "properties.a.items[0].maximum: must be a number, not text",
        ),
        ("JSONSchemaProps", {"nullable": "x"}, "nullable: must be true or false, not text"),
        ("JSONSchemaProps", 1, "must be a mapping, not a number"),
    ],
)
def test_a_field_of_another_type_is_named(type_name: str, value: Any, message: str) -> None:
    with pytest.raises(Mismatch) as caught:
        round_trip(type_name, value)
    assert str(caught.value) == message
