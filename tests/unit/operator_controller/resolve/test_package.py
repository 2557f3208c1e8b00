"""Parsing catalogd's resolution document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.package import (
    Bundle,
    Channel,
    Entry,
    GroupVersionKind,
    InvalidDocument,
    PackageTooLarge,
    Property,
    parse_recorded_properties,
    read_package,
    recorded_display_names,
)

DOCUMENT = {
    "catalogDigest": "sha256:1",
    "digest": "sha256:2",
    "package": "p",
    "defaultChannel": "stable",
    "channels": [
        {
            "name": "stable",
            "entries": [{"name": "b", "replaces": "a", "skips": ["x"], "skipRange": "<1.0.0"}, {"name": "a"}],
        }
    ],
    "bundles": [
        {
            "name": "b",
            "image": "r/b",
            "version": "1.0.0",
            "release": "2",
            "mediaType": "plain+v0",
            "properties": [{"type": "olm.gvk.required", "value": {"kind": "K"}}],
            "minKubeVersion": "1.25.0",
            "nativeAPIs": [{"group": "", "version": "v1", "kind": "Pod"}, {"group": "g"}, "nonsense"],
            "displayNames": {"g/v1/K": "Its own"},
        },
        {"name": "a", "image": "r/a", "version": "0.9.0", "mediaType": ""},
    ],
    "deprecations": [
        {"reference": {"schema": "olm.bundle", "name": "a"}, "message": "old"},
        {"reference": {"schema": "olm.package"}, "message": "the whole package"},
        {"reference": {"schema": "olm.channel", "name": "fast"}, "message": "use stable"},
        {"reference": {"schema": "other", "name": "x"}, "message": "unknown"},
    ],
    "displayNames": {"g/v1/K": "Common", "g/v1/L": "Common", "g/v1/M": 1},
}


def test_a_document_is_parsed() -> None:
    package = read_package(DOCUMENT)
    assert (package.name, package.default_channel) == ("p", "stable")
    assert package.channels == (Channel("stable", (Entry("b", "a", ("x",), "<1.0.0"), Entry("a"))),)
    assert package.channel("stable") == package.channels[0]
    assert package.channel("fast") is None
    first, second = package.bundles["b"], package.bundles["a"]
    assert (str(first.version), first.image, first.media_type) == ("1.0.0+2", "r/b", "plain+v0")
    assert first.dependencies == (Property("olm.gvk.required", {"kind": "K"}),)
    assert second.media_type == "registry+v1"
    assert package.deprecated_bundles == {"a": "old"}
    assert package.deprecated_channels == {"fast": "use stable"}
    assert package.deprecation == "the whole package"
    assert first.min_kube_version == "1.25.0"
    assert first.native_apis == (GroupVersionKind("", "v1", "Pod"),)
    assert first.display_names == {"g/v1/K": "Its own", "g/v1/L": "Common"}
    assert second.display_names == {"g/v1/K": "Common", "g/v1/L": "Common"}


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"problem": "its blob is broken", "version": ""}, "its blob is broken"),
        ({"problem": "the channel is broken", "version": "1.0.0", "image": "r"}, "the channel is broken"),
        ({"version": "1.0", "image": "r"}, "No Major.Minor.Patch elements found"),
        ({"version": "1.0.0", "image": ""}, "it names no image"),
    ],
)
def test_a_bundle_that_cannot_be_read_is_kept_with_its_problem(facts: dict[str, str], problem: str) -> None:
    bundle = read_package({"bundles": [{"name": "b", **facts}]}).bundles["b"]
    assert bundle.version is None
    assert bundle.problem == problem


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "the document is no mapping"),
        ([], "the document is no mapping"),
        ({"channels": {}}, "channels is no list"),
        ({"channels": [1]}, "a channel is no mapping"),
        ({"channels": [{"name": "a", "entries": ["x"]}]}, "a channel entry is no mapping"),
        ({"bundles": [{"name": 1}]}, "name is no string"),
        ({"bundles": [{"name": "b", "properties": [1]}]}, "a property is no mapping"),
        ({"deprecations": [{"message": "m"}]}, "a deprecation's reference is no mapping"),
    ],
)
def test_a_document_of_another_shape_is_rejected(document: Any, message: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        read_package(document)
    assert str(caught.value) == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "entries", "version", "type", "value", "reference"]), inner, max_size=4
        )
    ),
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["package", "channels", "bundles", "deprecations"]), json_values))
def test_any_json_is_parsed_or_rejected(document: dict[str, Any]) -> None:
    try:
        package = read_package(document)
    except InvalidDocument:
        return
    assert all(bundle.version is None or bundle.image for bundle in package.bundles.values())


def entries(count: int, **facts: Any) -> dict[str, Any]:
    return {"name": "a", "entries": [{"name": "b", **facts}] * count}


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        pytest.param(
            [entries(25_000), {**entries(25_001), "name": "c"}],
            "it has 50,001 entries in its channels, and at most 50,000 are resolved",
            id="entries of all channels",
        ),
        pytest.param(
            [entries(10_001, replaces="x", skips=["y"] * 99)],
            "it has 1,000,100 names in replaces and skips, and at most 1,000,000 are resolved",
            id="named edges",
        ),
        pytest.param(
            [entries(2_000, skipRange=" ".join([">1.0.0"] * 101))],
            "it has 202,000 comparisons in its skipRanges, and at most 200,000 are resolved",
            id="comparisons of ranges",
        ),
    ],
)
def test_a_package_that_is_too_large_is_rejected(channels: list[Any], message: str) -> None:
    with pytest.raises(PackageTooLarge) as caught:
        read_package({"package": "p", "channels": channels})
    assert str(caught.value) == f"{message}; ask its publisher to remove old entries"


def test_the_largest_permitted_package_is_parsed() -> None:
    largest = entries(50_000, replaces="x", skips=["y"] * 19, skipRange=">=1.0.0 <2.0.0 || >3.0.0")
    assert len(read_package({"channels": [largest]}).channels[0].entries) == 50_000


def test_a_package_without_deprecations_is_not_deprecated() -> None:
    package = read_package({"package": "p"})
    assert (package.deprecation, package.deprecated_channels, package.deprecated_bundles) == (None, {}, {})


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
            [{"type": "olm.constraint", "value": json.loads("[" * 900 + "]" * 900)}] * 1,
            "",
            id="nesting that JSON permits",
        ),
    ],
)
def test_a_bundle_whose_dependencies_cannot_be_recorded_has_a_problem(
    properties: list[dict[str, Any]], problem: str
) -> None:
    bundle = bundle_with(properties)
    assert bundle.problem == problem
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


def test_values_as_deep_as_catalogs_permit_are_read() -> None:
    value = json.loads("[" * 248 + "]" * 248)
    assert parse_recorded_properties(json.dumps([{"type": "t", "value": value}])) == [{"type": "t", "value": value}]
