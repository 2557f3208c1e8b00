"""What tests on files, processes and sockets share: a small disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.disk import small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB; skips where nothing may be mounted."""
    with small_disk(tmp_path / "disk") as folder:
        yield folder
