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
def directory(tmp_path: Path) -> Path:
    return tmp_path / "repositories"


@pytest.fixture
def repository(directory: Path) -> Repository:
    return Repository(directory / "team" / "x.git")


@pytest_asyncio.fixture
async def server(directory: Path) -> AsyncIterator[GitServer]:
    async with GitServer(directory) as running:
        yield running


@pytest.fixture
def url(server: GitServer) -> str:
    return f"{server.url}/team/x.git"
