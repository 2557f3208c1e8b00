"""Files that tests of git sources commit, and the logins of their servers."""

from __future__ import annotations

from typing import Any

from tests.secrets import secret
from tests.servers.git_ssh_server import GitSshServer

FILES = {"README": "read me", "catalog/a/index.yaml": "schema: olm.package\n", "catalog/b.json": "{}"}
CATALOG_FILES = {"a/index.yaml": "schema: olm.package\n", "b.json": "{}"}
"""The files below catalog/."""
PASSWORD = "Op3n-Sesame"
ALL_REFS_PROGRESS = "asking for all branches and tags: the server does not serve commits by hash"


def ssh_secret(server: GitSshServer, **changed: str) -> dict[str, Any]:
    values = {"ssh-privatekey": server.private_key, "ssh-knownhosts": server.known_hosts} | changed
    return secret("kubernetes.io/ssh-auth", values, server.address)
