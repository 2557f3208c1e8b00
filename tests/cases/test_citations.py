"""Every rule that code, tests and pages cite is there: sections and rules of docs/formats.md, docs/traps.md, docs/decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import REPOSITORY

DIRECTORIES = ("olmkit", "catalogd", "rukpak", "operator_controller", "olmctl", "devcluster", "tests", "config", "docs")
SUFFIXES = (".py", ".md", ".yaml")
FORMATS = (REPOSITORY / "docs" / "formats.md").read_text()
TRAPS = (REPOSITORY / "docs" / "traps.md").read_text()

_NUMBER = r"(?:\d+(?:\.\d+)*|A\d+|B)\b"
_FORMATS = re.compile(rf"\bformats ({_NUMBER}(?:(?:, | to | and |; rules? |, rules? ){_NUMBER})*)")
_RULE = re.compile(r"\bA\d+\b")
_TRAPS = re.compile(r"\btraps? (\d+(?:(?:, | to | and )\d+)*)")
_DECISION = re.compile(r"\bdecisions/(\d{4})\b|\bdecision (\d+)\b")
_HEADING = re.compile(r"^#+ (\d+(?:\.\d+)*)\.? ", re.MULTILINE)
_ROW = re.compile(r"^\| (A\d+|B) \|", re.MULTILINE)


def files() -> Iterator[Path]:
    """The pages at the root and the files of the directories, without this one, which is full of examples."""
    yield from REPOSITORY.glob("*.md")
    for directory in DIRECTORIES:
        for path in (REPOSITORY / directory).rglob("*"):
            if path.suffix in SUFFIXES and path.is_file() and path != Path(__file__).resolve():
                yield path


def cited(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """(file, number) of all citations that the pattern finds; a citation may name several."""
    found = []
    for path in files():
        for match in pattern.findall(" ".join(path.read_text().split())):
            text = match if isinstance(match, str) else "".join(match)
            found += [(path.relative_to(REPOSITORY).as_posix(), number) for number in re.findall(_NUMBER, text)]
    return found


@pytest.mark.parametrize(
    ("pattern", "known"),
    [
        pytest.param(_FORMATS, {*_HEADING.findall(FORMATS), *_ROW.findall(FORMATS)}, id="formats"),
        pytest.param(_TRAPS, set(_HEADING.findall(TRAPS)), id="traps"),
    ],
)
def test_what_is_cited_has_a_heading(pattern: re.Pattern[str], known: set[str]) -> None:
    citations = cited(pattern)
    assert citations
    assert [(path, number) for path, number in citations if number not in known] == []


def test_the_rules_of_the_checks_are_in_the_table() -> None:
    rules = set(_ROW.findall(FORMATS))
    checks = [
        *(REPOSITORY / "olmkit" / "fbc").rglob("*.py"),
        *(REPOSITORY / "tests" / "unit" / "olmkit" / "fbc").rglob("*.py"),
    ]
    named = {(path.name, rule) for path in checks for rule in _RULE.findall(path.read_text())}
    assert len(named) > len(rules)
    assert sorted(rule for rule in named if rule[1] not in rules) == []


def test_the_decisions_that_are_cited_are_there() -> None:
    there = {page.name[:4] for page in (REPOSITORY / "docs" / "decisions").glob("*.md")}
    citations = cited(_DECISION)
    assert citations
    assert [(path, number) for path, number in citations if number.zfill(4) not in there] == []


@pytest.mark.parametrize("page", ["formats.md", "traps.md"])
def test_numbers_are_used_once(page: str) -> None:
    numbers = _HEADING.findall((REPOSITORY / "docs" / page).read_text())
    assert len(numbers) == len(set(numbers)) > 15


def test_every_section_about_a_format_has_its_source() -> None:
    sections = re.split(r"^### ", FORMATS, flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections if "\nSource: " not in section] == []


def test_no_page_outside_the_repository_is_cited() -> None:
    pages = re.compile(r"\b(?:olmv1|ux|solver|style|DESIGN)\.md\b")
    assert [path.relative_to(REPOSITORY).as_posix() for path in files() if pages.search(path.read_text())] == []
