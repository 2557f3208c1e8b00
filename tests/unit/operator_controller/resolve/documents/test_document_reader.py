"""A document that is decoded from its text gives what the whole document gives, and Operators the same answers."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.answers.component_solver import SolverMemory, solve_components
from operator_controller.resolve.documents import catalog_documents as documents_module
from operator_controller.resolve.documents.document_reader import AnotherForm, TextPackage, read_package_text
from operator_controller.resolve.documents.package_index import index_document
from operator_controller.resolve.documents.parsed_document_reader import InvalidDocument, read_package
from operator_controller.resolve.package.package_content import Bundle, PackageContent, PackageTooLarge
from operator_controller.resolve.requirements.bundle_constraints import constraints_of
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from tests.bundle_properties import package_required
from tests.unit.operator_controller.resolve.answers.test_component_solver import document, operator
from tests.unit.operator_controller.resolve.answers.test_component_solver_properties import documents_of, operators
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory, TextsInMemory

ENVELOPE = {"package": "p", "digest": "sha256:1", "catalogDigest": "sha256:2"}


def read(document: dict[str, Any]) -> TextPackage:
    return read_package_text(json.dumps({**document, **ENVELOPE}).encode(), "p", "sha256:1", "sha256:2")


def facts(content: PackageContent) -> dict[str, Any]:
    """Everything that resolution reads of a package."""
    return {**{each.name: getattr(content, each.name) for each in fields(content)}, "bundles": bundles(content)}


def bundles(content: PackageContent) -> list[dict[str, Any]]:
    return [
        {
            **{each.name: getattr(bundle, each.name) for each in fields(Bundle)},
            "provided": bundle.provided_kinds,
            "recorded": bundle.recorded_properties,
            "constraints": constraints_of(bundle),
        }
        for bundle in content.bundles.values()
    ]


texts = st.sampled_from(["", "a", "b", "1.0.0", "1.0.0-rc.1", "1.0.0+2", ">=1.0.0", "x" * 100, "1.0"])
values = st.one_of(
    st.builds(lambda name, text: {"packageName": name, "versionRange": text}, texts, texts),
    st.builds(lambda group, kind: {"group": group, "version": "v1", "kind": kind}, texts, texts),
    st.sampled_from([{}, None, 1, {"Kind": "K", "group": "g"}, {"gvk": {"group": "g", "version": "v1", "kind": "K"}}]),
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
bundle_documents = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "c"]), "image": st.sampled_from(["r/a", "r/b", ""]), "version": texts},
    optional={
        "release": st.sampled_from(["", "2", None, 1]),
        "mediaType": texts,
        "problem": st.sampled_from(["", "broken"]),
        "minKubeVersion": texts,
        "nativeAPIs": st.lists(values, max_size=1),
        "displayNames": st.dictionaries(texts, texts, max_size=1),
        "properties": st.lists(st.fixed_dictionaries({"type": types, "value": values}), max_size=3),
    },
)
entries = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "c"])},
    optional={"replaces": texts, "skips": st.lists(texts, max_size=2), "skipRange": texts},
)
documents = st.fixed_dictionaries(
    {
        "defaultChannel": st.sampled_from(["stable", "x"]),
        "channels": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(["stable", "fast"]), "entries": st.lists(entries)}),
            max_size=2,
        ),
        "bundles": st.lists(bundle_documents, max_size=3),
    },
    optional={
        "displayNames": st.dictionaries(texts, texts, max_size=1),
        "deprecations": st.lists(
            st.fixed_dictionaries(
                {
                    "reference": st.fixed_dictionaries(
                        {"schema": st.sampled_from(["olm.package", "olm.channel", "olm.bundle", "x"])},
                        optional={"name": texts},
                    ),
                    "message": texts,
                }
            ),
            max_size=2,
        ),
    },
)


@settings(deadline=None, max_examples=300)
@given(documents)
def test_any_document_that_is_decoded_gives_what_the_whole_document_gives(found: dict[str, Any]) -> None:
    try:
        package = read(found)
    except AnotherForm:
        return
    assert facts(package.content) == facts(read_package({**found, **ENVELOPE}))
    assert package.index == index_document(found)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="no version"),
        pytest.param({"version": "1.0.0", "properties": [{"type": "olm.package.required", "value": {}}]}, id="empty"),
        pytest.param(
            {"version": "1.0.0", "properties": [{"type": "olm.constraint", "value": {"cel": {"rule": "true"}}}]},
            id="a rule",
        ),
        pytest.param(
            {"version": "1.0.0", "properties": [{"type": "olm.deprecated", "value": {}}]}, id="a mark of deprecation"
        ),
    ],
)
def test_the_usual_forms_are_decoded_or_read_whole(changes: dict[str, Any]) -> None:
    whole = {"bundles": [{"name": "a", "image": "r/a", **changes}]}
    try:
        found = read(whole).content
    except AnotherForm:
        assert changes["properties"][0]["value"] == {}
        return
    assert facts(found) == facts(read_package({**whole, **ENVELOPE}))


def test_a_document_of_another_package_or_content_is_not_decoded() -> None:
    text = json.dumps({**ENVELOPE, "bundles": []}).encode()
    assert read_package_text(text, "p", "sha256:1", "sha256:2").content.name == "p"
    for expected in (("q", "sha256:1", "sha256:2"), ("p", "sha256:3", "sha256:2"), ("p", "sha256:1", "sha256:3")):
        with pytest.raises(AnotherForm):
            read_package_text(text, *expected)


def test_a_package_that_is_too_large_is_rejected() -> None:
    channels = [{"name": "a", "entries": [{"name": "b"}] * 50_001}]
    with pytest.raises(PackageTooLarge, match="it has 50,001 entries"):
        read({"channels": channels})
    with pytest.raises(PackageTooLarge, match="it has more than 20,000 blobs"):
        read({"tooLarge": "it has more than 20,000 blobs"})


def test_a_bundle_takes_over_another_image() -> None:
    bundle = read(document("p", "1.0.0")).content.bundles["p.v1.0.0"].with_image("mirror/p")
    assert (bundle.image, bundle.name, str(bundle.version)) == ("mirror/p", "p.v1.0.0", "1.0.0")


def answers_of(
    contents: DocumentsInMemory, requests: tuple[OperatorRequest, ...], x: dict[str, Any], y: dict[str, Any]
) -> Any:
    sources = CatalogSource("x", content=contents.add(x)), CatalogSource("y", content=contents.add(y))
    return solve_components(ClusterSnapshot(requests, sources, ClusterFacts("1.34.4")), contents)


@settings(max_examples=150, deadline=None)
@given(operators(), documents_of(), documents_of())
def test_operators_get_the_answers_that_whole_documents_give(
    requests: tuple[OperatorRequest, ...], x: dict[str, Any], y: dict[str, Any]
) -> None:
    assert answers_of(TextsInMemory(), requests, x, y) == answers_of(DocumentsInMemory(), requests, x, y)


def test_only_documents_of_packages_that_are_reached_are_read() -> None:
    texts, memory = TextsInMemory(), SolverMemory()
    packages = {
        "a": document("a", "1.0.0", properties=[package_required("b")]),
        "b": document("b", "1.0.0"),
        "c": document("c", "1.0.0", properties=[package_required("a")]),
    }
    source = CatalogSource("community", content=texts.add(packages))
    snapshot = ClusterSnapshot((operator("a"),), (source,))
    (answer,) = solve_components(snapshot, texts, memory)
    assert [each.package for each in answer.members] == ["a", "b"]
    assert (texts.texts, texts.reads) == (["a", "b"], [])
    changed = texts.add({**packages, "b": document("b", "1.0.0", "1.1.0")})
    (answer,) = solve_components(
        ClusterSnapshot((operator("a"),), (CatalogSource("community", content=changed),)), texts, memory
    )
    assert [each.version for each in answer.members] == ["1.0.0", "1.1.0"]
    assert texts.texts == ["a", "b", "b"]


def test_documents_beyond_the_limit_of_what_is_kept_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = TextsInMemory()
    packages = {"a": document("a", "1.0.0", properties=[package_required("b")]), "b": document("b", "1.0.0")}
    source = CatalogSource("community", content=texts.add(packages))
    monkeypatch.setattr(documents_module, "MAX_KEPT_BYTES", 0)
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), texts)
    assert [each.package for each in answer.members] == ["a", "b"]
    assert sorted(texts.texts) == ["a", "a", "b", "b"]


def test_an_error_of_a_whole_document_is_reported() -> None:
    texts = TextsInMemory()
    source = CatalogSource("community", content=texts.add({"a": {**document("a", "1.0.0"), "bundles": [3]}}))
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), texts)
    assert 'its document of package "a" cannot be read: a bundle is no mapping' in answer.text
    with pytest.raises(InvalidDocument):
        read_package({"bundles": [3]})
