"""Fixtures of the tests of a release: `make release` runs them, after it has written the files. They take minutes."""

from __future__ import annotations

from tests.cluster.olmctl.suite.conftest import bare_cluster, olm

__all__ = ["bare_cluster", "olm"]
