"""Fixtures of the integration tests of rukpak: fork servers that start without importing."""

from __future__ import annotations

from tests.fork_servers import fork_server_parent, forked_fork_servers

__all__ = ["fork_server_parent", "forked_fork_servers"]
