"""Custom resources against the schema of a version: what is valid, what is dropped, which fields have a value."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.crd_safety.evidence import Check, Evidence
from olmkit.crd_safety.object_evaluation import evaluate
from olmkit.crd_safety.problem import InvalidObject

GO_PATTERNS = ["[[:alnum:]]+", "^(?i)(abort|warn)?$", "^[^\\0]+$"]
STRING, ANY = {"type": "string"}, {"x-kubernetes-preserve-unknown-fields": True}


def boat(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "a/v1", "kind": "Boat", "metadata": {"namespace": "sea", "name": "boat"}, **fields}


def shown(schema: dict[str, Any], *objects: dict[str, Any], **check: Any) -> Evidence:
    before = check.pop("before", ANY)
    return evaluate(Check({"type": "object", **schema}, before, **check), objects)


def of_size(size: dict[str, Any], value: Any) -> Evidence:
    return shown({"properties": {"size": size}}, boat(size=value))


NOT_VALID = Evidence(1, invalid=(InvalidObject("sea", "boat", "size: type"),), invalid_count=1)
PORTS = {"type": "array", "items": {"type": "object", "properties": {"name": STRING, "port": {"type": "integer"}}}}

VALID: dict[str, tuple[dict[str, Any], Any, Evidence]] = {
    "an object that is valid": ({"type": "integer"}, 1, Evidence(1)),
    "an object that is not": ({"type": "integer"}, "a", NOT_VALID),
    "a schema with an empty set": ({"enum": [], "required": [], "type": "integer"}, "a", NOT_VALID),
    "a schema that is none": (
        {"type": "length"},
        "a",
        Evidence(1, unknown="the schema cannot be evaluated: ValidationError"),
    ),
    "a set with an item twice": (
        {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        ["a", "b", "a"],
        Evidence(1, invalid=(InvalidObject("sea", "boat", "size: repeated item"),), invalid_count=1),
    ),
    "a map with a key twice": (
        {**PORTS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        [{"name": "a", "port": 1}, {"name": "a", "port": 2}],
        Evidence(1, invalid=(InvalidObject("sea", "boat", "size: repeated item"),), invalid_count=1),
    ),
    "a map without a key twice": (
        {**PORTS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]},
        [{"name": "a", "port": 1}, {"name": "a", "port": 2}],
        Evidence(1),
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_custom_resources_are_validated_with(name: str) -> None:
    schema, size, expected = VALID[name]
    assert of_size(schema, size) == expected


def test_patterns_that_only_go_understands_are_left_out() -> None:
    found = of_size({"type": "integer", "allOf": [{"pattern": each} for each in GO_PATTERNS]}, "a")
    assert found.invalid == NOT_VALID.invalid
    assert found.unchecked == {f"pattern {each}" for each in GO_PATTERNS}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


DROPPED: dict[str, tuple[dict[str, Any], Any, str]] = {
    "a field that the schema has": (of(size=STRING), {"size": "a"}, ""),
    "a field that the schema does not have": (of(), {"size": "a"}, "spec.size"),
    "a field that is null": (of(), {"size": None}, "spec.size"),
    "a field of an item": ({"type": "array", "items": of()}, [{"size": "a"}], "spec[*].size"),
    "a field of a value of a map": (
        {"type": "object", "additionalProperties": of(a=STRING)},
        {"one": {"a": ""}, "two": {"size": "a"}},
        "spec.*.size",
    ),
    "a value of a map": ({"type": "object", "additionalProperties": STRING}, {"one": "a"}, ""),
    "an unknown field that is kept": ({**of(), **ANY}, {"size": {"a": 1}}, ""),
    "an unknown field below a known one below those that are kept": (
        {**of(size=of()), **ANY},
        {"size": {"a": 1}},
        "spec.size.a",
    ),
    "a field of a value of any kind": (
        {"type": "object", "additionalProperties": True},
        {"size": {"a": 1}},
        "spec.*.a",
    ),
    "a value of any kind": ({"type": "object", "additionalProperties": True}, {"size": "a"}, ""),
    "metadata, if the field is no resource": (of(), {"metadata": {"name": "a"}}, "spec.metadata"),
    "what makes a resource": (
        {**of(), "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        "",
    ),
    "a field of a resource": (
        {**of(), "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}},
        "spec.spec",
    ),
    "an object where the schema has a number": ({"x-kubernetes-int-or-string": True}, {"size": "a"}, "spec.size"),
    "a number where the schema has either": ({"x-kubernetes-int-or-string": True}, 1, ""),
}


@pytest.mark.parametrize("name", DROPPED)
def test_a_custom_resource_loses(name: str) -> None:
    schema, spec, path = DROPPED[name]
    lost = tuple(entry.problem for entry in shown(of(spec=schema), boat(spec=spec)).lossy)
    assert lost == ((f"{path} is dropped",) if path else ())


def test_what_was_dropped_before_is_not_lost() -> None:
    both = boat(spec={"size": "a", "color": "b"})
    assert shown(of(), both, before=of()).lossy == ()
    found = shown(of(spec=of()), both, before=of(spec=of(color=STRING)))
    assert [entry.problem for entry in found.lossy] == ["spec.color is dropped"]


def test_custom_resources_that_may_be_invalid_are_checked_for_losses_alone() -> None:
    broken = {**of(), "type": "length"}
    assert shown(broken, boat(size="a")).unknown == "the schema cannot be evaluated: ValidationError"
    found = shown({**of(spec=of()), "required": ["size"]}, boat(spec={"size": "a"}), is_validated=False)
    assert (found.invalid_count, found.lossy_count, found.unknown) == (0, 1, "")
    assert shown(broken, boat(size="a"), is_validated=False).lossy_count == 1


@pytest.mark.parametrize(
    ("path", "spec", "is_present"),
    [
        pytest.param("", {}, True, id="the object itself"),
        pytest.param("spec.size", {"size": 0}, True, id="a field"),
        pytest.param("spec.size", {"sizes": 0}, False, id="a field with a longer name"),
        pytest.param("spec.a.b", {"a.b": 0}, True, id="a field with a dot in its name"),
        pytest.param("spec.list[*].size", {"list": [{}, {"size": 0}]}, True, id="a field of the second item"),
        pytest.param("spec.list[*].size", {"list": []}, False, id="a field of no item"),
        pytest.param("spec.map.*.size", {"map": {"one": {"size": 0}}}, True, id="a field of a value of a map"),
        pytest.param("spec.map.*", {"map": {}}, False, id="a value of an empty map"),
    ],
)
def test_a_field_has_a_value(path: str, spec: dict[str, Any], is_present: bool) -> None:
    found = shown(of(spec=ANY), boat(spec=spec), watched=(path,))
    assert found.present == ({path} if is_present else set())


def test_a_default_is_a_value() -> None:
    schema = of(spec=of(size={**STRING, "default": "a"}))
    assert shown(schema, boat(spec={}), watched=("spec.size",)).present == {"spec.size"}
    assert shown(schema, boat(), watched=("spec.size",)).present == set()


def test_without_a_schema_custom_resources_are_counted() -> None:
    assert evaluate(Check(None, {}, ("",)), [boat()]) == Evidence(1, present=frozenset({""}))
    assert evaluate(Check(None, {}, ("",)), []) == Evidence()
