"""The files and blobs of a directory: which files are read, their order, and errors that name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmctl.authoring.directory import discover, read_directory
from olmkit.fbc.errors import BadCatalog


def test_blobs_come_in_walk_order_from_files_of_both_forms(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/catalog.json").write_text('{"schema":"s","name":"2"}{"schema":"s","name":"3"}')
    (tmp_path / "a.yaml").write_text("schema: s\nname: '1'\n")
    (tmp_path / "c.txt").write_text("---\nschema: s\nname: '4'\n")
    assert [blob.name for blob in read_directory(tmp_path)] == ["1", "2", "3", "4"]


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
def test_an_error_names_the_file_and_the_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a.yaml").write_text(text)
    with pytest.raises(BadCatalog, match=f"^{fault}"):
        list(read_directory(tmp_path))


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(BadCatalog, match="the catalog is a file, not a directory"):
        list(read_directory(tmp_path / "a"))


def test_a_root_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCatalog, match="there is no such directory"):
        list(read_directory(tmp_path / "a"))


def make(root: Path, *paths: str) -> None:
    """Empty files."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


@pytest.mark.parametrize(
    ("paths", "ignores", "expected"),
    [
        pytest.param(["b", "a", "c/d"], {}, ["a", "b", "c/d"], id="every file, whatever its name, in order"),
        pytest.param(["a.b", "a/c", "a-b/c"], {}, ["a/c", "a-b/c", "a.b"], id="a directory comes where its name does"),
        pytest.param(["B", "a", "é"], {}, ["B", "a", "é"], id="order is that of bytes"),
        pytest.param(["a", ".hidden/b"], {}, [".hidden/b", "a"], id="hidden files are included"),
        pytest.param(["a.json", "README.md"], {".": "README.md\n"}, ["a.json"], id="a pattern"),
        pytest.param(
            ["x/a.json", "x/y/b.md", "c.md"],
            {".": "*.md"},
            ["x/a.json"],
            id="a pattern without a slash also applies to directories below",
        ),
        pytest.param(["a", "x/a"], {".": "/a"}, ["x/a"], id="an anchored pattern applies to its directory only"),
        pytest.param(["really/a/f", "really/f", "f"], {".": "/really/**/f"}, ["f"], id="two stars"),
        pytest.param(
            ["a.json", "b.yaml", "c.md", "x.clusterserviceversion.yaml"],
            {".": "*\n!*.json\n!*.yaml\n*.clusterserviceversion.yaml"},
            ["a.json", "b.yaml"],
            id="the idiom",
        ),
        pytest.param(
            ["dir/a", "dir/b"],
            {".": "dir\n", "dir": "!a\n"},
            ["dir/a"],
            id="an ignored directory includes a file again",
        ),
        pytest.param(["dir/a", "a"], {".": "a", "dir": "!a"}, ["dir/a"], id="deeper patterns win"),
        pytest.param(
            ["dir/a", "dir/b"], {".": "!a", "dir": "a"}, ["dir/b"], id="deeper patterns win when they exclude too"
        ),
        pytest.param(["a", "b"], {".": "a\n!a\n"}, ["a", "b"], id="later patterns win"),
        pytest.param(
            ["a", "#b"], {".": "  a  \n\n  # note\n"}, ["#b"], id="lines are trimmed, blanks and notes skipped"
        ),
        pytest.param(["dir/a", "b"], {".": "dir/"}, ["b"], id="a pattern for directories"),
        pytest.param(["a", "b"], {".": "a\r\nb\r\n!a\r\n"}, ["a"], id="lines may end in CR LF"),
        pytest.param(["a", "b"], {".": "[\n!\n/\na\n"}, ["b"], id="a line that is no pattern matches nothing"),
        pytest.param(
            ["a", "b"], {".": ".indexignore\n!.indexignore\n"}, ["a", "b"], id="an ignore file is no catalog file"
        ),
        pytest.param(["x/y/a", "x/a"], {"x": "/a"}, ["x/y/a"], id="an anchor is the directory of the ignore file"),
        pytest.param(["x/a", "a"], {"x": "a"}, ["a"], id="patterns apply to their directory only"),
        pytest.param(
            ["x/y/z/a", "x/y/z/b"],
            {".": "*", "x/y": "!z/a"},
            ["x/y/z/a"],
            id="a pattern with a slash, two directories down",
        ),
        pytest.param(
            ["x/y/a"], {".": "x\n", "x": "!y\n", "x/y": "a\n"}, [], id="of three ignore files the deepest wins"
        ),
        pytest.param(
            ["x/y/a"], {".": "x\n", "x": "!y\n", "x/y": "b\n"}, ["x/y/a"], id="unless it has no pattern for the file"
        ),
        pytest.param(
            ["a.json", "a.txt", "b?", "bc"], {".": "*.txt\nb[?]\n"}, ["a.json", "bc"], id="wildcards and classes"
        ),
        pytest.param(["a b", "c"], {".": "a b"}, ["c"], id="a space within a name"),
        pytest.param(["\\#a", "#a", "b"], {".": "\\#a"}, ["\\#a", "b"], id="an escaped hash"),
        pytest.param(
            ["a", "x/.indexignore/b"], {}, ["a", "x/.indexignore/b"], id="a directory of that name is a directory"
        ),
    ],
)
def test_discovery(tmp_path: Path, paths: list[str], ignores: dict[str, str], expected: list[str]) -> None:
    make(tmp_path, *paths)
    for directory, text in ignores.items():
        (tmp_path / directory / ".indexignore").write_text(text)
    assert list(discover(tmp_path)) == expected


def test_a_link_to_a_file_of_the_catalog_is_a_file(tmp_path: Path) -> None:
    make(tmp_path, "a/b")
    (tmp_path / "c").symlink_to("a/b")
    (tmp_path / "d").symlink_to("a")
    (tmp_path / "e").symlink_to("nowhere")
    assert list(discover(tmp_path)) == ["a/b", "c"]


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(BadCatalog, match=r"^a: cannot be read: Too many levels of symbolic links$"):
        list(discover(tmp_path))


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "catalog"
    make(root, "a")
    (tmp_path / "secret").touch()
    (root / "b").symlink_to("../secret")
    with pytest.raises(BadCatalog, match=r"^b: is a link that leads outside the catalog$"):
        list(discover(root))


def test_an_ignore_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    make(tmp_path, "x/a")
    (tmp_path / "x/.indexignore").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(BadCatalog, match=r"^x/\.indexignore: is larger than 64 KiB$"):
        list(discover(tmp_path))
