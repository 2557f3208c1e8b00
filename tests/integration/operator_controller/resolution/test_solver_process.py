"""Components that exceed the limits of the solver process: a real process, real contents on disk, very low limits."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.worker import Worker
from olmkit.store.store import Store
from operator_controller.catalog_cache.content_store import IDENTITY, write_content
from operator_controller.resolution import solver_process
from operator_controller.resolution.solve_request import SOLVE
from operator_controller.resolution.solver_process import NumberedSnapshot, Solution, SolverProcess
from operator_controller.resolve.answers.answer import Answer, AnswerKind
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, OperatorRequest, RecordedBundle
from tests.bundle_properties import package_required
from tests.integration.operator_controller.catalog_cache.test_client import FIRST, SECOND, document, lines, with_digest

SHORT = Limits(cpu_seconds=1)
SMALL = Limits(memory_bytes=128 * 1024 * 1024)
OUT_OF_MEMORY = "(?:it needs more memory than one job may use|the process of the job crashed \\(SIGSEGV\\))"
"""The reason depends on which library runs out of memory."""
THIRD = "sha256:" + "3" * 64
REFUSED = (
    "the resolution of {} was ended: {}; nothing changes, and it is not repeated until a catalog or an Operator changes that it "
    "depends on; choose a version or a channel to leave fewer choices, or select fewer catalogs"
)


def slow_package(package: str) -> dict[str, Any]:
    """A package whose bundles have rules that take seconds of CPU time to be compiled, and that concern one other package."""
    rule = "properties.exists(p, " + "||".join(["1<2"] * 330) + ")"
    other = {"package": {"packageName": "other", "versionRange": ">=1.0.0"}}

    def properties(number: int) -> list[Any]:
        constraints = [other, {"cel": {"rule": f"{rule} || {number} == 1"}}]
        return [{"type": "olm.constraint", "value": {"all": {"constraints": constraints}}}]

    return bundles_of(package, 2_800, properties)


def slow_packages(package: str) -> list[dict[str, Any]]:
    """That package alone."""
    return [slow_package(package)]


def bundles_of(package: str, count: int, properties: Any = lambda number: []) -> dict[str, Any]:
    names = [f"{package}.v1.0.{number}" for number in range(count)]
    return {
        "package": package,
        "defaultChannel": "a",
        "channels": [{"name": "a", "entries": [{"name": name} for name in names]}],
        "bundles": [
            {"name": name, "image": f"r/{name}", "version": f"1.0.{number}", "properties": properties(number)}
            for number, name in enumerate(names)
        ],
    }


def large_packages(package: str) -> list[dict[str, Any]]:
    """A package that requires others, each of which takes little memory; all together take more than a process may use."""
    others = [f"{package}-{number}" for number in range(14)]
    required = [package_required(other) for other in others]
    large = [bundles_of(other, 800, lambda n: [{"type": f"t{n}", "value": "x" * 10_000}]) for other in others]
    return [bundles_of(package, 1, lambda _: required), *large]


class Process:
    """A SolverProcess with contents of catalogs, and Snapshots with a number that grows."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = 0
        self._catalogs: dict[str, CatalogSource] = {}
        self.operators: dict[str, OperatorRequest] = {}
        self.limit(SHORT)

    def limit(self, limits: Limits) -> None:
        """Begin with another worker."""
        sandbox = Sandbox(reads=(self._directory,), network=False)
        self.worker = Worker(ForkServerClient([SOLVE.module], sandbox), limits=limits)
        self.solver = SolverProcess(self.worker, self._directory)

    def add_catalog(self, name: str, digest: str, *documents: Mapping[str, Any], priority: int = 0) -> None:
        """Write the content to disk as the catalog client does."""
        with Store(self._directory).publish(digest) as target:
            (target / "received").write_bytes(lines(with_digest(digest, dict(each)) for each in documents))
            write_content(target / "received", IDENTITY, digest, target)
        self._catalogs[name] = CatalogSource(name, priority, content=digest)

    def add_operator(self, package: str, **fields: Any) -> None:
        self.operators[package] = OperatorRequest(package, f"uid-{package}", "", package, **fields)

    async def answers(self) -> Mapping[str, Answer]:
        """The answers to the present Snapshot."""
        return (await self.solution()).answers

    async def solution(self) -> Solution:
        """The present Snapshot, solved."""
        self._number += 1
        catalogs = tuple(self._catalogs.values())
        snapshot = NumberedSnapshot(self._number, dict(self.operators), catalogs, ClusterFacts())
        return await self.solver.solve(snapshot)


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[Process]:
    found = Process(tmp_path)
    yield found
    await found.worker.close()


