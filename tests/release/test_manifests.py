"""install.yaml and crds.yaml on a real API server."""

from __future__ import annotations

from pathlib import Path

from devcluster.cluster import Cluster
from release.manifests import CRDS_FILE, INSTALL_FILE

SENT_EACH_TIME = "poddisruptionbudget.policy/catalogd configured"
"""kubectl replaces the selector of a PodDisruptionBudget in each client-side apply; the object stays as it is."""


def test_a_second_client_side_apply_changes_nothing(directory: Path, bare_cluster: Cluster) -> None:
    files = (f"--filename={directory / CRDS_FILE}", f"--filename={directory / INSTALL_FILE}")
    try:
        bare_cluster.kubectl("apply", *files)
        bare_cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", files[0])
        lines = bare_cluster.kubectl("apply", *files).splitlines()
        assert {line for line in lines if not line.endswith(" unchanged")} == {SENT_EACH_TIME}
    finally:
        bare_cluster.kubectl("delete", *files, "--ignore-not-found")
