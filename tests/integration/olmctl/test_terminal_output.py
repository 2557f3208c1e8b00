"""What is printed on terminals: the line of progress, and colours."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from olmctl.main import main
from olmctl.terminal_output import ProgressLine, coloured


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        pytest.param(20, "operator: installin…", id="cut to the width of the terminal"),
        pytest.param(0, "operator: installing 1.0.0", id="whole on a terminal without a size"),
    ],
)
def test_the_line_of_progress_on_a_terminal(columns: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.openpty()
    try:
        fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns + bool(columns), 0, 0))
        with os.fdopen(writing, "w") as terminal:
            monkeypatch.setattr(sys, "stderr", terminal)
            ProgressLine().show("operator: installing 1.0.0")
            monkeypatch.undo()
            printed = os.read(reading, 1000).decode()
    finally:
        os.close(reading)
    assert printed == f"\r\x1b[K{shown}"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({}, "\x1b[32mReady\x1b[0m", id="a terminal"),
        pytest.param({"NO_COLOR": "1"}, "Ready", id="$NO_COLOR is set"),
        pytest.param({"TERM": "dumb"}, "Ready", id="a terminal without colours"),
    ],
)
def test_colours_on_a_terminal(environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    reading, writing = os.openpty()
    try:
        with os.fdopen(writing, "w") as terminal, monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", terminal)
            assert coloured("Ready", "green") == expected
    finally:
        os.close(reading)


def test_no_colours_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with open(os.devnull, "w") as file, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", file)
        assert coloured("Ready", "green") == "Ready"


def test_a_document_cannot_control_the_terminal_and_is_not_changed_elsewhere(tmp_path: Path) -> None:
    """C1 controls and marks of writing direction of a catalog are shown as escapes; a pipe gets the bytes."""
    text = "a\u009b31m\u202eb\u200f größe"
    blob = {"schema": "olm.package", "name": "p", "defaultChannel": "c", "description": text}
    (tmp_path / "catalog.json").write_text(json.dumps(blob))
    command = [sys.executable, "-m", "olmctl", "catalog", "render", str(tmp_path), "-o", "json"]
    piped = subprocess.run(command, capture_output=True, check=True).stdout
    assert text.encode() in piped
    reading, writing = os.openpty()
    try:
        subprocess.run(command, stdout=writing, stderr=writing, check=True)
        printed = os.read(reading, 10_000).decode()
    finally:
        os.close(writing)
        os.close(reading)
    assert r"a\u009b31m\u202eb\u200f größe" in printed
    assert json.loads(printed) == blob


HOSTILE = "\x1b]52;c;YQ==\x07\x1b[2J\u202e"


@pytest.mark.parametrize(
    "command",
    [
        ["bundle", "render", "b"],
        ["bundle", "validate", "b", "--select-optional", "suite=operatorframework"],
        ["bundle", "validate", HOSTILE],
        ["bundle", "build", "b", "-o", f"{HOSTILE}/b.tar"],
        ["bundle", "build", HOSTILE],
        ["bundle", "scorecard", "b"],
        ["bundle", "scorecard", "b", "-c", HOSTILE],
        ["bundle", "scorecard", "b", "-l", HOSTILE],
        ["bundle", "generate", "--input-dir", "b", "--package", "p", "--version", "1.0.0"],
        ["bundle", "generate", "--package", HOSTILE, "--input-dir", "b"],
        ["bundle", "init", "--package", HOSTILE],
        ["bundle", "push", "b", HOSTILE],
        ["catalog", "add", "b", "--image", f"a@sha256:{'0' * 64}"],
        ["catalog", "add", HOSTILE],
        ["catalog", "validate", "b"],
        ["catalog", "render", "b"],
        ["catalog", "render-template", HOSTILE],
        ["catalog", "graph", "b", "--package", HOSTILE],
        ["catalog", "build", "b"],
        ["resolve", HOSTILE],
    ],
    ids=" ".join,
)
def test_names_and_texts_never_control_what_shows_them(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAMPLES / "bundles" / "hello-operator" / "0.1.0", "b")
    Path("b", "manifests", f"{HOSTILE}red.yaml").write_text(f'kind: "{HOSTILE.encode("unicode_escape").decode()}"\n')
    with contextlib.suppress(SystemExit):
        main(command)
    out, err = capsys.readouterr()
    assert out + err
    assert [each for each in out + err if not (each.isprintable() or each in "\n\t")] == []


@pytest.mark.parametrize("command", [["bundle", "render"], ["catalog", "render"]], ids=" ".join)
@pytest.mark.parametrize("link", ["manifests/a.yaml", "metadata"])
def test_a_link_out_of_a_bundle_is_refused_by_name(command: list[str], link: str, tmp_path: Path) -> None:
    outside, bundle = tmp_path / "outside", tmp_path / "bundle"
    for directory in (outside, bundle / "manifests", bundle / "metadata"):
        directory.mkdir(parents=True)
    (outside / "annotations.yaml").write_text("secret: hunter2")
    if link == "metadata":
        (bundle / link).rmdir()
    (bundle / link).symlink_to(outside if link == "metadata" else outside / "annotations.yaml")
    ended = subprocess.run(
        [sys.executable, "-m", "olmctl", *command, str(bundle)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"{link}: is a link that leads outside the bundle" in ended.stderr
    assert "hunter2" not in ended.stderr
