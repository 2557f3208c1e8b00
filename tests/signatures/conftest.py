"""cosign, and a registry on which it signs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import local_registry
from tests.signatures.cosign import Cosign

__all__ = ["local_registry"]


@pytest.fixture
def cosign(cosign_program: Path, tmp_path: Path) -> Cosign:
    directory = tmp_path / "cosign"
    directory.mkdir()
    return Cosign(cosign_program, directory)
