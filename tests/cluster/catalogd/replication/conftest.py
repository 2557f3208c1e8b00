"""The fixtures of tests/integration for tests that also need an API server."""

from tests.integration.catalogd.replication.conftest import follower, leader

__all__ = ["follower", "leader"]
