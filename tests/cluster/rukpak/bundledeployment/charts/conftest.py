"""Runs rukpak with helm for the tests of charts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api import bundledeployments
from olmkit.api.provisioner_classes import HELM
from tests.chart_files import chart_files
from tests.cluster.rukpak.harness import Harness, Object
from tests.cluster.rukpak.shared_process import SharedRukpak


@pytest.fixture(scope="package")
def shared_helm(
    definitions: Cluster, helm_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedRukpak]:
    """rukpak with helm, for all tests of this directory."""
    directory = tmp_path_factory.mktemp("charts")
    flags = ("--helm", str(helm_program), "--allow-source-cidr", "127.0.0.0/8")
    with SharedRukpak(definitions, directory, *flags) as shared:
        yield shared


class Charts:
    """What the tests of charts do to the cluster, beside the harness `at`."""

    def __init__(self, at: Harness, process: SharedRukpak) -> None:
        self.at, self.process = at, process

    @property
    def namespace(self) -> str:
        """The install namespace."""
        return f"{self.at.name}-system"

    async def install(
        self, chart: str | Mapping[str, bytes], values: Any = None, *, directory: str = "", **config: Any
    ) -> Object:
        """Ask for a chart of tests/charts, or for one of these files, with values."""
        files = chart_files(chart) if isinstance(chart, str) else chart
        placed = {f"{directory}/{path}" if directory else path: data for path, data in files.items()}
        body = self.at.body(self.at.push(placed), provisioner=HELM)
        config = {**config, **({"values": values} if values is not None else {})}
        body["spec"] |= {"provisionerClassName": HELM, **({"config": config} if config else {})}
        return await self.at.client.apply(bundledeployments.KIND, body, "test")

    async def restart(self) -> None:
        """Start another process of rukpak, which has nothing in memory."""
        await asyncio.to_thread(self.process.stop)
        await asyncio.to_thread(self.process.ensure)


@pytest.fixture
async def charts(at: Harness, shared_helm: SharedRukpak, request: pytest.FixtureRequest) -> AsyncIterator[Charts]:
    """rukpak with helm runs during the test."""
    await asyncio.to_thread(shared_helm.ensure)
    yield Charts(at, shared_helm)
    assert shared_helm.is_running("rukpak"), shared_helm.log_tail("rukpak")
    request.node.add_report_section("call", "log of rukpak", shared_helm.log_tail("rukpak"))
