"""Resolution of all Operators of a cluster. Single cases are in tests/cases/resolution."""

from __future__ import annotations

from typing import Any

import orjson

from olmkit.jobs.codec import decode, encode
from operator_controller.resolve.answer import Answer, AnswerKind
from operator_controller.resolve.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)
from operator_controller.resolve.component_solver import SolverMemory, solve_components
from operator_controller.resolve.snapshot import CatalogState
from tests.unit.operator_controller.resolve.documents import DocumentsInMemory


def document(package: str, *versions: str, **bundle: Any) -> dict[str, Any]:
    """A package with a chain of versions in channel stable."""
    names = [f"{package}.v{version}" for version in versions]
    entries = [{"name": name, "replaces": before} for name, before in zip(names, ["", *names], strict=False)]
    bundles = [
        {"name": name, "version": version, "image": f"registry/{package}:{version}", **bundle}
        for name, version in zip(names, versions, strict=True)
    ]
    channels = [{"name": "stable", "entries": entries}]
    return {"package": package, "defaultChannel": "stable", "channels": channels, "bundles": bundles}


def operator(package: str, **changes: Any) -> OperatorRequest:
    fields = {
        "name": package,
        "uid": f"uid-{package}",
        "created": "2026-01-01T00:00:00Z",
        "package": package,
        **changes,
    }
    return OperatorRequest(**fields)


def snapshot(documents: DocumentsInMemory, *operators: OperatorRequest, **packages: Any) -> ClusterSnapshot:
    source = CatalogSource("community", content=documents.add(packages), package_names=tuple(packages))
    return ClusterSnapshot(operators, (source,))


def test_a_snapshot_with_every_field_crosses_a_pipe() -> None:
    running = RecordedBundle("a.v1", "r/a:1", "a", "1.0.0", "community", "stable", "[]")
    whole = ClusterSnapshot(
        (
            operator("a", running=running, installing=running, preferred_catalog="community", catalogs=("community",)),
            operator("b", version=">=1", channel="c", ignores_upgrade_edges=True, is_manual=True, approved_version="1"),
            operator("c", is_paused=True, is_dependency=True, is_deleting=True, is_resolvable=False),
        ),
        (CatalogSource("community", 3, CatalogState.CACHED, "sha256:1", "why", ("a", "b"), lists_all_packages=True),),
        ClusterFacts("1.34.4", (ClusterKind("g", "K", ("v1",)),), ("apps/v1/Deployment",)),
        is_ordered=True,
    )
    assert decode(ClusterSnapshot, orjson.loads(orjson.dumps(encode(whole)))) == whole


def test_an_answer_crosses_a_pipe() -> None:
    documents = DocumentsInMemory()
    answers = solve_components(snapshot(documents, operator("a"), a=document("a", "1.0.0", "1.1.0")), documents)
    assert decode(tuple[Answer, ...], orjson.loads(orjson.dumps(encode(answers)))) == answers


def test_each_operator_is_answered_in_the_order_of_names() -> None:
    documents = DocumentsInMemory()
    packages = {"b": document("b", "1.0.0"), "a": document("a", "2.0.0")}
    answers = solve_components(snapshot(documents, operator("b"), operator("a"), **packages), documents)
    assert [(each.operator, each.uid, each.bundle and each.bundle.version) for each in answers] == [
        ("a", "uid-a", "2.0.0"),
        ("b", "uid-b", "1.0.0"),
    ]


def test_what_is_not_to_be_resolved_gets_no_answer() -> None:
    documents = DocumentsInMemory()
    unknown = operator("b", is_resolvable=False)
    assert solve_components(snapshot(documents, unknown, b=document("b", "1.0.0")), documents) == ()


def test_a_document_is_parsed_once_for_many_solves() -> None:
    documents, memory = DocumentsInMemory(), SolverMemory()
    whole = snapshot(documents, operator("a"), a=document("a", "1.0.0"))
    first = solve_components(whole, documents, memory)
    assert solve_components(whole, documents, memory) == first
    assert documents.reads == ["a", "a"]  # to index it, and to parse it


def test_a_content_that_is_not_here_is_that_of_an_unreadable_catalog() -> None:
    documents = DocumentsInMemory()
    source = CatalogSource("community", content="sha256:gone", package_names=("a",))
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), documents)
    assert (answer.kind, answer.is_final) == (AnswerKind.NO_MATCHING_BUNDLE, False)
    assert 'catalog "community" has it, but cannot be read: content sha256:gone is not cached' in answer.text


def test_an_unreadable_catalog_that_lists_all_its_packages_lacks_the_others() -> None:
    documents = DocumentsInMemory()
    source = CatalogSource("c", state=CatalogState.UNREACHABLE, package_names=("b",), lists_all_packages=True)
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), documents)
    assert "its last content is used" in answer.text
