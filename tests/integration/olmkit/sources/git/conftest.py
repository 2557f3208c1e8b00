"""A git server with a repository."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.integration.olmkit.sources.harness import SourceHarness
from tests.servers.git_http_server import GitServer, Repository


@pytest.fixture
def harness(tmp_path: Path) -> SourceHarness:
    return SourceHarness(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "repositories"


@pytest.fixture
def repository(folder: Path) -> Repository:
    return Repository(folder / "team" / "x.git")


@pytest_asyncio.fixture
async def server(folder: Path) -> AsyncIterator[GitServer]:
    async with GitServer(folder) as running:
        yield running


@pytest.fixture
def url(server: GitServer) -> str:
    return f"{server.url}/team/x.git"
