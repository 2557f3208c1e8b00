"""Fixtures of integration tests: a small disk, and an image registry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.disk import small_disk
from tests.servers.local_registry import LocalRegistry, run_registry


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB; skips if mounts are not permitted."""
    with small_disk(tmp_path / "disk") as directory:
        yield directory


@pytest.fixture(scope="session")
def local_registry(tmp_path_factory: pytest.TempPathFactory, cluster_programs: Path) -> Iterator[LocalRegistry]:
    """An image registry for the whole session. Tests use repository names of their own in it."""
    with run_registry(tmp_path_factory.mktemp("registry"), cluster_programs) as running:
        yield running
