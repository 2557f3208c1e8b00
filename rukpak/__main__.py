"""The process rukpak, which unpacks Bundles and installs BundleDeployments. `rukpak` or `python -m rukpak`.

Its parts are set up by rukpak.setup; its flags are those of olmkit.runtime.flags.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from olmkit.runtime.flags import (
    add_helm,
    add_jobs_memory,
    add_pull_secret,
    add_replica_address,
    add_require_service_account,
    add_webhook_bind_address,
)
from olmkit.runtime.manager import run
from rukpak.setup import build

NAME = "rukpak"


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags of rukpak."""
    add_helm(parser)
    add_jobs_memory(parser)
    add_pull_secret(parser, "Bundles")
    add_require_service_account(parser)
    add_webhook_bind_address(parser)
    add_replica_address(parser)


def main() -> int:
    """The entry point; returns the exit status."""
    return run(NAME, build, add_flags)


if __name__ == "__main__":
    sys.exit(main())
