"""Rows of the solver: the best solution of generated universes, after one package changed, and why a version is not selected.

The universes are in memory, without documents, version ranges or upgrade edges. Times are of the CPU, in C of the CPU.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from operator_controller.resolve.explain.conflict import ConflictFinder
from operator_controller.resolve.solver.optimum import Optimizer, Solution, solve
from operator_controller.resolve.solver.solver_problem import Goal
from tests.bench.figures import Figure
from tests.bench.machine import reference_time
from tests.bench.universes import TableUniverse, random_goal, random_table, random_versions

SIZES = ((100, 20, 20), (300, 30, 40), (1_000, 50, 100))
"""Packages, versions of each, and packages that are asked for."""
COUNTS = (0, 1, 2, 3)
"""The number of requirements of a version is one of these."""
SEEDS = range(3)
RUNS = 5
AIMS = {1_000: ("0.25 C", "0.05 C")}


def rows() -> Iterator[Figure]:
    """Each figure is the median over the seeds of the best of several runs."""
    reference = reference_time(1, time.process_time)
    for packages, versions, asked in SIZES:
        colds, changes, conflicts, facts = [], [], [], []
        for seed in SEEDS:
            table = random_table(packages, versions, COUNTS, 1, seed)
            goal = random_goal(table, asked, seed)
            universe = TableUniverse(table)
            colds.append(_best(partial(solve, universe, goal)))
            solution = solve(universe, goal)
            changes.append(_one_package_changed(universe, goal, solution, versions, seed))
            conflicts.append(_one_conflict(universe, goal, solution))
            facts.append(f"{len(solution.selected)} selected, {solution.statistics.calls} calls")
        work = f"solve {packages} packages x {versions} versions, {asked} asked for"
        cold_aim, change_aim = AIMS.get(packages, ("", ""))
        yield Figure(work, f"{median(colds) / reference:.3f} C ({facts[0]})", cold_aim)
        yield Figure(f"{work}: one package changed", f"{median(changes) / reference:.3f} C", change_aim)
        yield Figure(f"{work}: why not a greater version", f"{median(conflicts) / reference:.4f} C")


def _one_package_changed(universe: TableUniverse, goal: Goal, solution: Solution, versions: int, seed: int) -> float:
    """Another selected package changes before each run; each is solved after the one before."""
    generator, names = random.Random(seed), sorted(universe.table)
    optimizer = Optimizer()
    optimizer.solve(universe, goal)
    times = []
    for package in generator.sample(sorted(solution.selected), RUNS):
        changed = random_versions(package, names, versions, COUNTS, 1, generator)
        universe = TableUniverse({**universe.table, package: changed})
        times.append(_seconds(partial(optimizer.solve, universe, goal)))
    return median(times)


def _one_conflict(universe: TableUniverse, goal: Goal, solution: Solution) -> float:
    """Of a package that is asked for and does not have its greatest version; else of another one."""
    wanted = [asked.package for asked in goal.asked] + list(solution.selected)
    package = next(one for one in wanted if solution.selected[one] < universe.size(one) - 1)
    return _best(lambda: ConflictFinder(universe, goal, solution).find(package))


def _best(work: Callable[[], object]) -> float:
    return min(_seconds(work) for _ in range(RUNS))


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
