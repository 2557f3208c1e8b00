"""A cluster without the suite, on which `olm suite` installs and removes it. kwok makes its pods Ready; nothing is executed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from olmctl.main import main
from olmctl.suite.manifests import load_manifests

Olm = Callable[..., tuple[int, str, str]]
INSTALL = ("suite", "install", "--image", load_manifests().image)
"""The command that installs the suite where it is not installed."""


@pytest.fixture(scope="session")
def bare_cluster(cluster_programs: object) -> Iterator[Cluster]:
    """The cluster. Each test leaves it without the suite, or installs over what it finds."""
    with start(ClusterOptions(f"suite-{os.getpid()}"), print) as running:
        yield running


@pytest.fixture
def olm(bare_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Olm:
    """Runs `olm` and returns its exit status, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([*arguments, "--kubeconfig", str(bare_cluster.kubeconfig)])
        return status, *capsys.readouterr()

    return run
