"""The real catalogs: those that opm accepts are accepted, those that it refuses are refused with its messages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from olmctl.authoring.catalog_validation import validate

pytestmark = pytest.mark.corpus
_LINE = re.compile(r"((?:│   |    )*)(?:├── |└── )?(.*)")


def test_every_valid_package_is_accepted(corpus: Path) -> None:
    refused = {package.name: validate(package) for package in sorted((corpus / "catalog").iterdir())}
    assert {name: failure for name, failure in refused.items() if failure} == {}
    assert len(refused) > 0


def test_all_valid_packages_together_are_accepted(corpus: Path) -> None:
    assert validate(corpus / "catalog") is None


def branches(text: str) -> list[tuple[str, ...]]:
    """Each line of a tree with its parent lines, sorted: opm writes siblings in any order."""
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
    """The directory of catalogs that opm refuses."""
    directory = corpus / "invalid"
    if not (directory / "verdicts.jsonl").is_file():
        pytest.skip("this corpus has no catalogs that opm refuses")
    return directory


def test_every_invalid_catalog_is_refused_with_the_messages_of_opm(invalid: Path) -> None:
    opm_results = [json.loads(line) for line in (invalid / "verdicts.jsonl").read_text().splitlines()]
    assert {opm_result["package"] for opm_result in opm_results} == {
        path.name for path in invalid.iterdir() if path.is_dir()
    }
    for opm_result in opm_results:
        failure = validate(invalid / opm_result["package"])
        assert (failure is None) == opm_result["passed"], opm_result["package"]
        assert branches(failure.opm_message if failure else "") == branches(opm_result.get("error", "")), opm_result[
            "package"
        ]
