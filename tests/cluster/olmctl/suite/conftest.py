"""A cluster without the suite, on which `olm suite` installs and removes it. kwok makes its pods Ready; nothing is executed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from olmctl.commands import REFUSED
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


@dataclass
class Installation:
    """The state of the suite on the cluster, as far as tests know it: those that leave it as it is share one installation."""

    is_there: bool = False
    """It is installed, in any form."""
    is_unchanged: bool = False
    """It is as `olm suite install` installs it, and available."""

    def ran(self, arguments: tuple[str, ...], status: int) -> None:
        """Note what a command may have done. One that is refused changes nothing."""
        if status == REFUSED:
            return
        if arguments[:2] == INSTALL[:2] and "--dry-run" not in arguments and "--export" not in arguments:
            self.is_there, self.is_unchanged = self.is_there or status == 0, False
        elif arguments[:2] == ("suite", "uninstall") and "--yes" in arguments:
            self.is_there = self.is_unchanged = False


@pytest.fixture(scope="package")
def installation() -> Installation:
    """That of this directory's cluster."""
    return Installation()


@pytest.fixture
def olm(bare_cluster: Cluster, capsys: pytest.CaptureFixture[str], installation: Installation) -> Olm:
    """Runs `olm` and returns its exit status, stdout and stderr. While the suite is installed, its controllers have leaders."""

    def run(*arguments: str, has_leaders: bool = True) -> tuple[int, str, str]:
        capsys.readouterr()
        is_led = has_leaders and arguments[:2] == INSTALL[:2]
        with leaders(bare_cluster, are_awaited=False) if is_led else nullcontext():
            status = main([*arguments, "--kubeconfig", str(bare_cluster.kubeconfig)])
        installation.ran(arguments, status)
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def present(olm: Olm, installation: Installation) -> None:
    """The suite is installed, as a test before this one has left it."""
    if not installation.is_there:
        assert olm(*INSTALL, "--force")[0] == 0


@pytest.fixture
def installed(olm: Olm, installation: Installation) -> None:
    """The suite is installed, as the manifests have it. A test that changes it without `olm` changes it back."""
    if not installation.is_unchanged:
        assert olm(*INSTALL, "--force")[0] == 0
        installation.is_unchanged = True


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
