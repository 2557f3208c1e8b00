"""The commands `olm suite ...`, which install, show and remove the suite itself.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import ObjectName, connection_options, no_headers_option, output_option, timeout_option
from olmctl.commands import SETTINGS, reports_errors


def _image_reference(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """The image as it is, "" for none. Raises BadParameter, also for an empty text: a variable that is not set."""
    if value is None:
        return ""
    from olmkit.sources.errors import BadReference
    from olmkit.sources.oci.reference import parse

    try:
        parse(value)
    except BadReference as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


@click.group("suite", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def suite() -> None:
    """Install, show and remove the suite itself."""


@suite.command("install")
@click.option(
    "--image",
    metavar="IMAGE",
    callback=_image_reference,
    help="The image of the controllers.  [default: that of the installed ones, in this version]",
)
@click.option(
    "--image-pull-secret",
    "pull_secrets",
    type=ObjectName(),
    multiple=True,
    metavar="NAME",
    help="A Secret of the suite's namespace with a login for the image's registry.  [default: the installed ones]",
)
@click.option(
    "--with-operator-conditions",
    "operator_conditions",
    is_flag=True,
    help="Install the CRD of OperatorConditions too, with which operators hold their upgrades.",
)
@click.option("--console", is_flag=True, help="Install the web console too.")
@click.option(
    "--packagemanifests",
    "package_manifests",
    is_flag=True,
    help="Have the API server list packages as PackageManifests too, for other consoles and kubectl.",
)
@click.option(
    "--serve-v1",
    type=click.Choice(("Auto", "Always", "Never")),
    default="Auto",
    show_default=True,
    help="Serve ClusterCatalogs and ClusterExtensions, the kinds of OLM v1. Auto: unless OLM v1 has them.",
)
@click.option(
    "--force", "is_forced", is_flag=True, help="Take over fields that others manage, and replace a newer version."
)
@click.option(
    "--dry-run",
    type=click.Choice(("server",)),
    is_flag=False,
    flag_value="server",
    help="Have the API server check the request; change nothing.",
)
@click.option("--export", is_flag=True, help="Print the manifests as YAML, for GitOps; use no cluster.")
@click.option("--no-wait", is_flag=True, help="Do not wait until the controllers are available and lead.")
@timeout_option("How long to wait, such as 90s or 10m.  [default: 5m]")
@connection_options
@reports_errors
def install(**given: Any) -> int:
    """Install the suite, or update it.

    A suite that is installed gets this version and this image. Catalogs, Operators and what they have installed stay as they
    are.
    """
    from olmctl.suite.install import install as run

    return run(**given)


@suite.command("status")
@output_option("wide", "json", "yaml")
@no_headers_option
@connection_options
@reports_errors
def status(**given: Any) -> int:
    """Show the suite's objects and versions.

    Says of each object whether it is there, and of each controller which version it has. `-o wide` shows their replicas,
    leaders and images too. Ends with status 3 if an object is missing, and with 1 if one is not available or not as in this
    version.
    """
    from olmctl.suite.status import status as run

    return run(**given)


@suite.command("uninstall")
@click.option(
    "--orphan", "is_orphan", is_flag=True, help="Keep CRDs, Catalogs and Operators; what is installed keeps running."
)
@click.option("--remove", "is_removal", is_flag=True, help="First delete all Operators, with what they have installed.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option(
    "--force",
    "is_forced",
    is_flag=True,
    help="Stop controllers that do not run properly, or not end within --timeout, and remove their finalizers.",
)
@timeout_option("How long to wait, such as 90s or 10m.  [default: 5m]")
@connection_options
@reports_errors
def uninstall(**given: Any) -> int:
    """Remove the suite from the cluster.

    There are two ways: --orphan and --remove. It can be interrupted, and repeated.
    """
    from olmctl.suite.uninstall import uninstall as run

    return run(**given)
