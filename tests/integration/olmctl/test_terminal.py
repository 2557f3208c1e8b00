"""The line of progress on terminals."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios

import pytest

from olmctl.terminal import ProgressLine


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
