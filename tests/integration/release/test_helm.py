"""The program helm as the image gets it."""

from __future__ import annotations

import os
from pathlib import Path

from devcluster.optional_programs import HELM
from release import helm


def test_the_program_comes_with_its_licence_and_its_modules(helm_program: Path, tmp_path: Path) -> None:
    helm.fill(tmp_path, print)
    assert (tmp_path / helm.PROGRAM).read_bytes() == helm_program.read_bytes()
    assert os.access(tmp_path / helm.PROGRAM, os.X_OK)
    assert "Apache License" in (tmp_path / helm.LICENSE).read_text()
    modules = helm.modules(tmp_path / helm.PROGRAM)
    assert modules[helm.MODULE] == HELM.version
    assert "github.com/Masterminds/sprig/v3" in modules
