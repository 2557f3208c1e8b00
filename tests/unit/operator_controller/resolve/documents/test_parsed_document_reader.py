"""Parsing catalogd's resolution document."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.documents.parsed_document_reader import InvalidDocument, read_package
from operator_controller.resolve.package.package_content import (
    Channel,
    Entry,
    GroupVersionKind,
    PackageTooLarge,
    Property,
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
