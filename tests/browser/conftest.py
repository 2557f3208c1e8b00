"""A console, and Chromium at it; the packages have the clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.login import AuthMode
from devcluster.cluster import Cluster
from tests.chromium import Chromium, chromium_program, started
from tests.console import Browser, running_console

__all__ = ["chromium_program"]


@pytest.fixture
async def console(cluster: Cluster) -> AsyncIterator[Browser]:
    """A console that `olm console` would start."""
    async with running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG) as found:
        yield found


@pytest.fixture
async def chromium(console: Browser, chromium_program: Path) -> AsyncIterator[Chromium]:
    """Chromium at the console."""
    async with started(chromium_program, console) as running:
        yield running
