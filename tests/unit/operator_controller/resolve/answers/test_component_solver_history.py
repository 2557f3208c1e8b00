"""The answers to a Snapshot are the same in a new process and in one that has solved any others before."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.answers.component_solver import SolverMemory, solve_components
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.bench.universe_documents import package_document
from tests.bench.universes import Table, random_goal, random_table, random_versions
from tests.examples import example_count
from tests.unit.operator_controller.resolve.answers.test_component_solver_properties import documents_of, operators
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

PACKAGES, VERSIONS, ASKED, CHANGES = 12, 6, 6, 4
COUNTS = (0, 1, 2, 3)


def assert_same_as_in_a_new_process(snapshots: Sequence[ClusterSnapshot], documents: DocumentsInMemory) -> None:
    memory = SolverMemory()
    for snapshot in snapshots:
        assert solve_components(snapshot, documents, memory) == solve_components(snapshot, documents)


@settings(max_examples=example_count(40), deadline=None)
@given(
    st.lists(
        st.tuples(operators(), documents_of(), documents_of(), st.sampled_from(list(CatalogState)), st.integers(0, 1)),
        min_size=2,
        max_size=4,
    ),
)
def test_of_any_snapshots(
    sequence: list[tuple[tuple[OperatorRequest, ...], dict[str, Any], dict[str, Any], CatalogState, int]],
) -> None:
    documents = DocumentsInMemory()
    kind = ClusterKind("g", "K", ("v1",))
    snapshots = [
        ClusterSnapshot(
            requests,
            (
                CatalogSource("x", content=documents.add(x)),
                CatalogSource("y", priority=priority, state=state, content=documents.add(y)),
            ),
            ClusterFacts("1.34.4", (kind,) if priority else ()),
        )
        for requests, x, y, state, priority in sequence
    ]
    assert_same_as_in_a_new_process(snapshots, documents)


@settings(max_examples=example_count(10), deadline=None)
@given(st.integers(0, 1_000_000))
def test_of_a_catalog_that_changes_and_operators_that_come_and_go(seed: int) -> None:
    generator = random.Random(seed)
    table, documents = random_table(PACKAGES, VERSIONS, COUNTS, 1, seed), DocumentsInMemory()
    requests = [
        OperatorRequest(each.package, f"uid-{each.package}", f"{place:02}", each.package)
        for place, each in enumerate(random_goal(table, ASKED, seed).asked)
    ]
    snapshots = []
    for _ in range(CHANGES):
        changed = generator.choice(sorted(table))
        table = {**table, changed: random_versions(changed, sorted(table), VERSIONS, COUNTS, 1, generator)}
        place = generator.randrange(ASKED)
        requests[place] = replace(requests[place], version=generator.choice(["", ">=1.2.0", "1.3.0"]))
        here = tuple(generator.sample(requests, generator.randint(ASKED - 2, ASKED)))
        snapshots.append(ClusterSnapshot(here, (_source(table, documents),), ClusterFacts("1.34.4")))
    assert_same_as_in_a_new_process(snapshots, documents)


def _source(table: Table, documents: DocumentsInMemory) -> CatalogSource:
    content = {package: package_document(package, versions) for package, versions in table.items()}
    return CatalogSource("x", content=documents.add(content))
