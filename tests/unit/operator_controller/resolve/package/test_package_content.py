"""What the BundleDeployment of a bundle records of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.package.package_content import (
    Bundle,
    Property,
    is_recorded_list,
    parse_recorded_properties,
    recorded_display_names,
)


def gvk(kind: str) -> dict[str, Any]:
    return {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": kind}}


def required(name: str) -> dict[str, Any]:
    return {"type": "olm.package.required", "value": {"packageName": name, "versionRange": "1.0.0"}}


def bundle_with(properties: list[dict[str, Any]], **more: Any) -> Bundle:
    facts = {"name": "b", "image": "r", "version": "1.0.0", "properties": properties, **more}
    return read_package({"bundles": [facts]}).bundles["b"]


def test_dependencies_are_recorded_first_and_display_names_of_provided_kinds_last() -> None:
    names = {"g/v1/K": "Name of K", "g/v1/Unknown": "of no kind that it provides"}
    bundle = bundle_with([gvk("K"), {"type": "other", "value": 1}, required("q")], displayNames=names)
    recorded = json.loads(bundle.recorded_properties)
    assert [each["type"] for each in recorded] == [
        "olm.package.required",
        "olm.gvk",
        "operators.operatorframework.io/display-names",
    ]
    assert recorded_display_names(Property(each["type"], each["value"]) for each in recorded) == {"g/v1/K": "Name of K"}


def test_kinds_beyond_the_limit_are_not_recorded_and_dependencies_all_are() -> None:
    bundle = bundle_with([*[gvk(f"K{number}" + "x" * 1_000) for number in range(200)], required("q" * 1_000)])
    recorded = json.loads(bundle.recorded_properties)
    assert len(bundle.recorded_properties) <= 131_072
    assert recorded[0] == required("q" * 1_000)
    assert [each["type"] for each in recorded[1:]] == ["olm.gvk"] * 121
    assert bundle.problem == ""


def test_the_most_dependencies_that_can_be_recorded_are_permitted() -> None:
    one = len(json.dumps(required(""), separators=(",", ":"))) + 1
    count, rest = divmod(131_072 - 2, one)
    fitting = [required(""), *[required("")] * (count - 2), required("x" * rest)]
    bundle = bundle_with(fitting)
    assert bundle.problem == ""
    assert json.loads(bundle.recorded_properties) == fitting
    assert bundle_with([*fitting, required("")]).version is None


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        pytest.param(
            [required("q" * 131_072)],
            "its requirements take 131,156 bytes, and at most 131,072 are recorded; ask its publisher to shorten them",
            id="one long name",
        ),
        pytest.param(
            [{"type": "olm.constraint", "value": {"cel": {"rule": "x" * 131_072}}}],
            "its requirements take 131,128 bytes, and at most 131,072 are recorded; ask its publisher to shorten them",
            id="a long rule",
        ),
        pytest.param(
            [{"type": "olm.constraint", "value": json.loads("[" * 248 + "]" * 248)}],
            "",
            id="the deepest nesting that can be read again",
        ),
        pytest.param(
            [{"type": "olm.constraint", "value": json.loads("[" * 249 + "]" * 249)}],
            "its requirements are nested too deep",
            id="nesting that cannot be read again",
        ),
        pytest.param(
            [{"type": "olm.constraint", "value": json.loads("[" * 900 + "]" * 900)}],
            "its requirements are nested too deep",
            id="nesting that JSON permits",
        ),
        pytest.param(
            [{"type": "olm.package.required", "value": {**required("q")["value"], "x": int("1" * 4300)}}],
            "",
            id="the longest integer",
        ),
    ],
)
def test_a_bundle_whose_dependencies_cannot_be_recorded_has_a_problem(
    properties: list[dict[str, Any]], problem: str
) -> None:
    bundle = bundle_with(properties)
    assert bundle.problem == problem
    assert problem or parse_recorded_properties(bundle.recorded_properties) == properties
    assert (bundle.version is None) == bool(problem)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('[{"type":"t","value":1},2]', [{"type": "t", "value": 1}], id="what is no mapping is left out"),
        pytest.param("", [], id="no annotation"),
        pytest.param('{"type":"t"}', [], id="no list"),
        pytest.param("[{", [], id="no JSON"),
        pytest.param(r'[{"type":"\ud800"}]', [], id="a text that UTF-8 cannot hold"),
        pytest.param("[" * 100_000, [], id="more levels than a parser permits"),
        pytest.param('[{"type":' + "[" * 249 + "]" * 249 + "}]", [], id="more levels than catalogs permit"),
    ],
)
def test_what_a_person_wrote_into_the_annotation_is_read_as_far_as_it_can_be(text: str, expected: list[Any]) -> None:
    assert parse_recorded_properties(text) == expected
    assert is_recorded_list(text) == (not text)


def test_values_as_deep_as_catalogs_permit_are_read() -> None:
    value = json.loads("[" * 248 + "]" * 248)
    assert parse_recorded_properties(json.dumps([{"type": "t", "value": value}])) == [{"type": "t", "value": value}]
