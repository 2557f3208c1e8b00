"""`olm migrate v0` on a cluster that never had OLM v0."""

from __future__ import annotations

import pytest

from tests.cluster.olmctl.conftest import Desk


@pytest.mark.parametrize(
    "user", [pytest.param((), id="an administrator"), pytest.param(("--as", "jane"), id="without rights")]
)
def test_there_is_nothing_to_migrate(user: tuple[str, ...], desk: Desk) -> None:
    text = "the cluster does not serve the kinds of OLM v0 (operators.coreos.com): there is nothing to migrate\n"
    assert desk.olm("migrate", "v0", *user) == (3, "", text)
