"""`olm suite uninstall` where nothing but the suite is installed. tests/release has the longer tests, with Operators."""

from __future__ import annotations

import pytest

from devcluster.cluster import Cluster
from tests.cluster.olmctl.suite.conftest import Olm

REMOVE = ("suite", "uninstall", "--remove", "--yes")


@pytest.fixture
def installed(olm: Olm) -> None:
    """The suite is installed."""
    assert olm("suite", "install", "--force", "--no-wait")[0] == 0


@pytest.mark.usefixtures("installed")
def test_nothing_is_deleted_before_it_is_chosen_and_confirmed(olm: Olm) -> None:
    with pytest.raises(SystemExit, match="2"):
        olm("suite", "uninstall", "--yes")
    with pytest.raises(SystemExit, match="2"):
        olm("suite", "uninstall", "--yes", "--orphan", "--remove")
    for way in ("--orphan", "--remove"):
        status, out, err = olm("suite", "uninstall", way)
        assert (status, out, err.splitlines()[-1]) == (5, "", "olm-suite is not uninstalled: confirm it with --yes")
        assert olm("suite", "uninstall", way, "--dry-run")[:2] == (0, "\n".join(err.splitlines()[:-1]) + "\n")
    status, _, err = olm(*REMOVE, "--as", "someone")
    assert (status, "the user may not get, delete" in err or "cannot list" in err) == (5, True)
    assert olm("suite", "status")[0] == 0


@pytest.mark.usefixtures("installed")
def test_the_suite_is_removed(olm: Olm, bare_cluster: Cluster) -> None:
    status, out, err = olm(*REMOVE)
    assert (status, "namespace/olm-suite-system deleted\n" in out) == (0, True), err
    shown = bare_cluster.kubectl("get", "namespaces,crds,clusterroles", "-o", "name")
    assert "olm-suite" not in shown
    assert "operatorframework.io" not in shown
    assert olm(*REMOVE) == (0, "", "olm-suite is not installed: there is nothing to remove\n")
    assert olm("suite", "status")[0] == 3
