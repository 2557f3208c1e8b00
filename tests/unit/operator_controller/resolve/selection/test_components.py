"""The part of a Snapshot that a component depends on contains nothing that cannot change its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from operator_controller.resolve.documents.catalog_documents import CatalogIndex, ParsedDocuments
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.selection.components import (
    Component,
    ComponentPart,
    PartMaker,
    digest_of,
    without_idle_catalogs,
)
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

REQUIRED = '[{"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "Asked"}}]'
RUNNING = RecordedBundle("a.v1", "r/a", "a", "1.0.0", properties=REQUIRED)
SNAPSHOT = ClusterSnapshot(
    operators=(OperatorRequest("one", "u", "", "a", running=RUNNING),),
    catalogs=(
        CatalogSource("d", content="sha256:2", message="not yet", package_names=("z", "a")),
        CatalogSource("c", state=CatalogState.UNREACHABLE, message="away", package_names=("b", "x")),
    ),
    facts=ClusterFacts(
        "1.34.0", (ClusterKind("g", "Asked", ("v1",)), ClusterKind("g", "Other", ("v1",))), ("/v1/Pod",)
    ),
    taken_names=(("x", "Operator x"), ("b", "Operator y"), ("a", "Operator z")),
)


def part(snapshot: ClusterSnapshot = SNAPSHOT) -> ComponentPart:
    index = CatalogIndex(ParsedDocuments())
    index.update(snapshot.catalogs, DocumentsInMemory(), snapshot.operators)
    component = Component(frozenset({"a"}), frozenset({"a", "b"}))
    return PartMaker(snapshot, index).part_of(component, snapshot.operators)


def test_it_has_what_its_packages_ask_for_and_its_own_names() -> None:
    found = part()
    assert found.packages == ("a", "b")
    assert found.facts == ClusterFacts("", (ClusterKind("g", "Asked", ("v1",)),), ())
    assert found.taken_names == (("a", "Operator z"), ("b", "Operator y"))
    assert [(each.name, each.message, each.content) for each in found.catalogs] == [
        ("c", "away", ""),
        ("d", "", "sha256:2"),
    ]


def test_all_names_count_while_one_may_have_to_be_suggested() -> None:
    assert [each.package_names for each in part().catalogs] == [("b", "x"), ("z", "a")]


def test_a_list_of_packages_counts_as_far_as_it_concerns_its_own() -> None:
    """So that an edit of the list changes the answers of the packages that it adds or withdraws, and no others."""
    documents = DocumentsInMemory()
    content = documents.add({name: {"package": name, "bundles": [], "channels": []} for name in "abz"})

    def found(*names: str) -> ComponentPart:
        listing = CatalogSource("c", content=content, package_names=names, selected_packages=names)
        every = CatalogSource("d", content=content, package_names=("a", "b", "z"))
        index = CatalogIndex(ParsedDocuments())
        snapshot = replace(SNAPSHOT, catalogs=(listing, every))
        index.update(snapshot.catalogs, documents, snapshot.operators)
        component = Component(frozenset({"a"}), frozenset({"a", "b"}))
        return PartMaker(snapshot, index).part_of(component, snapshot.operators)

    assert [each[:2] for each in found("a", "z").documents] == [("c", "a"), ("d", "a"), ("d", "b")]
    assert digest_of(found("a")) == digest_of(found("a", "z"))
    assert digest_of(found("a")) != digest_of(found("a", "b")) != digest_of(found("z"))


def test_what_a_list_leaves_out_counts_for_refusals_alone() -> None:
    """Of the packages of the component, and of those that provide a kind that they require."""
    documents = DocumentsInMemory()
    kind = {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "Asked"}}

    def found(other: str, *listed: str) -> ComponentPart:
        bundles = [{"name": other, "version": "1.0.0", "image": "i", "properties": [kind]}]
        blank: dict[str, Any] = {"bundles": [], "channels": []}
        contents = {name: {"package": name, **blank} for name in "abz"} | {"p": {"package": "p", "bundles": bundles}}
        source = CatalogSource("c", content=documents.add(contents), selected_packages=listed)
        index = CatalogIndex(ParsedDocuments())
        snapshot = replace(SNAPSHOT, catalogs=(source,))
        index.update(snapshot.catalogs, documents, snapshot.operators)
        component = Component(frozenset({"a"}), frozenset({"a", "b"}))
        return PartMaker(snapshot, index).part_of(component, snapshot.operators)

    assert [each[:2] for each in found("p.v1", "a").withheld] == [("c", "b"), ("c", "p")]
    assert found("p.v1", "a", "b", "p").withheld == ()
    assert digest_of(found("p.v1", "a")) != digest_of(found("p.v2", "a"))
    first, second = (without_idle_catalogs(found(name, "a", "b")) for name in ("p.v1", "p.v2"))
    assert digest_of(first) == digest_of(second)


def test_of_content_that_is_not_known_the_status_names_what_the_list_leaves_out() -> None:
    away = replace(SNAPSHOT.catalogs[1], package_names=("x",), selected_packages=("x",), withheld_names=("b", "y"))
    found = part(replace(SNAPSHOT, catalogs=(away,)))
    assert found.withheld == (("c", "b", ""),)
    assert [each.withheld_names for each in found.catalogs] == [()]


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        pytest.param({"taken_names": SNAPSHOT.taken_names[1:]}, True, id="a name of another component"),
        pytest.param({"taken_names": SNAPSHOT.taken_names[:2]}, False, id="a name of its own"),
        pytest.param(
            {"facts": replace(SNAPSHOT.facts, kube_version="1.35.0")}, True, id="a version that none requires"
        ),
        pytest.param(
            {"facts": replace(SNAPSHOT.facts, custom_kinds=SNAPSHOT.facts.custom_kinds[1:])},
            False,
            id="a kind it requires",
        ),
        pytest.param(
            {"facts": replace(SNAPSHOT.facts, custom_kinds=SNAPSHOT.facts.custom_kinds[:1])},
            True,
            id="a kind of others",
        ),
        pytest.param({"facts": replace(SNAPSHOT.facts, native_kinds=None)}, False, id="native kinds are not known"),
        pytest.param(
            {"catalogs": (replace(SNAPSHOT.catalogs[0], content="sha256:3"), SNAPSHOT.catalogs[1])},
            True,
            id="content with the same documents of its packages",
        ),
        pytest.param(
            {"catalogs": (SNAPSHOT.catalogs[0], replace(SNAPSHOT.catalogs[1], message="still away"))},
            False,
            id="why a catalog is away",
        ),
        pytest.param({"catalogs": SNAPSHOT.catalogs[::-1]}, True, id="the order of catalogs"),
        pytest.param(
            {"operators": (replace(SNAPSHOT.operators[0], channels=("stable",)),)},
            False,
            id="the request of an Operator",
        ),
    ],
)
def test_its_digest_changes_with_what_it_depends_on(changed: dict[str, object], is_same: bool) -> None:
    other = ClusterSnapshot(**(vars(SNAPSHOT) | changed))
    assert (digest_of(part(other)) == digest_of(part())) is is_same


def test_texts_that_utf8_cannot_hold_have_a_digest() -> None:
    requests = [replace(SNAPSHOT.operators[0], version=text) for text in ("\ud800", "\udfff")]
    digests = {digest_of(part(replace(SNAPSHOT, operators=(each,)))) for each in requests}
    assert len(digests) == 2
