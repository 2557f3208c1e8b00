"""Generated files: those of the repository are up to date, and what differs is reported, or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.generated import main, write_or_check


def test_the_committed_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["--check"]), capsys.readouterr().err) == (0, "")


def test_files_that_differ_are_reported_by_the_check_and_then_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "generated"
    files = {directory / "a.yaml": "a\n", directory / "b.yaml": "b\n", tmp_path / "page.md": "c\n"}
    directory.mkdir()
    (directory / "a.yaml").write_text("a\n")
    (directory / "b.yaml").write_text("old\n")
    (directory / "stale.yaml").write_text("old\n")
    (tmp_path / "other.yaml").write_text("not generated\n")
    assert write_or_check(files, directory, is_check=True) == 1
    reported = [line.partition(" ")[0] for line in capsys.readouterr().err.splitlines()]
    assert reported == [str(path) for path in (directory / "b.yaml", tmp_path / "page.md", directory / "stale.yaml")]
    assert ((directory / "b.yaml").read_text(), (tmp_path / "page.md").exists()) == ("old\n", False)
    assert write_or_check(files, directory, is_check=False) == 0
    assert {path: path.read_text() for path in files} == files
    assert sorted(path.name for path in tmp_path.rglob("*.yaml")) == ["a.yaml", "b.yaml", "other.yaml"]
    assert write_or_check(files, directory, is_check=True) == 0
