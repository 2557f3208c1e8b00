"""The account of operator-controller, with the permissions of config and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE, Suite


@pytest.fixture(scope="package")
def account(definitions: Cluster) -> Path:
    """The kubeconfig of the account; no controller runs."""
    Suite(definitions).install()
    return definitions.token_kubeconfig(NAMESPACE, "operator-controller")
