"""What a new CustomResourceDefinition breaks of the one on the cluster."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.api.crd_upgrade_rules import OPT_OUT_ANNOTATION, CrdUpgradeRule
from olmkit.crd_safety.compare import compare
from tests.unit.olmkit.crd_safety.definitions import Schema, definition, schema

STRING, NUMBER, OBJECT = {"type": "string"}, {"type": "integer"}, {"type": "object"}
LIST = {"type": "array", "items": STRING}
ANY = {"x-kubernetes-preserve-unknown-fields": True}


def problems(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What is said about the change."""
    return [str(problem) for problem in compare(old, new)]


def of_field(old: Schema, new: Schema) -> list[str]:
    """What is said about the change of spec.size."""
    return problems(definition({"v1": schema(old)}), definition({"v1": schema(new)}))


BROKEN: dict[str, tuple[Schema, Schema, str]] = {
    "a type that changes": (NUMBER, STRING, "type-changed: integer -> string"),
    "a number that becomes a whole number": ({"type": "number"}, NUMBER, "type-changed: number -> integer"),
    "a number that may also be a string": (
        NUMBER,
        {"x-kubernetes-int-or-string": True},
        "type-changed: integer -> int-or-string",
    ),
    "null that is not accepted any more": (
        {**STRING, "nullable": True},
        STRING,
        "nullable-removed: null is not accepted any more",
    ),
    "a default that is added": (STRING, {**STRING, "default": "a"}, 'default-added: none -> "a"'),
    "a default that changes": (
        {**STRING, "default": "a"},
        {**STRING, "default": "b"},
        'default-changed: "a" -> "b"',
    ),
    "a default that is removed": ({**STRING, "default": "a"}, STRING, 'default-removed: "a" -> none'),
    "a list of values for a field that had none": (
        STRING,
        {**STRING, "enum": ["a"]},
        'enum-added: any value -> ["a"]',
    ),
    "values that are removed": (
        {**STRING, "enum": ["a", "b", "c"]},
        {**STRING, "enum": ["b", "d"]},
        'enum-value-removed: without "a", "c"',
    ),
    "a minimum that is added": (NUMBER, {**NUMBER, "minimum": 0}, "minimum-tightened: none -> 0"),
    "a minimum that is raised": (
        {**NUMBER, "minimum": 1},
        {**NUMBER, "minimum": 2},
        "minimum-tightened: 1 -> 2",
    ),
    "a minimum that becomes exclusive": (
        {**NUMBER, "minimum": 1},
        {**NUMBER, "minimum": 1, "exclusiveMinimum": True},
        "minimum-tightened: 1 -> 1 (exclusive)",
    ),
    "a maximum that is added": (NUMBER, {**NUMBER, "maximum": 9}, "maximum-tightened: none -> 9"),
    "a maximum that is lowered": (
        {**NUMBER, "maximum": 9},
        {**NUMBER, "maximum": 8},
        "maximum-tightened: 9 -> 8",
    ),
    "a multiple that changes": (
        {**NUMBER, "multipleOf": 2},
        {**NUMBER, "multipleOf": 3},
        "multiple-of-changed: 2 -> 3",
    ),
    "a minimum length that is added": (STRING, {**STRING, "minLength": 1}, "min-length-tightened: none -> 1"),
    "a maximum length that is lowered": (
        {**STRING, "maxLength": 9},
        {**STRING, "maxLength": 8},
        "max-length-tightened: 9 -> 8",
    ),
    "a maximum length of 0 that is added": (STRING, {**STRING, "maxLength": 0}, "max-length-tightened: none -> 0"),
    "a pattern that is added": (STRING, {**STRING, "pattern": "^a$"}, 'pattern-changed: none -> "^a$"'),
    "a pattern that changes": (
        {**STRING, "pattern": "^a"},
        {**STRING, "pattern": "^b"},
        'pattern-changed: "^a" -> "^b"',
    ),
    "a format that is added": (STRING, {**STRING, "format": "date"}, 'format-changed: none -> "date"'),
    "a format with fewer numbers": (
        {**NUMBER, "format": "int64"},
        {**NUMBER, "format": "int32"},
        'format-changed: "int64" -> "int32"',
    ),
    "more items that are needed": (LIST, {**LIST, "minItems": 1}, "min-items-tightened: none -> 1"),
    "fewer items that are allowed": (
        {**LIST, "maxItems": 3},
        {**LIST, "maxItems": 2},
        "max-items-tightened: 3 -> 2",
    ),
    "more properties that are needed": (
        {**OBJECT, "minProperties": 1},
        {**OBJECT, "minProperties": 2},
        "min-properties-tightened: 1 -> 2",
    ),
    "fewer properties that are allowed": (
        OBJECT,
        {**OBJECT, "maxProperties": 2},
        "max-properties-tightened: none -> 2",
    ),
    "unknown fields that are not kept any more": (
        {**OBJECT, **ANY},
        OBJECT,
        "unknown-fields-dropped: fields that the schema does not name are dropped",
    ),
    "a list that becomes a set": (
        LIST,
        {**LIST, "x-kubernetes-list-type": "set"},
        'list-type-changed: x-kubernetes-list-type: "atomic" -> "set"',
    ),
    "a rule that is added": (
        STRING,
        {**STRING, "x-kubernetes-validations": [{"rule": "self != ''"}]},
        "validation-rule-added: \"self != ''\"",
    ),
    "a key that no rule knows": (
        {**STRING, "anyOf": [{"minLength": 2}]},
        {**STRING, "anyOf": [{"minLength": 1}]},
        'unhandled-change: anyOf: [{"minLength":2}] -> [{"minLength":1}]',
    ),
    "a schema that is none": (STRING, {"type": "string", "minLength": "one"}, 'min-length-tightened: none -> "one"'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_is_broken_by(name: str) -> None:
    old, new, said = BROKEN[name]
    assert of_field(old, new) == [f"v1: spec.size: {said}"]


KEPT: dict[str, tuple[Schema, Schema]] = {
    "another description": ({**STRING, "description": "a"}, {**STRING, "description": "b", "title": "c"}),
    "another description below anyOf": (
        {**STRING, "anyOf": [{"minLength": 2, "description": "a"}]},
        {**STRING, "anyOf": [{"minLength": 2}]},
    ),
    "a value that is added": ({**STRING, "enum": ["a"]}, {**STRING, "enum": ["b", "a"]}),
    "any value again": ({**STRING, "enum": ["a"]}, STRING),
    "null that is accepted": (STRING, {**STRING, "nullable": True}),
    "wider bounds": ({**NUMBER, "minimum": 2, "maximum": 8}, {**NUMBER, "minimum": 1, "maximum": 9}),
    "a bound that includes itself": (
        {**NUMBER, "maximum": 2, "exclusiveMaximum": True},
        {**NUMBER, "maximum": 2.0},
    ),
    "no bounds any more": ({**NUMBER, "minimum": 2, "maximum": 8, "multipleOf": 2}, NUMBER),
    "a minimum length of 0": (STRING, {**STRING, "minLength": 0}),
    "no pattern and no format any more": ({**STRING, "pattern": "^a", "format": "date"}, STRING),
    "a format with more numbers": ({**NUMBER, "format": "int32"}, {**NUMBER, "format": "int64"}),
    "a list type that is the default": (LIST, {**LIST, "x-kubernetes-list-type": "atomic"}),
    "a rule with another message": (
        {**STRING, "x-kubernetes-validations": [{"rule": "self != ''", "message": "a"}, {"rule": "true"}]},
        {**STRING, "x-kubernetes-validations": [{"rule": "self != ''", "message": "b"}]},
    ),
    "a field that is added": (OBJECT, {**OBJECT, "properties": {"a": STRING}}),
    "a required field with a default": (
        OBJECT,
        {**OBJECT, "properties": {"a": {**STRING, "default": "b"}}, "required": ["a"]},
    ),
    "a field that is not required any more": (
        {**OBJECT, "properties": {"a": STRING}, "required": ["a"]},
        {**OBJECT, "properties": {"a": STRING}},
    ),
    "fields that are kept without being named": (
        {**OBJECT, "properties": {"a": STRING}},
        {**OBJECT, "x-kubernetes-preserve-unknown-fields": True},
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_no_rule_is_broken_by(name: str) -> None:
    assert of_field(*KEPT[name]) == []


def test_a_field_that_becomes_required_is_named() -> None:
    old, new = {**OBJECT, "properties": {"a": STRING}}, {**OBJECT, "properties": {"a": STRING}, "required": ["a"]}
    assert of_field(old, new) == ["v1: spec.size: required-added: a is required"]


def test_a_field_that_is_removed_is_named_alone_and_not_what_is_below_it() -> None:
    old = definition({"v1": schema({**OBJECT, "properties": {"a": STRING}})})
    assert problems(old, definition({"v1": schema()})) == ["v1: spec.size: field-removed: the field is removed"]


def test_a_map_of_values_of_any_kind_keeps_no_fields_of_them() -> None:
    old, new = {**OBJECT, "properties": {"a": STRING, "b": OBJECT}}, {**OBJECT, "additionalProperties": True}
    assert of_field(old, new) == ["v1: spec.size.b: field-removed: the field is removed"]


def test_a_default_that_is_removed_with_its_field_is_a_removal_though_its_value_is_kept() -> None:
    old = {**OBJECT, "properties": {"a": {**OBJECT, "properties": {"b": {**STRING, "default": "c"}}}}}
    assert of_field(old, {**OBJECT, **ANY}) == ["v1: spec.size.a: field-removed: the field is removed"]


def test_a_field_that_gets_a_schema_where_any_was_kept_is_compared_with_any_value() -> None:
    free, text = {**OBJECT, **ANY}, {**OBJECT, "properties": {"b": STRING}}
    dropped = "v1: spec.size.a: unknown-fields-dropped: fields that the schema does not name are dropped"
    any_value = "v1: spec.size.a: type-changed: any ->"
    assert of_field(free, {**free, "properties": {"a": text}}) == [f"{any_value} object", dropped]
    assert of_field(free, {**free, "properties": {"a": {**text, **ANY}}}) == [f"{any_value} object", dropped]
    assert of_field(free, {**free, "properties": {"a": {**STRING, "default": ""}}}) == [f"{any_value} string"]
    assert of_field(free, {**free, "properties": {"a": ANY}}) == []
    assert of_field({**OBJECT, "additionalProperties": True}, {**OBJECT, "additionalProperties": STRING}) == [
        "v1: spec.size.*: type-changed: any -> string"
    ]
    root = definition({"v1": free})
    assert problems(root, definition({"v1": {**free, "properties": {"metadata": OBJECT, "kind": STRING}}})) == []


def test_fields_of_items_and_of_maps_have_a_path() -> None:
    old = {"type": "array", "items": {**OBJECT, "additionalProperties": STRING}}
    new = {"type": "array", "items": {**OBJECT, "additionalProperties": NUMBER}}
    assert of_field(old, new) == ["v1: spec.size[*].*: type-changed: string -> integer"]


def test_a_long_value_is_cut() -> None:
    (said,) = of_field({**STRING, "pattern": "a" * 100}, {**STRING, "pattern": "b" * 100})
    assert said == f'v1: spec.size: pattern-changed: "{"a" * 59}… -> "{"b" * 59}…'


def with_status(status: Schema | None, *subresources: str) -> dict[str, Any]:
    """A CRD whose status has that schema; None: it has no status."""
    fields = {"status": status} if status is not None else {}
    return definition({"v1": {**OBJECT, "properties": fields}}, subresources=subresources)


def test_status_is_the_operators_own_if_it_is_a_subresource() -> None:
    assert problems(with_status(STRING, "status"), with_status(None, "status")) == []
    assert problems(with_status(STRING), with_status(NUMBER, "status")) == [
        "v1: status: type-changed: string -> integer"
    ]
    assert problems(with_status(STRING, "scale"), with_status(None)) == [
        "v1: status: field-removed: the field is removed"
    ]


# --- the definition, and its versions

TEXT, NUMERIC = schema(STRING), schema(NUMBER)
CONFLICT = "v1 -> v2: spec.size: type-changed: string -> integer"
DROPPED = "v1 -> v2: spec.size: field-removed: the field is removed"
EMPTY = schema()

DEFINITIONS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "the same one": (definition({"v1": TEXT}), definition({"v1": TEXT}), []),
    "another scope": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT}, scope="Cluster"),
        ["scope-changed: Namespaced -> Cluster"],
    ),
    "another kind": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT}, kind="Ship"),
        ["kind-changed: Boat -> Ship"],
    ),
    "a stored version that is removed": (
        definition({"v1": TEXT, "v2": TEXT}, stored=["v1", "v2"]),
        definition({"v2": TEXT}),
        ["v1: stored-version-removed: custom resources may be stored in this version, and it is removed"],
    ),
    "a served version that is not stored and is removed": (
        definition({"v1": TEXT, "v2": TEXT}, stored=["v2"]),
        definition({"v2": TEXT}),
        [],
    ),
    "a new version that is equal": (definition({"v1": TEXT}), definition({"v1": TEXT, "v2": TEXT}), []),
    "a new version that disagrees with the old one": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": NUMERIC}),
        [CONFLICT],
    ),
    "a new version that disagrees with the old one and is neither served nor stored": (
        definition({"v1": TEXT}),
        definition({"v2": NUMERIC, "v1": TEXT}, unserved=["v2"]),
        [],
    ),
    "a new version of the storage that disagrees with the old one and is not served": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": NUMERIC}, unserved=["v2"]),
        [CONFLICT],
    ),
    "a new version that disagrees with the old one, with a conversion webhook": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": NUMERIC}, conversion="Webhook"),
        [],
    ),
    "versions that disagree already": (
        definition({"v1": TEXT, "v2": NUMERIC}),
        definition({"v1": TEXT, "v2": NUMERIC}),
        [],
    ),
    "versions that disagree, whose webhook is removed": (
        definition({"v1": TEXT, "v2": NUMERIC}, conversion="Webhook"),
        definition({"v1": TEXT, "v2": NUMERIC}),
        ["conversion-removed: Webhook -> None", CONFLICT],
    ),
    "versions that agree, of which one is served, whose webhook is removed": (
        definition({"v1beta1": TEXT, "v1": TEXT}, conversion="Webhook"),
        definition({"v1beta1": TEXT, "v1": TEXT}, unserved=["v1beta1"]),
        [],
    ),
    "versions that disagree, of which one is served and both are stored, whose webhook is removed": (
        definition({"v1": TEXT, "v2": EMPTY}, conversion="Webhook", stored=["v1", "v2"]),
        definition({"v1": TEXT, "v2": EMPTY}, unserved=["v1"]),
        [DROPPED],
    ),
    "a new version of the storage with fewer fields": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": EMPTY}),
        [DROPPED],
    ),
    "a new version of the storage with fewer fields that is not served": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": EMPTY}, unserved=["v2"]),
        [DROPPED],
    ),
    "a new version of the storage with fewer fields, with a conversion webhook": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": EMPTY}, conversion="Webhook"),
        [],
    ),
    "a new version of the storage with more fields": (
        definition({"v1": EMPTY}),
        definition({"v1": EMPTY, "v2": TEXT}),
        [],
    ),
    "a version of the storage that was served before and has fewer fields": (
        definition({"v2": EMPTY, "v1": TEXT}),
        definition({"v1": TEXT, "v2": EMPTY}),
        [DROPPED],
    ),
    "a version of the storage that keeps no unknown fields": (
        definition({"v1": {**OBJECT, **ANY}}),
        definition({"v1": {**OBJECT, **ANY}, "v2": OBJECT}, unserved=["v2"]),
        ["v1 -> v2: unknown-fields-dropped: fields that the schema does not name are dropped"],
    ),
    "a version of the storage that sets a default": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": schema({**STRING, "default": "a"})}, unserved=["v2"]),
        ['v1 -> v2: spec.size: default-added: none -> "a"'],
    ),
    "a version of the storage that accepts less and validates nothing": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v2": schema({**STRING, "maxLength": 3})}, unserved=["v2"]),
        [],
    ),
    "a version that was stored before, is not served and has more fields": (
        definition({"v1alpha1": TEXT, "v1": EMPTY}, stored=["v1alpha1", "v1"], unserved=["v1alpha1"]),
        definition({"v1alpha1": TEXT, "v1": EMPTY, "v2": EMPTY}, unserved=["v1alpha1"]),
        [],
    ),
    "a version that was stored before, is not served, and whose fields the storage had": (
        definition({"v1alpha1": TEXT, "v1": TEXT}, stored=["v1alpha1", "v1"], unserved=["v1alpha1"]),
        definition({"v1alpha1": TEXT, "v1": TEXT, "v2": EMPTY}, unserved=["v1alpha1"]),
        [DROPPED, "v1alpha1 -> v2: spec.size: field-removed: the field is removed"],
    ),
    "a version that is served besides that of the storage and has fewer fields": (
        definition({"v1": TEXT}),
        definition({"v2": EMPTY, "v1": TEXT}),
        [DROPPED],
    ),
    "a version that is served besides that of the storage and has a field that this drops": (
        definition({"v1": EMPTY}),
        definition({"v2": TEXT, "v1": EMPTY}),
        ["v2 -> v1: spec.size: field-removed: the field is removed"],
    ),
    "versions of which one drops fields already": (
        definition({"v2": TEXT, "v1": EMPTY}),
        definition({"v2": TEXT, "v1": EMPTY, "v3": EMPTY}),
        [],
    ),
    "versions in the order of Kubernetes": (
        definition({"v1": TEXT}),
        definition({"v1": TEXT, "v1beta1": schema({**STRING, "maxLength": 3})}, stored=["v1"]),
        [],
    ),
    "the annotation that opts out": (
        definition({"v1": TEXT}),
        definition({"v1": NUMERIC}, annotations={OPT_OUT_ANNOTATION: "false"}),
        [],
    ),
    "the annotation with another value": (
        definition({"v1": TEXT}),
        definition({"v1": NUMERIC}, annotations={OPT_OUT_ANNOTATION: "true"}),
        ["v1: spec.size: type-changed: string -> integer"],
    ),
    "a schema that is no mapping": (
        definition({"v1": TEXT}),
        definition({"v1": {"properties": ["spec"]}}),
        ["unhandled-change: the schemas cannot be compared: ValueError"],
    ),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_is_compared_with(name: str) -> None:
    old, new, said = DEFINITIONS[name]
    assert problems(old, new) == said


