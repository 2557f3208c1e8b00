"""Rows of resolution with reading the documents: the universes of solve_rows.py as the content of a catalog on disk.

All Operators form one component. Times are of the CPU of a process like the solver process, in C of the CPU in the same minute;
they contain the answers and their encoding for the pipe. Memory is that of the process after everything is read.
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from devcluster.processes import process_tree_memory
from olmkit.jobs.codec import to_json
from operator_controller.catalog_cache.stored_documents import ContentDocuments
from operator_controller.resolution.solve_request import SolveResult
from operator_controller.resolve.answers.answer import Answer
from operator_controller.resolve.answers.component_solver import SolverMemory, solve_components
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from tests.bench.figures import Figure
from tests.bench.machine import MIB, reference_time
from tests.bench.universe_documents import CATALOG, write_table
from tests.bench.universes import Table, random_goal, random_table, random_versions

PACKAGES, VERSIONS, ASKED = 1_000, 50, 100
COUNTS = (0, 1, 2, 3)
SEED = 0
RUNS = 3
CHANGES = 5


@dataclass(frozen=True)
class Load:
    """Seconds, the median of some runs; bytes."""

    cold: float
    in_memory: float
    one_changed: float
    unchanged: float
    memory: int
    memory_before: int
    resolved: int
    reference: float


def rows() -> Iterator[Figure]:
    """With nothing in memory, with everything, and after one package that is selected has changed."""
    with tempfile.TemporaryDirectory() as directory:
        table = random_table(PACKAGES, VERSIONS, COUNTS, 1, SEED)
        asked = [each.package for each in random_goal(table, ASKED, SEED).asked]
        digests = [write_table(each, Path(directory), number) for number, each in enumerate(_changing(table, asked))]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            load = pool.apply(measure, (Path(directory), digests, asked))
    work = f"resolve {PACKAGES} packages x {VERSIONS} versions, {ASKED} Operators ({load.resolved} resolved)"
    yield Figure(f"{work}, with reading the documents", f"{load.cold / load.reference:.2f} C", "0.6 C")
    yield Figure(f"{work}, documents in memory", f"{load.in_memory / load.reference:.2f} C", "0.25 C")
    yield Figure(f"{work}: one package changed", f"{load.one_changed / load.reference:.2f} C", "0.05 C")
    yield Figure(f"{work}: nothing changed", f"{load.unchanged / load.reference:.3f} C")
    before, after = load.memory_before // MIB, load.memory // MIB
    yield Figure(f"{work}: memory of the process before and after", f"{before} and {after} MiB")


def _changing(table: Table, asked: list[str]) -> Iterator[Table]:
    """The table, then the same after one package that is asked for has changed, and so on."""
    yield table
    generator, names = random.Random(SEED), sorted(table)
    for package in generator.sample(asked, CHANGES):
        table = {**table, package: random_versions(package, names, VERSIONS, COUNTS, 1, generator)}
        yield table


def measure(directory: Path, digests: list[str], asked: list[str]) -> Load:
    """Run in a process of its own."""
    reference = reference_time(1, time.process_time)
    process = _Process(directory, asked)
    before = process_tree_memory(multiprocessing.current_process().pid or 0)
    gc.disable()  # as the solver process does
    cold = process.seconds(digests[0])
    in_memory = [process.seconds(digests[0], is_forgotten=True) for _ in range(RUNS)]
    memory = process_tree_memory(multiprocessing.current_process().pid or 0)
    unchanged = process.seconds(digests[0])
    resolved = sum(each.is_resolved for each in process.answers.values())
    changed = [process.seconds(digest) for digest in digests[1:]]
    return Load(cold, median(in_memory), median(changed), unchanged, memory, before, resolved, reference)


class _Process:
    """What the solver process keeps."""

    def __init__(self, directory: Path, asked: list[str]) -> None:
        self._documents, self._memory = ContentDocuments(directory), SolverMemory()
        created = (f"2026-01-01T{place // 60:02}:{place % 60:02}:00Z" for place in range(len(asked)))
        self._operators = tuple(
            OperatorRequest(package, f"uid-{package}", at, package) for package, at in zip(asked, created, strict=True)
        )
        self.answers: dict[str, Answer] = {}

    def seconds(self, content: str, *, is_forgotten: bool = False) -> float:
        """The time of one solve. `is_forgotten`: as if none had been before it, apart from the documents."""
        if is_forgotten:
            self._memory.optimizers.clear()
            self._memory.answers.clear()
        started = time.process_time()
        source = CatalogSource(CATALOG, content=content)
        snapshot = ClusterSnapshot(self._operators, (source,), ClusterFacts("1.34.4", (), ()))
        answers = {each.operator: each for each in solve_components(snapshot, self._documents, self._memory)}
        changed = [each for name, each in answers.items() if self.answers.get(name) != each]
        members = {each.digest: each.members for each in changed}
        to_json(SolveResult(tuple(replace(each, members=()) for each in changed), members=tuple(members.items())))
        self.answers = answers
        self._documents.close_files()
        return time.process_time() - started
