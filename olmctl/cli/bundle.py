"""The commands `olm bundle ...`: `render` works without a cluster, the others send bundles to one and read them from it.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import Directory, ObjectName, connection_options, image_options, timeout_option
from olmctl.commands import SETTINGS, reports_errors

CERTIFICATE_MODES = ("self", "cert-manager", "none")
"""The values of --certificates: the names of rukpak.render.endpoints.CertificateMode."""


@click.group("bundle", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def bundle() -> None:
    """Work with bundles, on a cluster or without."""


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


@bundle.command("run", context_settings=SETTINGS)
@click.argument("directory", type=Directory(), metavar="DIRECTORY")
@click.option(
    "--name",
    type=ObjectName(),
    metavar="NAME",
    help="The name of the BundleDeployment.  [default: that of the package, or of the directory]",
)
@click.option(
    "--install-namespace",
    type=ObjectName(),
    metavar="NS",
    help="The install namespace.  [default: the one that the bundle suggests]",
)
@click.option("--watch", is_flag=True, help="Install the bundle again whenever a file of it is saved, until Ctrl-C.")
@click.option("--force", is_flag=True, help="Also if others manage the same fields of the BundleDeployment.")
@timeout_option("How long to wait until it is installed, such as 90s or 10m.  [default: 5m]")
@connection_options
@reports_errors
def run(**given: Any) -> int:
    """Install the bundle in DIRECTORY.

    A BundleDeployment is applied, the bundle is uploaded to rukpak, and the command waits until it is Ready. DIRECTORY contains
    manifests/ and, for a registry+v1 bundle, metadata/.
    """
    from olmctl.bundle.run import run as work

    return work(**given)


@bundle.command("upload", context_settings=SETTINGS)
@click.argument("name", type=ObjectName(), metavar="NAME")
@click.argument("path", type=Directory(), metavar="DIRECTORY")
@connection_options
@reports_errors
def upload(**given: Any) -> int:
    """Upload a bundle to the Bundle NAME.

    DIRECTORY has the bundle. It may also be an archive: a tar, plain or packed with gzip or zstd, or a zip. The source of the
    Bundle has the type upload. If it names a digest, the archive has to have it.
    """
    from olmctl.bundle.upload import upload as work

    return work(**given)


@bundle.command("content", context_settings=SETTINGS)
@click.argument("name", type=ObjectName(), metavar="NAME")
@click.option(
    "-o",
    "--output",
    type=Directory(),
    metavar="DIRECTORY",
    help="Write the files to this directory instead of printing them.",
)
@connection_options
@reports_errors
def content(**given: Any) -> int:
    """Print the files of the Bundle NAME.

    They are one stream of YAML, in which a comment before each file has its path. The token of the kubeconfig has to be that of a
    user who may read the Bundle's files (ClusterRole olm-suite-bundle-reader).
    """
    from olmctl.bundle.content import content as work

    return work(**given)


@bundle.command("permissions", context_settings=SETTINGS)
@click.argument("source", type=Directory(), metavar="NAME|IMAGE|DIRECTORY")
@click.option(
    "--install-namespace",
    "--namespace",
    "namespace",
    metavar="NS",
    help="The install namespace of an IMAGE or a DIRECTORY.  [default: the one that the bundle suggests]",
)
@click.option(
    "--namespace-exists",
    "exists",
    is_flag=True,
    help="The install namespace exists, and is not created by the account.",
)
@click.option(
    "--service-account",
    metavar="[NS/]NAME",
    help="Print bindings of the roles to this ServiceAccount too.  [default: that of the BundleDeployment NAME]",
)
@click.option(
    "-o", "--output", type=click.Choice(("yaml", "json")), default="yaml", help="Output format.  [default: yaml]"
)
@image_options
@connection_options
@reports_errors
def permissions(**given: Any) -> int:
    """Print the permissions that a bundle needs.

    A ServiceAccount installs it with a ClusterRole and the Roles of the namespaces: what the objects of the bundle need, and
    what its roles give, which the account has to have itself. The bundle of a DIRECTORY or an IMAGE is rendered without a
    cluster. NAME is a BundleDeployment, which has the name of its Operator.
    """
    from olmctl.bundle.permissions import permissions as work

    return work(**given)
