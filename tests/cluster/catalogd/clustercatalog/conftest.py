"""Replicas with the account of catalogd, as in the tests of replication."""

from __future__ import annotations

from tests.cluster.catalogd.replication.conftest import installed, replicas

__all__ = ["installed", "replicas"]
