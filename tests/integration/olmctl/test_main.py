"""`python -m olmkit.fbc` as a process: whatever ends it, it ends with a status and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

BLOB = '{"schema":"olm.package","name":"%s"}\n'


def start(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "olmkit.fbc", *arguments]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE)


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    (tmp_path / "catalog.json").write_text("".join(BLOB % f"p{number}" for number in range(5000)))
    return str(tmp_path)


COMMANDS = [
    pytest.param(("render",), id="render"),
    pytest.param(("graph", "--package", "p1"), id="graph"),
    pytest.param(("validate", "-o", "json"), id="validate"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(catalog: str, command: Sequence[str]) -> None:
    with open("/dev/full", "wb") as full:
        ran = start(*command, catalog, stdout=full.fileno())
        _, err = ran.communicate()
    assert (ran.returncode, err) == (1, b"No space left on device\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_went_away(catalog: str, command: Sequence[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = start(*command, catalog, stdout=writing)
    os.close(writing)
    _, err = ran.communicate()
    assert (ran.returncode, err) == (1, b"")


def test_an_interrupt(catalog: str) -> None:
    """While it is blocked: nobody reads what it prints."""
    ran = start("render", catalog)
    assert ran.stdout is not None
    ran.stdout.read(1)
    ran.send_signal(signal.SIGINT)
    ran.stdout.close()
    _, err = ran.communicate()
    assert (ran.returncode in (1, 130), err) == (True, b"")


def test_a_file_that_may_not_be_read(catalog: str) -> None:
    os.symlink("/proc/self/mem", Path(catalog) / "x.json")
    ran = start("render", catalog)
    out, err = ran.communicate()
    assert (ran.returncode, out) == (1, b"")
    assert err == f'render "{catalog}": x.json: is a link that leads outside the catalog\n'.encode()
