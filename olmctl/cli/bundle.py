"""The commands `olm bundle ...`, which work without a cluster.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import Directory
from olmctl.commands import SETTINGS, reports_errors

CERTIFICATE_MODES = ("self", "cert-manager", "none")
"""The values of --certificates: the names of rukpak.render.endpoints.CertificateMode."""


@click.group("bundle", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def bundle() -> None:
    """Work with bundles, without a cluster."""


@bundle.command("render", context_settings=SETTINGS)
@click.argument("directories", type=Directory(), nargs=-1, required=True, metavar="DIRECTORY...")
@click.option(
    "--install-namespace",
    "--namespace",
    "namespace",
    metavar="NS",
    help="The install namespace.  [default: the one that the bundle suggests]",
)
@click.option(
    "--watch-namespace",
    metavar="NS",
    multiple=True,
    help='A namespace to watch; "" for all namespaces. May be repeated.  [default: what the bundle supports]',
)
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="A file with changes of the Deployments, as in spec.install.config of an Operator.",
)
@click.option(
    "--certificates",
    type=click.Choice(CERTIFICATE_MODES),
    help="Who issues the certificates of webhooks and API services: olm-suite when the bundle is installed, cert-manager, or "
    "nobody because the bundle brings its own.  [default: self; with --upstream cert-manager]",
)
@click.option("--upstream", is_flag=True, help="Print exactly the objects that the renderer of OLM v1 generates.")
@click.option(
    "-o", "--output", type=click.Choice(("yaml", "json")), default="yaml", help="Output format.  [default: yaml]"
)
@reports_errors
def render(**given: Any) -> int:
    """Print the objects that install bundles.

    The bundle in each DIRECTORY is rendered. A DIRECTORY contains manifests/ and, for a registry+v1 bundle, metadata/. With -o
    json, each bundle is one line with an array of objects, or null if it is refused. The exit status is 0 when all bundles
    can be rendered. Otherwise it is 1, and the errors are printed to standard error.
    """
    from olmctl.bundle.render import render as run

    return run(**given)
