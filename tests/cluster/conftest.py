"""Fixtures of cluster tests: the session's cluster with the CRDs of the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.api.crd import CRD_DEFINITIONS

CRD_FOLDER = Path(__file__).parents[2] / "config" / "crd"


@pytest.fixture(scope="session")
def definitions(cluster: Cluster) -> Cluster:
    """The cluster with the CRDs of the suite."""
    serve_definitions(cluster)
    return cluster


def serve_definitions(cluster: Cluster) -> None:
    """Apply the CRDs of the suite, and wait until they are established."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(CRD_FOLDER))
    names = [f"crd/{each.kind.plural}.{each.kind.group}" for each in CRD_DEFINITIONS]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
