"""Properties of the resolution of any Operators over any catalogs, whatever bundles require and whatever runs."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.answers.answer import AnswerKind
from operator_controller.resolve.answers.component_solver import SolverMemory, solve_components
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.examples import example_count
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

PACKAGES = ["a", "b", "c", "d"]
VERSIONS = ["1.0.0", "2.0.0", "3.0.0"]

kinds = st.sampled_from([{"group": "g", "version": "v1", "kind": kind} for kind in ("K", "L")])
ranges = st.sampled_from([">=1.0.0", "1.0.0", "<3.0.0", ">=2.0.0", "9.9.9"])
required = st.builds(
    lambda package, text: {"packageName": package, "versionRange": text}, st.sampled_from(PACKAGES), ranges
)
simple = st.one_of(kinds.map(lambda kind: {"gvk": kind}), required.map(lambda value: {"package": value}))
constraints = st.one_of(
    simple,
    st.builds(
        lambda word, children: {word: {"constraints": children}},
        st.sampled_from(["all", "any", "not"]),
        st.lists(simple, min_size=1, max_size=2),
    ),
    st.just({"cel": {"rule": 'properties.exists(p, p.type == "olm.gvk")'}}),
    st.just({"junk": 1}),
)
properties = st.lists(
    st.one_of(
        kinds.map(lambda value: {"type": "olm.gvk", "value": value}),
        kinds.map(lambda value: {"type": "olm.gvk.required", "value": value}),
        required.map(lambda value: {"type": "olm.package.required", "value": value}),
        constraints.map(lambda value: {"type": "olm.constraint", "value": value}),
    ),
    max_size=2,
)


@st.composite
def documents_of(draw: st.DrawFn) -> dict[str, Any]:
    packages = draw(st.lists(st.sampled_from(PACKAGES), unique=True))
    return {package: draw(document_of(package)) for package in packages}


@st.composite
def document_of(draw: st.DrawFn, package: str) -> dict[str, Any]:
    names = [f"{package}.v{version}" for version in VERSIONS]
    entries = [
        {
            "name": name,
            "replaces": draw(st.sampled_from(["", *names])),
            "skipRange": draw(st.sampled_from(["", "<3.0.0"])),
        }
        for name in draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    ]
    bundles = [
        {"name": name, "version": version, "image": f"r/{name}", "properties": draw(properties)}
        for name, version in zip(names, VERSIONS, strict=True)
    ]
    channels = [{"name": "stable", "entries": entries}]
    return {"package": package, "defaultChannel": "stable", "channels": channels, "bundles": bundles}


@st.composite
def recorded(draw: st.DrawFn, package: str) -> RecordedBundle:
    version = draw(st.sampled_from(VERSIONS))
    text = draw(st.one_of(properties.map(json.dumps), st.just("junk")))
    catalog = draw(st.sampled_from(["x", "y", "gone"]))
    return RecordedBundle(f"{package}.v{version}", f"r/{package}.v{version}", package, version, catalog, "stable", text)


@st.composite
def operators(draw: st.DrawFn) -> tuple[OperatorRequest, ...]:
    found = []
    for package in draw(st.lists(st.sampled_from(PACKAGES), unique=True, min_size=1)):
        running = draw(st.one_of(st.none(), recorded(package)))
        flags = draw(
            st.sampled_from(["", "", "", "is_manual", "is_paused", "is_deleting", "is_dependency", "is_unresolvable"])
        )
        found.append(
            OperatorRequest(
                package, f"uid-{package}", draw(st.sampled_from(["1", "2"])), package,
                version=draw(st.sampled_from(["", "", "1.0.0", ">=2.0.0"])),
                running=running,
                installing=draw(st.one_of(st.none(), recorded(package))) if running else None,
                is_manual=flags == "is_manual",
                is_paused=flags == "is_paused",
                is_deleting=flags == "is_deleting",
                is_dependency=flags == "is_dependency",
                is_resolvable=flags != "is_unresolvable",
            )
        )  # fmt: skip
    return tuple(found)


@settings(max_examples=example_count(150), deadline=None)
@given(operators(), documents_of(), documents_of(), st.sampled_from(list(CatalogState)), st.booleans())
def test_anything_is_answered_and_what_runs_stays(
    requests: tuple[OperatorRequest, ...],
    x: dict[str, Any],
    y: dict[str, Any],
    state: CatalogState,
    cluster_has_kind: bool,
) -> None:
    documents = DocumentsInMemory()
    sources = CatalogSource("x", content=documents.add(x)), CatalogSource("y", state=state, content=documents.add(y))
    facts = ClusterFacts("1.34.4", (ClusterKind("g", "K", ("v1",)),) if cluster_has_kind else ())
    snapshot = ClusterSnapshot(requests, sources, facts)
    answers = solve_components(snapshot, documents)
    assert [each.operator for each in answers] == sorted(each.name for each in requests if each.is_resolvable)
    backwards = ClusterSnapshot(requests[::-1], sources[::-1], facts)
    assert solve_components(backwards, documents) == answers
    memory = SolverMemory()
    before = ClusterSnapshot(requests, (sources[0], CatalogSource("y", content=documents.add({}))), ClusterFacts())
    solve_components(before, documents, memory)
    assert solve_components(snapshot, documents, memory) == answers
    for answer in answers:
        assert answer.message
        assert len(answer.text.encode()) <= MAX_EXPLANATION_BYTES
        assert (answer.bundle is not None) is (answer.kind is AnswerKind.CHOSEN)
        assert answer.is_resolved is (answer.kind in (AnswerKind.CHOSEN, AnswerKind.KEPT))
    end_state = {member.package: member for each in answers for member in each.members}
    for request in requests:
        if request.running is not None and request.is_resolvable:
            assert request.package in end_state
        if request.running is not None and (request.is_deleting or not request.is_resolvable) and answers:
            member = end_state.get(request.package)
            assert member is None or not member.is_changed
