"""What is printed on terminals: the line of progress, and colours."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios

import pytest

from olmctl.terminal import ProgressLine, coloured


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
