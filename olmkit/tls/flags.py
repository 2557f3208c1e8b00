"""The flags of a server, which olmkit.tls.setup reads. Imports little, because it is imported at process start."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags for TLS and authentication."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--tls-cert-dir",
        type=Path,
        help="directory with tls.crt and tls.key, reloaded when they change; default: a self-signed certificate that is renewed",
    )
    how.add_argument(
        "--insecure-http",
        action="store_true",
        help="serve plain HTTP, without encryption; for a single replica with --no-leader-elect",
    )
    parser.add_argument(
        "--authenticate-requests",
        action="store_true",
        help="require a Bearer token whose user may get the path (nonResourceURLs of a ClusterRole)",
    )
