"""Valid: every renamed object is listed, and problems are quoted up to a maximum length."""

from __future__ import annotations

from typing import Any

from catalogd.catalog.decide import evaluate
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.report import report
from catalogd.catalog.world import Done, Keep, Plan
from tests.unit.catalogd.catalog.worlds import NOW, served, world


def valid_of(**changes: Any) -> str:
    """The message of Valid."""
    given = world(last_checked=NOW, **changes)
    conditions = report(given, evaluate(given), Done(Plan(Keep()))).status.conditions
    return next(each.message for each in conditions if each.type == "Valid")


def renamed(number: int, prefix: str = "A") -> Difference:
    return Difference(renamed=tuple((f"{prefix}{each:05}", f"c-a{each:05}-1234abcd") for each in range(number)))


def test_problems_with_long_names_are_quoted_up_to_a_maximum_length() -> None:
    problems = tuple("😀" * 400 for _ in range(12))
    message = valid_of(served=served(problem_count=40, problems=problems, notes=problems))
    assert len(message.encode()) < 10_000
    assert message.startswith("40 problems: 😀")
    assert "; and 30 more; 😀" in message
    assert message.endswith("…; and 2 more")


def test_every_package_whose_object_has_another_name_is_listed_before_the_problems() -> None:
    problems = tuple(f"problem {number}" for number in range(20))
    message = valid_of(
        served=served(problem_count=20, problems=problems, notes=("too large",) * 12), package_diff=renamed(400)
    )
    head, _, rest = message.partition("; 20 problems: problem 0; ")
    pairs = head.removeprefix("Packages whose objects have other names: ").split(", ")
    assert pairs == [f'"{package}" -> {name}' for package, name in renamed(400).renamed]
    assert rest.endswith("; and 2 more")


def test_packages_that_do_not_fit_into_a_message_are_counted() -> None:
    message = valid_of(served=served(problem_count=20, problems=("é" * 300,) * 20), package_diff=renamed(9_000))
    assert 32_000 < len(message.encode()) <= 32_768
    packages = message.partition("; 20 problems: ")[0]
    assert packages.endswith(f", and {9_000 - packages.count(' -> ')} more")
    assert message.endswith("; and 10 more")
