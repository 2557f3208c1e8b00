"""A cluster without the suite, on which `olm suite` installs and removes it. kwok makes its pods Ready; nothing is executed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from olmctl.main import main
from olmctl.suite.label_guard import guard_of
from olmctl.suite.manifests import SYSTEM_NAMESPACE, load_manifests
from olmctl.suite.running import NO_LEADER
from rukpak.admission.label_policy import policy_objects
from rukpak.admission.probe import CONFIGURATION
from tests.leaders import leaders

Olm = Callable[..., tuple[int, str, str]]
INSTALL = ("suite", "install", "--image", load_manifests().image)
"""The command that installs the suite where it is not installed."""
UNGUARDED = f"warning: {guard_of([], []).problem}\n"
"""The words of `olm suite status` about a cluster on which rukpak has not applied its policy."""


@pytest.fixture(scope="package")
def bare_cluster(cluster_programs: object) -> Iterator[Cluster]:
    """The cluster of this directory's tests. Each test leaves it without the suite, or installs over what it finds."""
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
    """Whether `olm suite status` finds nothing wrong but that no controller leads, and that no rukpak guards its labels: kwok
    executes none."""
    status, _, err = olm("suite", "status")
    err = err.replace(UNGUARDED, "")
    lines = {f"Deployment {each['metadata']['name']}: {NO_LEADER}" for each in load_manifests().deployments}
    return (status, set(err.splitlines())) == (1, lines)


def guard_labels(cluster: Cluster) -> None:
    """Apply the policy of labels as rukpak does it."""
    found = json.loads(cluster.kubectl("get", "validatingwebhookconfiguration", CONFIGURATION, "-o", "json"))
    name = f"system:serviceaccount:{SYSTEM_NAMESPACE}:rukpak"
    for _, body in policy_objects(name, found["metadata"]["uid"], CONFIGURATION):
        arguments = ("apply", "--server-side", "--field-manager=rukpak", "-f", "-")
        cluster.kubectl(*arguments, input=json.dumps(body))
