"""Upstream's controllers of ClusterCatalogs and ClusterExtensions: the names of their Leases, and one that leads.

While one of them leads, these kinds are left to it: two controllers of one kind would write against each other. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

UPSTREAM_LEASES = ("9c4404e7.operatorframework.io", "catalogd-operator-lock")
"""The names of the Leases of upstream's operator-controller and catalogd, in whichever namespace they are installed."""


@dataclass(frozen=True)
class ForeignLeader:
    """A controller of upstream that leads; `expires_in` is the time for which its Lease is valid if it is not renewed."""

    namespace: str
    lease: str
    holder: str
    expires_in: timedelta
