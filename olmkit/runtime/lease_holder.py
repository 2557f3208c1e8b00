"""The Lease of a leader election, and how its holder is named."""

from __future__ import annotations

import socket
import uuid

from olmkit.api.meta import Kind

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
_SEPARATOR = "_"
"""Between host name and uuid, as controller-runtime has it; no host name contains it."""


def holder_identity() -> str:
    """An identity that is unique to this process, and different after a restart."""
    return f"{socket.gethostname()}{_SEPARATOR}{uuid.uuid4()}"


def holder_host(identity: str) -> str:
    """The host name in an identity: that of the pod in which the holder runs."""
    return identity.partition(_SEPARATOR)[0]
