"""Runs promtool. Called by the tests of rules and dashboard."""

from __future__ import annotations

import subprocess

from devcluster.optional_programs import optional_program


def promtool(*arguments: str) -> str:
    """What it prints. Fails with its output if it does not succeed."""
    done = subprocess.run([optional_program("promtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
