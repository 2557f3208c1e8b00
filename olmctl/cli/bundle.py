"""The commands `olm bundle ...` that render bundles, send them to a cluster, and read them from it.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from olmctl.cli.options import (
    KEPT,
    Directory,
    ObjectName,
    adoption_policy_option,
    connection_options,
    crd_upgrade_options,
    image_options,
    rollback_options,
    timeout_option,
)
from olmctl.commands import SETTINGS, reports_errors
from olmctl.terminal import clean

CERTIFICATE_MODES = ("self", "cert-manager", "none")
"""The values of --certificates: the names of rukpak.render.endpoints.CertificateMode."""
INSTALL_MODES = ("AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace")
"""The modes of --install-mode: rukpak.render.install_modes.MODES."""


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


class _InstallMode(click.ParamType[tuple[str, tuple[str, ...]]]):
    """An install mode with its namespaces: MODE[=NS,NS]. The value has both."""

    name = "mode"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[str, ...]]:
        """Raises BadParameter."""
        from olmctl.bundle.install_options import install_mode_of

        try:
            return install_mode_of(str(value))
        except ValueError as error:
            self.fail(clean(str(error)), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The modes."""
        return [CompletionItem(mode) for mode in INSTALL_MODES if mode.startswith(incomplete)]


_pull_secret_option = click.option(
    "--pull-secret",
    type=ObjectName(),
    metavar="SECRET",
    help="A Secret in the suite's namespace with the login for the image.",
)


@bundle.command("run", context_settings=SETTINGS)
@click.argument("bundle", type=Directory(), metavar="IMAGE|DIRECTORY")
@click.option(
    "--name",
    type=ObjectName(),
    metavar="NAME",
    help="The name of the BundleDeployment.  [default: that of the package, or of the image or directory]",
)
@click.option(
    "-n",
    "--install-namespace",
    "--namespace",
    type=ObjectName(),
    metavar="NS",
    help="The install namespace.  [default: that of the installation, or the one that the bundle suggests]",
)
@click.option(
    "--install-mode",
    type=_InstallMode(),
    metavar="MODE[=NS,NS]",
    help="AllNamespaces, OwnNamespace, SingleNamespace=NS or MultiNamespace=NS,NS.  [default: the first of the first two that "
    "the bundle supports]",
)
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="A file with changes of the Deployments, as in spec.config of a BundleDeployment.",
)
@click.option(
    "--certificates",
    type=click.Choice(CERTIFICATE_MODES),
    help="Who issues the certificates of webhooks and API services.  [default: self]",
)
@click.option(
    "--service-account",
    metavar="[NS/]NAME",
    help="The ServiceAccount with whose permissions it is installed.  [default: rukpak's]",
)
@_pull_secret_option
@adoption_policy_option()
@crd_upgrade_options()
@rollback_options()
@click.option("--watch", is_flag=True, help="Install the bundle again whenever a file of it is saved, until Ctrl-C.")
@click.option(
    "--force",
    is_flag=True,
    help="Also if requirements are missing, the image is not found, an OperatorCondition holds the upgrade, another package is "
    "installed under the name, or others manage the same package or fields.",
)
@timeout_option("How long to wait until it is installed, such as 90s or 10m.  [default: 5m]")
@image_options
@connection_options
@reports_errors
def run(**given: Any) -> int:
    """Install a bundle without a catalog.

    A BundleDeployment is applied, and the command waits until it is Ready. A DIRECTORY contains manifests/ and, for a registry+v1
    bundle, metadata/, or it is a Helm chart; it is uploaded to rukpak. An IMAGE is pulled by the cluster, and read here too if
    that is possible. What an earlier run has installed under the same name is changed to this bundle.
    """
    from olmctl.bundle.run import run as work

    return work(**given)


@bundle.command("upgrade", context_settings=SETTINGS)
@click.argument("bundle", type=Directory(), metavar="IMAGE|DIRECTORY")
@click.option(
    "--name",
    type=ObjectName(),
    metavar="NAME",
    help="The name of the BundleDeployment.  [default: that of the package]",
)
@_pull_secret_option
@adoption_policy_option(KEPT)
@crd_upgrade_options(KEPT)
@rollback_options(KEPT, KEPT)
@click.option(
    "--force",
    is_flag=True,
    help="Also if the bundle is no upgrade, the image is not found, requirements are missing, an OperatorCondition holds the "
    "upgrade, or others manage the same fields.",
)
@timeout_option("How long to wait until it is installed, such as 90s or 10m.  [default: 5m]")
@image_options
@connection_options
@reports_errors
def upgrade(**given: Any) -> int:
    """Upgrade what `olm bundle run` has installed.

    The bundle of the IMAGE or DIRECTORY has to be an upgrade of the installed version, by its replaces, skips or skipRange, as
    in a catalog. All settings of the installation stay, unless an option changes them.
    """
    from olmctl.bundle.upgrade import upgrade as work

    return work(**given)


@bundle.command("cleanup", context_settings=SETTINGS)
@click.argument("package", metavar="PACKAGE|NAME")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--ignore-not-found", is_flag=True, help="Succeed also if nothing is installed.")
@timeout_option("How long to wait until it is deleted, such as 90s or 10m.  [default: 5m]")
@connection_options
@reports_errors
def cleanup(**given: Any) -> int:
    """Delete what `olm bundle run` has installed.

    The objects that were created for the bundle go, its CRDs and their custom resources among them, which are named before. If
    there are custom resources, the command asks. What was there before stays, and so does what the bundle requires of others.
    """
    from olmctl.bundle.cleanup import cleanup as work

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