def test_schemas_are_compared_at_any_depth() -> None:
    def nested(schema: Schema) -> Schema:
        for _ in range(3000):
            schema = {"type": "object", "properties": {"a": schema}}
        return schema

    (problem,) = compare(definition({"v1": nested(STRING)}), definition({"v1": nested(NUMBER)}))
    assert (problem.rule, len(problem.path.split("."))) == (CrdUpgradeRule.TYPE_CHANGED, 3000)


# --- properties

scalars = st.sampled_from(["a", "b", 1, 2.5, True])
bounds = st.integers(-5, 5)


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    """A schema of a value."""
    found: dict[str, Any] = {"type": draw(st.sampled_from(["string", "integer", "boolean"]))}
    for key, values in {
        "default": scalars,
        "enum": st.lists(scalars, min_size=1, unique_by=repr),
        "minimum": bounds,
        "maximum": bounds,
        "minLength": st.integers(0, 5),
        "maxLength": st.integers(0, 5),
        "pattern": st.sampled_from(["^a", "b$"]),
        "format": st.sampled_from(["int32", "date"]),
        "nullable": st.booleans(),
        "description": st.text(),
    }.items():
        if draw(st.booleans()):
            found[key] = draw(values)
    return found


trees = st.recursive(
    leaves(),
    lambda below: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, below),
        st.builds(lambda values: {"type": "object", "additionalProperties": values}, below),
        st.builds(
            lambda fields: {"type": "object", "properties": fields, "required": sorted(fields)[:1]},
            st.dictionaries(st.sampled_from("abc"), below, max_size=3),
        ),
    ),
    max_leaves=6,
)


