"""The process catalogd: Catalogs become content served over HTTP, and Package objects. `catalogd` or `python -m catalogd`.

The flags are those of olmkit.runtime.flags and the ones below; catalogd.setup says what it is made of. What was served before
is being verified while all of that is loaded, so imports here must be few:
tests/integration/olmkit/runtime/test_partial_import.py.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from functools import partial

from catalogd.storage.startup_verifier import StartupVerifier
from olmkit.runtime.flags import add_jobs_memory, make_parser, parse_settings
from olmkit.tls import flags as serving

NAME = "catalogd"


def add_flags(parser: ArgumentParser) -> None:
    """Where catalogs are served, and what else is particular to catalogd."""
    add_jobs_memory(parser)
    parser.add_argument("--catalogs-server-addr", default=":8083", help="host:port that catalogs are served on")
    parser.add_argument(
        "--external-address",
        help="host[:port] that others reach it at, for contentURL; the serving address when absent",
    )
    serving.add_flags(parser)
    parser.add_argument(
        "--replica-address",
        help="host:port at which the other replicas reach the catalogs of this one; the serving address when absent",
    )
    parser.add_argument(
        "--pull-secret",
        default="",
        help="Secret in the system namespace with credentials for all Catalogs, after those of their own",
    )
    parser.add_argument(
        "--bundle-metadata",
        action="store_true",
        help="also keep a BundleMetadata object for each bundle of each catalog",
    )


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
