"""The process catalogd, which serves catalogs over HTTP and creates their Packages. `catalogd` or `python -m catalogd`.

The flags are those of olmkit.runtime.flags and the ones below; catalogd.setup adds the controller and the server. The content
on disk is verified while those are imported, so this module must import little:
tests/integration/olmkit/runtime/test_kubeconfig_import.py.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from functools import partial

from catalogd.storage.startup_verifier import StartupVerifier
from olmkit.runtime.flags import add_jobs_memory, add_pull_secret, add_replica_address, make_parser, parse_settings
from olmkit.tls import flags as serving

NAME = "catalogd"
BUNDLE_SUMMARIES_MODES = ("OnRequest", "Never")
"""The values of --bundle-summaries, the default first."""


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags of catalogd."""
    add_jobs_memory(parser)
    parser.add_argument("--catalogs-server-addr", default=":8083", help="host:port that catalogs are served on")
    parser.add_argument(
        "--external-address",
        help="host[:port] at which clients reach the catalogs, for contentURL; default: the serving address",
    )
    parser.add_argument(
        "--v1-address",
        help="the same for the URLs in the status of ClusterCatalogs; default: that of --external-address",
    )
    parser.add_argument(
        "--bundle-summaries",
        choices=BUNDLE_SUMMARIES_MODES,
        default=BUNDLE_SUMMARIES_MODES[0],
        help="OnRequest: the image of a bundle is read when a client requests its summary; Never: no image of a bundle is read",
    )
    serving.add_flags(parser)
    add_replica_address(parser)
    add_pull_secret(parser, "Catalogs")


def main() -> int:
    """The entry point; returns the exit status."""
    parser = make_parser(NAME)
    add_flags(parser)
    settings = parse_settings(parser, None)
    startup_verifier = StartupVerifier(settings.cache_dir)
    from catalogd.setup import build
    from olmkit.runtime.manager import run_with

    return run_with(NAME, settings, partial(build, startup_verifier=startup_verifier))


if __name__ == "__main__":
    sys.exit(main())
