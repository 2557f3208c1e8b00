"""Reading resolution documents: what a package has, what is wrong with it, and what is known before its bundles are made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.answers.component_solver import SolverMemory, solve_components
from operator_controller.resolve.documents import catalog_documents as documents_module
from operator_controller.resolve.documents.document_reader import (
    EMPTY_INDEX,
    DocumentBundles,
    InvalidDocument,
    MalformedDocument,
    ReadDocument,
    index_properties,
    read_document,
    read_envelope,
    read_package,
)
from operator_controller.resolve.package.package_content import (
    Channel,
    Entry,
    GroupVersionKind,
    PackageTooLarge,
    Property,
)
from operator_controller.resolve.requirements.bundle_constraints import constraints_of
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.selection import package_domain
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from tests.bundle_properties import package_required
from tests.examples import example_count
from tests.unit.operator_controller.resolve.answers.test_component_solver import document, operator
from tests.unit.operator_controller.resolve.answers.test_component_solver_properties import documents_of, operators
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

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
            "properties": [{"type": "olm.gvk.required", "value": {"kind": "K"}}, {"type": "x", "value": [1, None]}],
            "minKubeVersion": "1.25.0",
            "nativeAPIs": [
                {"group": "", "version": "v1", "kind": "Pod"},
                {"group": "g", "version": "", "kind": ""},
            ],
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
    "displayNames": {"g/v1/K": "Common", "g/v1/L": "Common"},
    "later": "a field that a newer catalogd may add",
}


def read(document: Any) -> ReadDocument:
    return read_document(json.dumps(document).encode())


def test_a_document_is_read() -> None:
    found = read(DOCUMENT)
    package = found.content
    assert (package.name, package.default_channel, found.digest, found.catalog_digest) == (
        "p",
        "stable",
        "sha256:2",
        "sha256:1",
    )
    assert package.channels == (Channel("stable", (Entry("b", "a", ("x",), "<1.0.0"), Entry("a"))),)
    assert package.channel("stable") == package.channels[0]
    assert package.channel("fast") is None
    first, second = package.bundles["b"], package.bundles["a"]
    assert (str(first.version), first.image, first.media_type) == ("1.0.0+2", "r/b", "plain+v0")
    assert first.properties == (Property("olm.gvk.required", {"kind": "K"}), Property("x", [1, None]))
    assert first.dependencies == first.properties[:1]
    assert second.media_type == "registry+v1"
    assert package.deprecated_bundles == {"a": "old"}
    assert package.deprecated_channels == {"fast": "use stable"}
    assert package.deprecation == "the whole package"
    assert first.min_kube_version == "1.25.0"
    assert first.native_apis == (GroupVersionKind("", "v1", "Pod"),)
    assert first.display_names == {"g/v1/K": "Its own", "g/v1/L": "Common"}
    assert second.display_names == {"g/v1/K": "Common", "g/v1/L": "Common"}
    assert (second.with_image("mirror/a").image, second.with_image("mirror/a").name) == ("mirror/a", "a")


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
        (None, "Expected `object`, got `null`"),
        ([], "Expected `object`, got `array`"),
        ({"channels": {}}, "Expected `array`, got `object` - at `$.channels`"),
        (
            {"channels": [{"name": "a", "entries": ["x"]}]},
            "Expected `object`, got `str` - at `$.channels[0].entries[0]`",
        ),
        ({"bundles": [{"name": 1}]}, "Expected `str`, got `int` - at `$.bundles[0].name`"),
        ({"bundles": [{"name": "b", "properties": [1]}]}, "Expected `object`, got `int`"),
        ({"bundles": [{"name": "b", "properties": [{"type": 1}]}]}, "Expected `str`, got `int` - at `$.type`"),
        ({"deprecations": [{}]}, "Object missing required field `reference` - at `$.deprecations[0]`"),
    ],
)
def test_a_document_of_another_form_is_rejected_and_the_error_says_what_to_do(document: Any, message: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        read(document)
    assert str(caught.value) == f"{message}; catalogd and operator-controller have to be of the same version"


DEEP = b'{"bundles":[{"properties":[' + b"[" * 100_000


@pytest.mark.parametrize("text", [b"", b'{"package":"p"', b"{} {}", b'{"package":"\xff"}', DEEP])
def test_a_damaged_document_is_another_error(text: bytes) -> None:
    with pytest.raises(MalformedDocument, match="it is no JSON: "):
        read_document(text)
    with pytest.raises(MalformedDocument):
        read_envelope(text)


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
def test_any_json_is_read_or_rejected(document: dict[str, Any]) -> None:
    try:
        package = read_package(document)
    except InvalidDocument:
        return
    assert all(bundle.version is None or bundle.image for bundle in package.bundles.values())


def test_a_document_that_is_no_json_is_rejected() -> None:
    with pytest.raises(InvalidDocument, match="it is no JSON: "):
        read_package({"package": object()})


def entries_of(count: int, **facts: Any) -> dict[str, Any]:
    return {"name": "a", "entries": [{"name": "b", **facts}] * count}


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        pytest.param(
            [entries_of(25_000), {**entries_of(25_001), "name": "c"}],
            "it has 50,001 entries in its channels, and at most 50,000 are resolved",
            id="entries of all channels",
        ),
        pytest.param(
            [entries_of(10_001, replaces="x", skips=["y"] * 99)],
            "it has 1,000,100 names in replaces and skips, and at most 1,000,000 are resolved",
            id="named edges",
        ),
        pytest.param(
            [entries_of(2_000, skipRange=" ".join([">1.0.0"] * 101))],
            "it has 202,000 comparisons in its skipRanges, and at most 200,000 are resolved",
            id="comparisons of ranges",
        ),
    ],
)
def test_a_package_that_is_too_large_is_rejected(channels: list[Any], message: str) -> None:
    with pytest.raises(PackageTooLarge) as caught:
        read_package({"package": "p", "channels": channels})
    assert str(caught.value) == f"{message}; ask its publisher to remove old entries"


def test_a_package_without_a_document_is_rejected_with_the_limit_that_it_exceeds() -> None:
    with pytest.raises(PackageTooLarge, match="it has more than 20,000 blobs"):
        read({"tooLarge": "it has more than 20,000 blobs"})


def test_the_largest_permitted_package_is_read() -> None:
    largest = entries_of(50_000, replaces="x", skips=["y"] * 19, skipRange=">=1.0.0 <2.0.0 || >3.0.0")
    assert len(read_package({"channels": [largest]}).channels[0].entries) == 50_000


def test_a_package_without_deprecations_is_not_deprecated() -> None:
    package = read_package({"package": "p"})
    assert (package.deprecation, package.deprecated_channels, package.deprecated_bundles) == (None, {}, {})


# --- what is known before bundles are made

texts = st.sampled_from(["", "a", "b", "1.0.0", "1.0.0-rc.1", "1.0.0+2", ">=1.0.0", "x" * 600, "1.0"])
values = st.one_of(
    st.builds(lambda name, text: {"packageName": name, "versionRange": text}, texts, texts),
    st.builds(lambda group, kind: {"group": group, "version": "v1", "kind": kind}, texts, texts),
    st.sampled_from([{}, None, 1, 1e300, {"Kind": "K", "group": "g"}, {"packageName": "p", "versionRange": 1}]),
    st.sampled_from([{"cel": {"rule": "true"}}, {"gvk": {"group": "g", "version": "v1", "kind": "K"}}]),
)
types = st.sampled_from(
    [
        "olm.gvk",
        "olm.gvk.required",
        "olm.package.required",
        "olm.constraint",
        "olm.maxOpenShiftVersion",
        "olm.deprecated",
        "other",
    ]
)
properties = st.lists(st.fixed_dictionaries({"type": types}, optional={"value": values}), max_size=3)
bundle_documents = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "c"]), "image": st.sampled_from(["r/a", "r/b", ""]), "version": texts},
    optional={
        "release": st.sampled_from(["", "2", None]),
        "mediaType": texts,
        "problem": st.sampled_from(["", "broken"]),
        "minKubeVersion": texts,
        "properties": properties | properties.map(lambda few: few * 12) | properties.map(lambda few: few * 600),
    },
)


@settings(deadline=None, max_examples=example_count(300))
@given(st.lists(bundle_documents, max_size=3))
def test_what_is_known_of_a_bundle_before_it_is_made_is_true(bundles: list[dict[str, Any]]) -> None:
    """Its place among versions, whether it has to be checked, whether it is marked, and what all require and own."""
    found = read({"bundles": bundles})
    known = found.content.bundles
    assert isinstance(known, DocumentBundles)
    orders = {name: known.order(name) for name in (*known, "z")}
    needs_check = {name: known.needs_check(name) for name in known}
    for name, bundle in known.items():
        assert orders[name] == (bundle.version.order if bundle.version is not None else None)
        is_installable = not bundle.problem and not constraints_of(bundle).problem and not bundle.min_kube_version
        assert is_installable or needs_check[name] or orders[name] is None
        assert (name in found.content.deprecated_bundles) == any(
            each.type == "olm.deprecated" for each in bundle.properties
        )
    assert orders["z"] is None
    index = EMPTY_INDEX
    listed = [(each["type"], each.get("value")) for bundle in bundles for each in bundle.get("properties", ())]
    index = index_properties(listed)
    assert (found.index.packages, found.index.kinds, found.index.owned) == (index.packages, index.kinds, index.owned)
    assert (found.index.requires_any, found.index.rules_length) == (index.requires_any, index.rules_length)
    assert read_envelope(json.dumps({"bundles": bundles}).encode()).owned == index.owned


def answers_of(requests: tuple[OperatorRequest, ...], x: dict[str, Any], y: dict[str, Any]) -> Any:
    contents = DocumentsInMemory()
    sources = CatalogSource("x", content=contents.add(x)), CatalogSource("y", content=contents.add(y))
    return solve_components(ClusterSnapshot(requests, sources, ClusterFacts("1.34.4")), contents)


@settings(max_examples=example_count(150), deadline=None)
@given(operators(), documents_of(), documents_of())
def test_operators_get_the_answers_that_they_get_when_all_bundles_are_made(
    requests: tuple[OperatorRequest, ...], x: dict[str, Any], y: dict[str, Any]
) -> None:
    found = answers_of(requests, x, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package_domain, "dependency_versions", lambda snapshot: None)
        assert answers_of(requests, x, y) == found


def test_only_documents_of_packages_that_are_reached_are_read() -> None:
    contents, memory = DocumentsInMemory(), SolverMemory()
    packages = {
        "a": document("a", "1.0.0", properties=[package_required("b")]),
        "b": document("b", "1.0.0"),
        "c": document("c", "1.0.0", properties=[package_required("a")]),
    }
    source = CatalogSource("community", content=contents.add(packages))
    snapshot = ClusterSnapshot((operator("a"),), (source,))
    (answer,) = solve_components(snapshot, contents, memory)
    assert [each.package for each in answer.members] == ["a", "b"]
    assert contents.reads == ["a", "b"]
    changed = contents.add({**packages, "b": document("b", "1.0.0", "1.1.0")})
    (answer,) = solve_components(
        ClusterSnapshot((operator("a"),), (CatalogSource("community", content=changed),)), contents, memory
    )
    assert [each.version for each in answer.members] == ["1.0.0", "1.1.0"]
    assert contents.reads == ["a", "b", "b"]


def test_documents_beyond_the_limit_of_what_is_kept_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = DocumentsInMemory()
    packages = {"a": document("a", "1.0.0", properties=[package_required("b")]), "b": document("b", "1.0.0")}
    source = CatalogSource("community", content=contents.add(packages))
    monkeypatch.setattr(documents_module, "MAX_KEPT_BYTES", 0)
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), contents)
    assert [each.package for each in answer.members] == ["a", "b"]
    assert sorted(contents.reads) == ["a", "a", "b", "b"]


def test_an_error_of_a_document_is_reported() -> None:
    contents = DocumentsInMemory()
    source = CatalogSource("community", content=contents.add({"a": {**document("a", "1.0.0"), "bundles": [3]}}))
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), contents)
    assert 'its document of package "a" cannot be read: Expected `object`, got `int`' in answer.text
