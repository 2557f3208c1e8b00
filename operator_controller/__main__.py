"""The operator-controller process: `operator-controller` or `python -m operator_controller`.

The flags are those of olmkit.runtime.flags and those below; what the process consists of is in operator_controller.setup.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from olmkit.runtime.manager import run
from olmkit.tls.service import CATALOG_SERVICE
from operator_controller.setup import NAME, build


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags for access to catalogs, and the one of the debug server."""
    parser.add_argument(
        "--catalogs-ca-file",
        type=Path,
        help="PEM file of the CAs to trust for catalogs, followed when it changes; without it those of the ConfigMap "
        f"{CATALOG_SERVICE.config_map}, in addition to the system's",
    )
    parser.add_argument(
        "--catalogs-token",
        action="store_true",
        help="send the token of this account to catalogs (over HTTPS only), for a catalogd with --authenticate-requests",
    )
    parser.add_argument(
        "--debug-bind-address",
        default=":8443",
        help="host:port of /debug/resolutions, over HTTPS and for tokens that may get it; 0 disables it",
    )


def main() -> int:
    """Run until SIGTERM or SIGINT; returns the exit status."""
    return run(NAME, build, add_flags)


if __name__ == "__main__":
    sys.exit(main())
