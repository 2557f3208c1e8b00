"""The flags of a component that serves, for olmkit.tls.setup. Imports little, as olmkit.runtime.flags does."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path


def add_flags(parser: ArgumentParser) -> None:
    """How it is served, and to whom."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--tls-cert-dir",
        type=Path,
        help="folder with tls.crt and tls.key to serve with, followed when they change; a certificate of its own without it",
    )
    how.add_argument(
        "--insecure-http",
        action="store_true",
        help="serve plain HTTP, which anybody between can read; for one replica, with --no-leader-elect",
    )
    parser.add_argument(
        "--authenticate-requests",
        action="store_true",
        help="serve only whom the API server lets get the path (a ClusterRole's nonResourceURLs), by Bearer token",
    )
