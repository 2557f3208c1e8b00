"""A cluster without the suite, on which `olm suite` installs and removes it. kwok makes its pods Ready; nothing is executed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from olmctl.main import main
from olmctl.suite.manifests import load_manifests
from olmctl.suite.running import NO_LEADER
from tests.leaders import leaders

Olm = Callable[..., tuple[int, str, str]]
INSTALL = ("suite", "install", "--image", load_manifests().image)
"""The command that installs the suite where it is not installed."""


@pytest.fixture(scope="package")
def bare_cluster(cluster_programs: object) -> Iterator[Cluster]:
    """The cluster of this folder's tests. Each test leaves it without the suite, or installs over what it finds."""
    with start(ClusterOptions(f"suite-{os.getpid()}"), print) as running:
        yield running


@pytest.fixture
def olm(bare_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Olm:
    """Runs `olm` and returns its exit status, stdout and stderr. While the suite is installed, its controllers have leaders."""

    def run(*arguments: str, has_leaders: bool = True) -> tuple[int, str, str]:
        capsys.readouterr()
        is_led = has_leaders and arguments[:2] == INSTALL[:2]
        with leaders(bare_cluster, are_awaited=False) if is_led else nullcontext():
            status = main([*arguments, "--kubeconfig", str(bare_cluster.kubeconfig)])
        return status, *capsys.readouterr()

    return run


def is_installed(olm: Olm) -> bool:
    """Whether `olm suite status` finds nothing wrong but that no controller leads: kwok executes none."""
    status, _, err = olm("suite", "status")
    lines = {f"Deployment {each['metadata']['name']}: {NO_LEADER}" for each in load_manifests().deployments}
    return (status, set(err.splitlines())) == (1, lines)
