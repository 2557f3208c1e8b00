"""`olm catalog graph`. The drawing is tested in tests/unit/olmctl/authoring/test_graph_drawing.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olmctl.main import main
from tests.usage import error_of

BLOBS: list[dict[str, Any]] = [
    {"schema": "olm.package", "name": "p", "defaultChannel": "a"},
    {"schema": "olm.channel", "name": "a", "package": "p", "entries": [{"name": "p.v1"}]},
    {"schema": "olm.channel", "name": "b", "package": "p", "entries": [{"name": "p.v1"}]},
    {"schema": "olm.bundle", "name": "p.v1", "package": "p", "image": "i"},
    {"schema": "olm.bundle", "name": "q.v1", "package": "q", "image": 5},
    {"schema": "my.own", "name": "x"},
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "catalog.json").write_text("\n".join(json.dumps(each) for each in BLOBS))
    return tmp_path


def test_all_channels_for_mermaid(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "graph", str(directory), "--package", "p"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("flowchart LR\n")
    assert ("a (default)" in out, '"b"' in out) == (True, True)


def test_one_channel(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "graph", str(directory), "--package", "p", "--channel", "b", "--output", "mermaid"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("flowchart LR\n")
    assert ("default" in out, '"b"' in out) == (False, True)


def test_text_for_people_never_controls_a_terminal(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "x.json").write_text(json.dumps({**BLOBS[1], "name": "\x1b[31m\u202e"}))
    assert main(["catalog", "graph", str(directory), "--package", "p", "-o", "text"]) == 0
    assert capsys.readouterr().out == (
        "p\n  \ufffd[31m\ufffd\n    p.v1 (head)\n  a (default)\n    p.v1 (head)\n  b\n    p.v1 (head)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--package", "P"], 'has no package "P": it has "p", "q"', id="another package"),
        pytest.param(
            ["--package", "p", "--channel", "x"],
            'package "p" has no channel "x": it has "a", "b"',
            id="another channel",
        ),
        pytest.param(["--package", "q", "--channel", "x"], "parse bundle: json: cannot unmarshal", id="no bundle"),
    ],
)
def test_what_is_not_there(
    arguments: list[str], words: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "graph", str(directory), *arguments]) == 1
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True)


def test_a_file_that_cannot_be_read(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "x.json").write_text("[]")
    assert main(["catalog", "graph", str(directory), "--package", "p"]) == 1
    assert capsys.readouterr().err.startswith("x.json: line 1: ")


def test_no_directory(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "graph", str(directory / "x"), "--package", "p"]) == 2
    error = error_of(capsys.readouterr().err)
    assert error.startswith(f"{directory / 'x'}: there is no such directory: give the directory of a catalog")
    assert main(["catalog", "graph", str(directory / "catalog.json"), "--package", "p"]) == 2
    assert error_of(capsys.readouterr().err).startswith(f"{directory / 'catalog.json'}: is a file: give the directory")


@pytest.mark.parametrize("arguments", [[], ["--package", "p", "-o", "dot"]])
def test_wrong_use(arguments: list[str], directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["catalog", "graph", str(directory), *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""