def widened(value: Any, draw: st.DrawFn) -> Any:
    """The schema with some constraints removed or wider, and fields added."""
    new = dict(value)
    for key in ("enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "required"):
        if key in new and draw(st.booleans()):
            del new[key]
    steps: dict[str, Any] = {"minimum": -1, "maximum": 1, "maxLength": 1}
    for key, step in steps.items():
        if key in new:
            new[key] += draw(st.sampled_from([0, step]))
    if "enum" in new:
        new["enum"] = [*new["enum"], "another"]
    if draw(st.booleans()):
        new |= {"nullable": True, "description": "another"}
    for key in ("items", "additionalProperties"):
        if key in new:
            new[key] = widened(new[key], draw)
    if "properties" in new:
        new["properties"] = {name: widened(entry, draw) for name, entry in new["properties"].items()}
        new["properties"]["new"] = {"type": "string", "minLength": 3}
    return new


@given(trees, trees)
def test_an_equal_definition_breaks_no_rule_whatever_its_versions_disagree_about(one: Schema, two: Schema) -> None:
    both = definition({"v1": schema(one), "v2": schema(two)})
    assert problems(both, both) == []


@st.composite
def widenings(draw: st.DrawFn) -> tuple[Schema, Schema]:
    """A schema, and one that accepts all of its values."""
    old = draw(trees)
    return old, widened(old, draw)


@given(widenings())
def test_a_definition_that_accepts_more_breaks_no_rule(change: tuple[Schema, Schema]) -> None:
    assert of_field(*change) == []
