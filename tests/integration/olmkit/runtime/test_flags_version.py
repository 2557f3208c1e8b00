"""`--version` of the installed controllers. The one of `olm` is in tests/integration/olmctl/test_main.py."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from olmkit.runtime.flags import DISTRIBUTION


@pytest.mark.parametrize("program", ["catalogd", "rukpak", "operator-controller"])
def test_each_installed_controller_prints_the_version_of_the_suite(program: str) -> None:
    installed = Path(sys.executable).with_name(program)
    ran = subprocess.run([installed, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{program} {version(DISTRIBUTION)}\n"