@pytest.mark.parametrize(
    ("hostile", "limits", "reason"),
    [
        pytest.param(slow_packages, SHORT, "it needs more than 1 s of CPU time", id="too much time"),
        pytest.param(large_packages, SMALL, OUT_OF_MEMORY, id="too much memory"),
    ],
)
async def test_a_component_that_exceeds_a_limit_is_refused_alone(
    process: Process, hostile: Callable[[str], list[dict[str, Any]]], limits: Limits, reason: str
) -> None:
    process.add_catalog("c", FIRST, *hostile("hostile"), document(FIRST), document(FIRST, package="z"))
    for package in ("p", "hostile", "z"):
        process.add_operator(package)
    process.limit(limits)
    answers = await process.answers()
    assert {name: answer.kind for name, answer in answers.items()} == {
        "p": AnswerKind.CHOSEN,
        "hostile": AnswerKind.UNDECIDED,
        "z": AnswerKind.CHOSEN,
    }
    refused = answers["hostile"]
    assert refused.message == refused.text
    assert re.fullmatch(re.escape(REFUSED.format("package hostile", "REASON")).replace("REASON", reason), refused.text)
    assert (refused.is_resolved, refused.is_final, refused.bundle) == (False, True, None)


async def test_it_is_solved_again_only_when_what_it_depends_on_changes(process: Process) -> None:
    process.add_catalog("c", FIRST, slow_package("hostile"), document(FIRST))
    process.add_operator("hostile")
    before = (await process.answers())["hostile"]
    started = process.worker.started
    process.add_operator("p")
    answers = await process.answers()
    assert answers["p"].is_resolved
    assert answers["hostile"] == before
    process.solver.stop()  # another process is given the reason as well
    process.add_catalog("c", THIRD, slow_package("hostile"), document(THIRD), document(THIRD, package="z"))
    process.add_operator("z")
    answers = await process.answers()
    assert answers["z"].is_resolved
    assert answers["hostile"] == before
    assert process.worker.started == started + 1
    process.add_catalog("c", SECOND, document(SECOND, package="hostile"), document(SECOND))
    assert (await process.answers())["hostile"].kind is AnswerKind.CHOSEN


async def test_what_runs_stays_and_can_be_deleted(process: Process) -> None:
    requirement = [package_required("hostile")]
    process.add_catalog("c", FIRST, slow_package("hostile"))
    runs = RecordedBundle("hostile.v1.0.0", "r/hostile.v1.0.0", "hostile", "1.0.0", "c", "a", "[]")
    needing = replace(runs, name="n", image="r/n", package="n", properties=orjson.dumps(requirement).decode())
    process.add_operator("hostile", running=runs, is_deleting=True)
    process.add_operator("n", running=needing)
    answers = await process.answers()
    assert (answers["hostile"].kind, answers["hostile"].needed_by) == (AnswerKind.DELETING, ("n",))
    assert answers["n"].kind is AnswerKind.UNDECIDED
    assert "packages hostile and n was ended" in answers["n"].message


async def test_components_that_take_too_much_memory_together_are_all_solved(process: Process) -> None:
    process.limit(SMALL)
    packages = large_packages("large")[1:]
    process.add_catalog("c", FIRST, *packages)
    for each in packages:
        process.add_operator(each["package"])
    answers = await process.answers()
    assert {answer.kind for answer in answers.values()} == {AnswerKind.CHOSEN}
    assert len(answers) == len(packages)
    assert process.worker.started > 1


async def test_a_component_whose_process_was_stopped_is_solved_again_later(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine may have been the cause."""
    process.limit(Limits(timeout=timedelta(seconds=3)))
    process.add_catalog("c", FIRST, slow_package("hostile"), document(FIRST))
    for package in ("p", "hostile"):
        process.add_operator(package)
    assert timedelta(hours=1) == solver_process.RETRY_DELAY
    monkeypatch.setattr(solver_process, "RETRY_DELAY", timedelta())
    solution = await process.solution()
    assert solution.answers["p"].is_resolved
    assert "it took longer than 3 s" in solution.answers["hostile"].message
    assert solution.retry_after == timedelta()
    started = process.worker.started
    assert (await process.answers())["p"].is_resolved
    assert process.worker.started > started
