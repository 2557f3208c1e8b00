"""The real catalogs: those that opm accepts are accepted, those that it refuses are refused in its words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from olmkit.fbc.validate import validate

pytestmark = pytest.mark.corpus
_LINE = re.compile(r"((?:│   |    )*)(?:├── |└── )?(.*)")


def test_every_valid_package_is_accepted(corpus: Path) -> None:
    refused = {package.name: validate(package) for package in sorted((corpus / "catalog").iterdir())}
    assert {name: refusal for name, refusal in refused.items() if refusal} == {}
    assert len(refused) > 0


def test_all_of_them_together_are_accepted(corpus: Path) -> None:
    assert validate(corpus / "catalog") is None


def ways(text: str) -> list[tuple[str, ...]]:
    """Each line of a tree with the lines above it, sorted: opm writes equals in any order."""
    found: list[tuple[str, ...]] = []
    way: tuple[str, ...] = ()
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        assert match is not None
        depth = len(match[1]) // 4 + (line != match[2] and line != match[1] + match[2])
        way = (*way[:depth], match[2])
        found.append(way)
    return sorted(found)


@pytest.fixture(scope="module")
def invalid(corpus: Path) -> Path:
    """The folder of catalogs that opm refuses."""
    folder = corpus / "invalid"
    if not (folder / "verdicts.jsonl").is_file():
        pytest.skip("this corpus has no catalogs that opm refuses")
    return folder


def test_every_refused_catalog_is_refused_in_opms_words(invalid: Path) -> None:
    verdicts = [json.loads(line) for line in (invalid / "verdicts.jsonl").read_text().splitlines()]
    assert {verdict["package"] for verdict in verdicts} == {path.name for path in invalid.iterdir() if path.is_dir()}
    for verdict in verdicts:
        refusal = validate(invalid / verdict["package"])
        assert (refusal is None) == verdict["passed"], verdict["package"]
        assert ways(refusal.opm_message if refusal else "") == ways(verdict.get("error", "")), verdict["package"]
