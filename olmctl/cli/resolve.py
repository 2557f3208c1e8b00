"""The command `olm resolve`.

Declares its arguments and options. The work is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import Directory
from olmctl.commands import SETTINGS, reports_errors


@click.command("resolve", context_settings=SETTINGS)
@click.argument("packages", metavar="PACKAGE[@VERSION_OR_RANGE][:CHANNEL]...", nargs=-1, required=True)
@click.option(
    "--catalog", "catalogs", type=Directory(), metavar="DIR", multiple=True, required=True,
    help="A directory with a file-based catalog. May be repeated: the first one has the highest priority.",
)  # fmt: skip
@click.option(
    "--installed", metavar="PACKAGE=VERSION", multiple=True, help="A package that is installed. May be repeated."
)
@click.option(
    "--exclude",
    "excluded",
    metavar="PACKAGE=VERSION",
    multiple=True,
    help="A version that is never chosen, also of a dependency. May be repeated.",
)
@click.option("--kube-version", metavar="VERSION", default="", help="The version of Kubernetes.  [default: not known]")
@click.option(
    "-o", "--output", type=click.Choice(("text", "json")), default="text", help="Output format.  [default: text]"
)
@reports_errors
def resolve(**given: Any) -> int:
    """Resolve packages, without a cluster.

    Prints the bundles that are installed in the end if the packages are requested, with their dependencies. The packages are
    given in the order of their importance. The exit status is 0 if all requests can be satisfied together, 1 if not (nothing
    is installed then, and the reason is printed), and 2 if the input is wrong.
    """
    from olmctl.resolve import resolve as run

    return run(**given)
