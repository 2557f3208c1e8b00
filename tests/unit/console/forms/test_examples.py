"""What an instance begins with: examples of the publisher, the template without one, and annotations of any form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.forms.examples import begun, empty_template, examples, internal_kinds

API, KIND = "a.example.com/v1", "Db"


def example(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def test_the_examples_of_the_kind_with_their_texts_and_the_first_to_create_before() -> None:
    annotations = {
        "alm-examples": json.dumps(
            [example("one"), {**example("x"), "kind": "Other"}, example("two"), "text", example("one")]
        ),
        "alm-examples-metadata": json.dumps({"two": {"description": "Two nodes"}}),
        "operatorframework.io/initialization-resource": json.dumps(example("first")),
    }
    found = examples(annotations, API, KIND)
    assert [(each.title, each.text, each.is_first) for each in found] == [
        ("first", "", True),
        ("one", "", False),
        ("two", "Two nodes", False),
    ]


DEEP = json.dumps([{**example("deep"), "spec": json.loads("[" * 40 + "]" * 40)}])
NO_EXAMPLES = [
    pytest.param("", id="nothing"),
    pytest.param("[{", id="no JSON"),
    pytest.param("7", id="a number"),
    pytest.param(7, id="no text"),
    pytest.param("[" * 100_000 + "]" * 100_000, id="a hundred thousand levels"),
    pytest.param(DEEP, id="an example that is too deep"),
    pytest.param(json.dumps([example("x", a="y" * 300_000)]), id="too large"),
]


@pytest.mark.parametrize("text", NO_EXAMPLES)
def test_annotations_of_another_form_have_no_examples(text: Any) -> None:
    names = ("alm-examples", "alm-examples-metadata", "operatorframework.io/initialization-resource")
    assert examples(dict.fromkeys(names, text), API, KIND) == ()


def test_an_example_is_created_in_the_namespace_of_the_page_and_without_a_status() -> None:
    document = {**example("x"), "status": {"phase": "Ready"}}
    document["metadata"] |= {"namespace": "other", "uid": "1", "labels": {"a": "b"}}
    assert begun(document, "team-a") == {
        **example("x"),
        "metadata": {"name": "x", "labels": {"a": "b"}, "namespace": "team-a"},
    }
    assert begun({"apiVersion": API, "kind": KIND, "metadata": "x"}, "") == {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {},
    }


def test_the_empty_template_has_a_name_and_the_required_fields() -> None:
    inner = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string"}, "b": {"type": "array"}, "c": {}},
    }
    spec = {
        "type": "object",
        "required": ["size", "mode", "storage", "defaulted", "gone", "any", "on", "cpu"],
        "properties": {
            "size": {"type": "integer", "minimum": 3},
            "mode": {"type": "string", "enum": ["X", "Y"]},
            "storage": inner,
            "defaulted": {"type": "string", "default": "d"},
            "optional": {"type": "string"},
            "any": {"x-kubernetes-preserve-unknown-fields": True},
            "on": {"type": "boolean"},
            "cpu": {"x-kubernetes-int-or-string": True},
        },
    }
    found = empty_template({"type": "object", "properties": {"spec": spec}}, API, KIND).document
    assert found == {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": ""},
        "spec": {"size": 3, "mode": "X", "storage": {"a": "", "b": []}, "any": {}, "on": False, "cpu": ""},
    }


def test_a_template_of_any_schema_ends() -> None:
    schema: dict[str, Any] = {"type": "object", "required": ["x"], "properties": {}}
    schema["properties"]["x"] = schema
    assert "metadata" in empty_template({"properties": {"spec": schema}}, API, KIND).document
    for nonsense in ({}, {"properties": 1}, {"properties": {"spec": {"required": [1, "y"], "properties": {"y": 3}}}}):
        assert list(empty_template(nonsense, API, KIND).document) == ["apiVersion", "kind", "metadata"]


def test_internal_kinds() -> None:
    name = "operators.operatorframework.io/internal-objects"
    assert internal_kinds({name: '["a.example.com", 1]'}) == {"a.example.com"}
    assert internal_kinds({name: "{}"}) == internal_kinds({}) == frozenset()
