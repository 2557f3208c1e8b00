"""rukpak as a process that the tests of a cluster share, one after the other: it starts once, and not for each of them."""

from __future__ import annotations

import sys
from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.processes import python_environment
from devcluster.services import Services, answers, free_address

NAME = "rukpak"


class SharedRukpak(Services):
    """The process, with the settings of tests.cluster.rukpak.harness; it runs from `ensure` until `stop`."""

    def __init__(self, cluster: Cluster, directory: Path, *arguments: str) -> None:
        """`arguments` are more flags. Starts nothing."""
        super().__init__(directory)
        self._cluster, self._more = cluster, arguments
        self._probes = free_address()

    def ensure(self) -> None:
        """Start it unless it runs; returns when it is ready. Raises DevclusterError if it has ended by itself."""
        if self.is_running(NAME):
            return
        arguments = ["-m", "rukpak", "--kubeconfig", str(self._cluster.kubeconfig), "--no-leader-elect"]
        arguments += [
            "--cache-dir",
            str(self.directory / "cache"),
            "--registries-conf",
            str(self._cluster.registries_conf),
        ]
        arguments += ["--metrics-bind-address", "0", "--webhook-bind-address", "0"]
        arguments += ["--health-probe-bind-address", self._probes, *self._more]
        self.launch(NAME, sys.executable, arguments, python_environment())
        self.until(NAME, "ready", lambda: answers(self._probes, "/readyz"))
