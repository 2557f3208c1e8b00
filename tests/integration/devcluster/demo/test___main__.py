"""The demo after its steps: controllers that end are started again."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from devcluster.demo.__main__ import keep_running
from devcluster.demo.printer import Printer
from devcluster.errors import DevclusterError
from devcluster.services import Services


def test_a_controller_that_has_ended_is_started_again_and_named(tmp_path: Path) -> None:
    said = io.StringIO()
    with Services(tmp_path) as services:

        def start(name: str) -> None:
            services.launch(name, sys.executable, ["-c", "import signal; signal.pause()"])

        for name in ("rukpak", "catalogd"):
            start(name)
        keep_running(services, ("rukpak", "catalogd"), start, Printer(said))
        assert said.getvalue() == ""
        services.kill("rukpak")
        keep_running(services, ("rukpak", "catalogd"), start, Printer(said))
        (line,) = said.getvalue().splitlines()
        assert f"rukpak has ended with exit code -9, and is started again: see {tmp_path / 'rukpak.log'}" in line
        assert services.is_running("rukpak")


def test_one_that_does_not_start_is_named_and_the_others_are_started(tmp_path: Path) -> None:
    started: list[str] = []
    said = io.StringIO()
    with Services(tmp_path) as services:

        def start(name: str) -> None:
            started.append(name)
            services.launch(name, sys.executable, ["-c", "pass"])
            raise DevclusterError(f"{name} ended with exit code 0. Its log ends:\nmany\nlines")

        for name in ("rukpak", "catalogd"):
            services.launch(name, sys.executable, ["-c", "pass"])
            services.kill(name)
        keep_running(services, ("rukpak", "catalogd"), start, Printer(said))
    assert started == ["rukpak", "catalogd"]
    assert "rukpak ended with exit code 0. Its log ends:" in said.getvalue()
    assert "lines" not in said.getvalue()
