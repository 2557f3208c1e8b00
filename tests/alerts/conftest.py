"""promtool for the tests of the rules and of the dashboard, and the three controllers on the session's cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running_suite import suite, suite_arguments

__all__ = ["suite", "suite_arguments"]

Promtool = Callable[..., str]


@pytest.fixture(scope="session")
def promtool(promtool_program: Path) -> Promtool:
    """Runs promtool and returns what it prints. Fails with its output if it does not succeed."""

    def run(*arguments: str) -> str:
        done = subprocess.run([promtool_program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
