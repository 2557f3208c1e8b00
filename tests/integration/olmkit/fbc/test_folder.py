"""A folder to its blobs: walk order, and faults that name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.fbc.errors import BadCatalog
from olmkit.fbc.folder import read_folder


def test_blobs_come_in_walk_order_from_files_of_both_forms(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/catalog.json").write_text('{"schema":"s","name":"2"}{"schema":"s","name":"3"}')
    (tmp_path / "a.yaml").write_text("schema: s\nname: '1'\n")
    (tmp_path / "c.txt").write_text("---\nschema: s\nname: '4'\n")
    assert [blob.name for blob in read_folder(tmp_path)] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            "schema: s\n---\na: b: c\n", r"x/a\.yaml: line 3, column 5: mapping values are not allowed", id="YAML"
        ),
        pytest.param(
            '{"schema":"s"}\n{"name":"x"}\n', r"x/a\.yaml: line 2: object .* is missing root schema field", id="JSON"
        ),
        pytest.param(
            "# Read me\n", r"x/a\.yaml: line 1: object '' is missing root schema field", id="a text that is no catalog"
        ),
    ],
)
def test_a_fault_names_the_file_and_the_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a.yaml").write_text(text)
    with pytest.raises(BadCatalog, match=f"^{fault}"):
        list(read_folder(tmp_path))


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(BadCatalog, match="the catalog is a file, not a folder"):
        list(read_folder(tmp_path / "a"))
