"""`olm bundle generate` over given inputs: the files, their bytes and the exit status are those of operator-sdk.

Left out are the time and the name of the program. A second run writes nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from olmctl.main import main
from tests.corpus.project.intended_differences import CSV, INTENDED

pytestmark = pytest.mark.corpus
_STAMP = re.compile(r"(?:operator-sdk|olm-suite)-v\S+|(?<=createdAt: )\"[^\"]+\"")
State = dict[str, str]


def texts(directory: Path) -> State:
    """The text of each file, without what names the program or the time."""
    paths = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): _STAMP.sub("STAMP", path.read_text()) for path in paths}


def generate(arguments: list[str], stdin: Path) -> int:
    """Run the command with this file as standard input."""
    before = sys.stdin
    with stdin.open() as sys.stdin:
        try:
            return main(["bundle", "generate", *arguments])
        finally:
            sys.stdin = before


def differing(case: Path, directory: Path) -> set[str]:
    """The files that differ from upstream's. Checks the exit status, and that a second run writes nothing."""
    command = json.loads((case / "cmd.json").read_text())
    shutil.copytree(case / "in", directory)
    os.chdir(directory)
    stdin = directory / command["stdin"] if command["stdin"] else Path(os.devnull)
    given = texts(directory)
    status = generate(command["args"], stdin)
    # operator-sdk ends wrong usage with 1 too, olm with 2.
    assert status in ((1, 2) if command["exit"] or command.get("better_exit") else (0,)), case.name
    found = texts(directory)
    changed = {name: text for name, text in found.items() if given.get(name) != text}
    if not command["exit"]:
        times = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
        assert generate(command["args"], stdin) == 0
        assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == times, case.name
    expected = texts(case / "out") if (case / "out").is_dir() else {}
    return {name for name in expected.keys() | changed.keys() if expected.get(name) != changed.get(name)}


def test_the_files_are_those_of_upstream_but_for_the_intended_differences(
    verdicts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = sorted((verdicts / "generate").iterdir())
    found = {case.name: differing(case, tmp_path / case.name) for case in cases}
    assert {name: files for name, files in found.items() if files} == {
        name: {*files} for name, files in INTENDED.items()
    }
    assert len(found) > 10


def test_the_intended_difference_is_what_its_reason_says(
    verdicts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case = verdicts / "generate" / "21-base-with-more-fields"
    differing(case, tmp_path / "21")
    kept = "  relatedImages:\n  - image: registry.example.com/lost:1\n    name: lost\n"
    assert (tmp_path / "21" / CSV).read_text().count(kept) == 1
    assert texts(tmp_path / "21")[CSV].replace(kept, "") == texts(case / "out")[CSV]
