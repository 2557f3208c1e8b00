"""Which values Go accepts as opm's types, and the errors of Go 1.26 for the others."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.go_decode_errors import WrongValue, decode_error, wrong_value

PACKAGE, CSV = "declcfg.Package", "property.CSVMetadata"


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        pytest.param(PACKAGE, {}, id="nothing"),
        pytest.param(PACKAGE, None, id="null"),
        pytest.param(PACKAGE, {"name": None, "icon": None, "properties": None}, id="null in every place"),
        pytest.param(PACKAGE, {"unknown": 5, "x": [{}]}, id="unknown fields"),
        pytest.param(PACKAGE, {"NAME": "x", "Icon": {"BASE64DATA": "eA=="}}, id="fields in another case"),
        pytest.param(PACKAGE, {"icon": {"base64data": [1, None, 255]}}, id="bytes as numbers"),
        pytest.param(
            PACKAGE, {"properties": [None, {"type": "t", "value": {"any": [1]}}]}, id="properties of any value"
        ),
        pytest.param("declcfg.Channel", {"entries": [{"skips": [None, "a"]}, None]}, id="null in lists"),
        pytest.param(CSV, {"annotations": {"a": None, "b": "c"}, "labels": {}}, id="maps of strings"),
        pytest.param(
            CSV,
            {"apiServiceDefinitions": {"owned": [{"containerPort": 443}]}, "installModes": [{"supported": True}]},
            id="numbers and booleans",
        ),
        pytest.param(
            CSV,
            {"crdDescriptions": {"owned": [{"specDescriptors": [{"x-descriptors": ["a"], "value": 5}]}]}},
            id="descriptors with any value",
        ),
    ],
)
def test_values_that_go_accepts(type_name: str, value: Any) -> None:
    assert decode_error(type_name, value) == ""


@pytest.mark.parametrize(
    ("type_name", "value", "words"),
    [
        pytest.param(PACKAGE, "x", "string into Go value of type declcfg.Package", id="a whole value of another type"),
        pytest.param(PACKAGE, {"name": True}, "bool into Go struct field Package.name of type string", id="a boolean"),
        pytest.param(
            PACKAGE, {"NAME": 1.5}, "number into Go struct field Package.name of type string", id="another case"
        ),
        pytest.param(
            PACKAGE, {"icon": []}, "array into Go struct field Package.icon of type declcfg.Icon", id="an object"
        ),
        pytest.param(
            *(PACKAGE, {"icon": {"mediatype": {}}}),
            "object into Go struct field Icon.icon.mediatype of type string",
            id="the innermost type, and the way to it",
        ),
        pytest.param(
            *(PACKAGE, {"icon": {"base64data": 1}}),
            "number into Go struct field Icon.icon.base64data of type []uint8",
            id="bytes",
        ),
        pytest.param(
            *(PACKAGE, {"icon": {"base64data": [256]}}),
            "number 256 into Go struct field Icon.icon.base64data of type uint8",
            id="a byte that is too large",
        ),
        pytest.param(
            *("declcfg.Channel", {"entries": [{}, {"skips": ["a", 1]}]}),
            "number into Go struct field ChannelEntry.entries.skips of type string",
            id="in a list of lists",
        ),
        pytest.param(
            *("declcfg.Channel", {"entries": {"a": 1}}),
            "object into Go struct field Channel.entries of type []declcfg.ChannelEntry",
            id="a list",
        ),
        pytest.param(
            *(CSV, {"labels": {"a": "b", "c": 1}}),
            "number into Go struct field CSVMetadata.labels of type string",
            id="in a map",
        ),
        pytest.param(
            *(CSV, {"labels": ["a"]}),
            "array into Go struct field CSVMetadata.labels of type map[string]string",
            id="a map",
        ),
        pytest.param(
            *(CSV, {"apiServiceDefinitions": {"owned": [{"containerPort": 2**31}]}}),
            "number 2147483648 into Go struct field APIServiceDescription.apiServiceDefinitions.owned.containerPort of type"
            " int32",
            id="an integer that is too large",
        ),
        pytest.param(
            *(CSV, {"installModes": [{"type": 1, "supported": "x"}]}),
            "string into Go struct field InstallMode.installModes.supported of type bool",
            id="the first by its key, as blobs are written",
        ),
        pytest.param(
            *(CSV, {"installModes": [{"type": 1}]}),
            "number into Go struct field InstallMode.installModes.type of type v1alpha1.InstallModeType",
            id="a string with a type of its own",
        ),
        pytest.param(
            *(CSV, {"nativeAPIs": [{"kind": orjson.Fragment(b"1e+30")}]}),
            "number into Go struct field GroupVersionKind.nativeAPIs.kind of type string",
            id="a number that is kept as text",
        ),
    ],
)
def test_values_that_go_refuses(type_name: str, value: Any, words: str) -> None:
    assert decode_error(type_name, value) == f"json: cannot unmarshal {words}"


@pytest.mark.parametrize(
    ("type_name", "value", "path", "wanted"),
    [
        pytest.param(PACKAGE, "x", (), PACKAGE, id="the whole value"),
        pytest.param(PACKAGE, {"NAME": 1.5}, ("NAME",), "string", id="a field in another case"),
        pytest.param(PACKAGE, {"icon": {"mediatype": {}}}, ("icon", "mediatype"), "string", id="a field of a struct"),
        pytest.param(PACKAGE, {"properties": [{}, {"type": 5}]}, ("properties", 1, "type"), "string", id="in a list"),
        pytest.param(CSV, {"annotations": {"b": [], "a": {}}}, ("annotations", "a"), "string", id="in a map"),
        pytest.param(
            "CustomResourceDefinition",
            {
                "metadata": {"name": 1},
                "spec": {"versions": [{"schema": {"openAPIV3Schema": {"additionalProperties": "x"}}}]},
            },
            ("spec", "versions", 0, "schema", "openAPIV3Schema", "additionalProperties"),
            "*SchemaOrBool",
            id="what a decoder of its own refuses, before a mismatch",
        ),
        pytest.param(
            "JSONSchemaProps",
            {"items": {"properties": {"a": {"anyOf": [{}, {"items": [{}, {"type": 5}]}]}}}},
            ("items", "properties", "a", "anyOf", 1, "items", 1, "type"),
            "string",
            id="in schemas of schemas",
        ),
    ],
)
def test_the_value_that_the_error_is_about(
    type_name: str, value: Any, path: tuple[str | int, ...], wanted: str
) -> None:
    assert wrong_value(type_name, value) == WrongValue(path, wanted)


def test_a_value_without_an_error() -> None:
    assert wrong_value(PACKAGE, {"name": "a"}) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-300, 300) | st.sampled_from(["", "a", "eA=="]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "Name", "entries", "skips", "icon", "base64data", "properties", "type", "value", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from([PACKAGE, "declcfg.Channel", "declcfg.Bundle", "declcfg.Deprecation"]), VALUES)
def test_the_quick_check_accepts_what_the_slow_one_accepts(type_name: str, value: Any) -> None:
    """In a mapping that has a key in another case the slow look decides all; an empty schema adds no fault."""
    slow = {**value, "SCHEMA": ""} if isinstance(value, dict) else value
    assert decode_error(type_name, value) == decode_error(type_name, slow)


@given(st.sampled_from([PACKAGE, "declcfg.Channel", "declcfg.Bundle", "declcfg.Deprecation"]), VALUES)
def test_a_wrong_value_is_found_for_each_error(type_name: str, value: Any) -> None:
    assert (wrong_value(type_name, value) is None) == (decode_error(type_name, value) == "")
