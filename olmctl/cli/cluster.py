"""The commands for Operators and packages on a cluster: `olm search`, `olm install` and so on.

Declares their arguments and options. The work of a command is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.completion import CHANNEL, OPERATOR, OPERATOR_OR_PACKAGE, PACKAGE, VERSION, CompletingCommand
from olmctl.cli.options import (
    GRAPH_FORMATS,
    INSTALL_MODE_POLICIES,
    KEPT,
    NAMESPACE_POLICIES,
    ObjectName,
    Pair,
    adoption_policy_option,
    connection_options,
    crd_upgrade_options,
    image_options,
    no_headers_option,
    output_option,
    rollback_options,
    upgrade_constraint_policy_option,
    wait_options,
)
from olmctl.commands import reports_errors


@click.command("search")
@click.argument("word", required=False)
@output_option("wide", "json", "yaml", "name")
@no_headers_option
@connection_options
@reports_errors
def search(**given: Any) -> int:
    """List packages, or those that match WORD.

    The packages are those of all catalogs. WORD is looked for in their name, keywords, categories, provider and description;
    the best match is first.
    """
    from olmctl.operators.search import search as run

    return run(**given)


@click.command("show")
@click.argument("package", type=PACKAGE)
@click.option("--catalog", type=ObjectName(), metavar="CATALOG", help="Only this catalog.")
@click.option("--permissions", is_flag=True, help="What the package may do on the cluster, and what it brings.")
@click.option(
    "--version", type=VERSION, metavar="VERSION", help="Of this version.  [default: the head of the default channel]"
)
@output_option("json", "yaml")
@connection_options
@reports_errors
def show(**given: Any) -> int:
    """Show the description and versions of PACKAGE.

    Its channels are shown too, whether it is installed, and the revisions of what is. With --permissions it is shown instead
    what one version brings: permissions, the riskiest first, definitions, webhooks, objects and images. Nothing has to be
    installed for it.
    """
    from olmctl.operators.show import show as run

    return run(**given)


@click.command("install", cls=CompletingCommand)
@click.argument("package", type=PACKAGE)
@click.option(
    "--channel",
    type=CHANNEL,
    metavar="CHANNEL",
    multiple=True,
    help="The channel to follow, each if repeated; '*': every one.  [default: the package's]",
)
@click.option("--version", type=VERSION, metavar="VERSION", help="The version, which is then pinned, or a range.")
@click.option(
    "--catalog", type=ObjectName(), metavar="CATALOG", help="The only catalog that counts.  [default: all, by priority]"
)
@upgrade_constraint_policy_option()
@click.option(
    "--approval",
    type=click.Choice(("Automatic", "Manual")),
    help="Whether each version waits for `olm approve`.  [default: Automatic]",
)
@click.option(
    "-n",
    "--namespace",
    type=ObjectName(),
    metavar="NS",
    help="The namespace to install into.  [default: the one that the bundle suggests]",
)
@click.option(
    "--namespace-policy",
    type=click.Choice(NAMESPACE_POLICIES),
    help="Whether the namespace is created, or belongs to somebody else and is awaited and never changed.  [default: Create]",
)
@click.option(
    "--install-mode-policy",
    type=click.Choice(INSTALL_MODE_POLICIES),
    help="Whether a bundle that does not support all namespaces watches its own by default.  [default: Lenient]",
)
@click.option(
    "--object-label",
    "object_labels",
    type=Pair(),
    metavar="KEY=VALUE",
    multiple=True,
    help="A label of all objects of the bundle. May be repeated.",
)
@adoption_policy_option()
@rollback_options()
@click.option(
    "--adopt", is_flag=True, help="Take over the BundleDeployment of the Operator's name, which no Operator owns."
)
@click.option(
    "--name", type=ObjectName(), metavar="NAME", help="The name of the Operator.  [default: that of the package]"
)
@click.option(
    "--force", is_flag=True, help="Also if no catalog has the package or version, or others manage the same fields."
)
@click.option(
    "--dry-run", type=click.Choice(("server",)), help="Have the API server check the request; change nothing."
)
@click.option("--export", is_flag=True, help="Print the Operator as YAML, for GitOps; use no cluster.")
@output_option("json", "yaml", "name")
@wait_options
@connection_options
@reports_errors
def install(**given: Any) -> int:
    """Install PACKAGE by creating its Operator.

    An Operator that exists is changed to this request.
    """
    from olmctl.operators.install import install as run

    return run(**given)


@click.command("upgrade", cls=CompletingCommand)
@click.argument("operator", type=OPERATOR)
@click.option(
    "--version", type=VERSION, metavar="VERSION", help="The version to pin, or a range; '' follows the channel."
)
@click.option(
    "--channel",
    type=CHANNEL,
    metavar="CHANNEL",
    multiple=True,
    help="The channel to follow, each if repeated; '*' follows every one, '' the package's default.",
)
@upgrade_constraint_policy_option(KEPT)
@adoption_policy_option(KEPT)
@crd_upgrade_options(KEPT)
@rollback_options(KEPT, KEPT)
@click.option(
    "--force",
    is_flag=True,
    help="Also if no catalog has the channel or version, others manage the same fields, the upgrade would be refused, or the "
    "operator holds it.",
)
@wait_options
@image_options
@connection_options
@reports_errors
def upgrade(**given: Any) -> int:
    """Upgrade OPERATOR to another version.

    Sets what the options ask for; without them, approves the version that waits. An approval looks first whether the upgrade
    would be refused, by its summary, or its image if there is none.
    """
    from olmctl.operators.upgrade import upgrade as run

    return run(**given)


@click.command("uninstall")
@click.argument("operator", type=OPERATOR)
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@wait_options
@connection_options
@reports_errors
def uninstall(**given: Any) -> int:
    """Uninstall OPERATOR with all its objects.

    They are the objects of its bundle, its CRDs and their custom resources, which are named before. The dependencies that were
    installed for it go as well, unless others require them or they are in use.
    """
    from olmctl.operators.uninstall import uninstall as run

    return run(**given)


@click.command("list")
@output_option("wide", "json", "yaml", "name")
@no_headers_option
@connection_options
@reports_errors
def list_operators(**given: Any) -> int:
    """List the Operators and what each waits for.

    Shows also what is installed and what is wanted. ClusterExtensions without an Operator, and BundleDeployments without one,
    such as those of `olm bundle run`, follow in tables of their own.
    """
    from olmctl.operators.list import list_operators as run

    return run(**given)


@click.command("why")
@click.argument("operator", type=OPERATOR)
@output_option("json", "yaml")
@click.option("--trace", is_flag=True, help="Print the whole trace of the last resolution, from operator-controller.")
@connection_options
@reports_errors
def why(**given: Any) -> int:
    """Explain which version OPERATOR has, and why.

    If it has none, explains why none was chosen. The name may also be that of a ClusterExtension, or of a BundleDeployment
    without an Operator, such as one of `olm bundle run`.
    """
    from olmctl.operators.why import why as run

    return run(**given)


@click.command("graph", cls=CompletingCommand)
@click.argument("name_or_package", metavar="PACKAGE|OPERATOR", type=OPERATOR_OR_PACKAGE)
@click.option(
    "--catalog",
    type=ObjectName(),
    metavar="CATALOG",
    help="The catalog.  [default: that of the Operator, else by priority]",
)
@click.option("--channel", type=CHANNEL, metavar="CHANNEL", help="Only this channel.")
@click.option("-o", "--output", type=click.Choice(GRAPH_FORMATS), default="text", help="The format.  [default: text]")
@connection_options
@reports_errors
def graph(**given: Any) -> int:
    """Print the upgrade graph of a package.

    The graph shows which bundle can be upgraded to which, what runs, and what is in reach of it.
    """
    from olmctl.operators.graph import graph as run

    return run(**given)


@click.command("tree")
@click.argument("operator", type=OPERATOR)
@output_option("json", "yaml")
@connection_options
@reports_errors
def tree(**given: Any) -> int:
    """Show everything that belongs to OPERATOR.

    These are its dependencies, its BundleDeployment, and the objects of the bundle with their health.
    """
    from olmctl.operators.tree import tree as run

    return run(**given)


@click.command("approve")
@click.argument("operator", type=OPERATOR)
@click.option("--version", metavar="VERSION", help="Refuse if another version waits.")
@click.option("--force", is_flag=True, help="Do not look whether the upgrade would be refused.")
@wait_options
@image_options
@connection_options
@reports_errors
def approve(**given: Any) -> int:
    """Approve the waiting version of OPERATOR.

    An Operator with `approval: Manual` waits for it. The image of the version is pulled by this command: if the upgrade would
    be refused, nothing is approved, and what would be refused is said.
    """
    from olmctl.operators.approve import approve as run

    return run(**given)


@click.command("exclude", cls=CompletingCommand)
@click.argument("operator", type=OPERATOR)
@click.argument("version", type=VERSION)
@click.option("--undo", "is_undone", is_flag=True, help="Permit the version again.")
@click.option("--force", "is_forced", is_flag=True, help="With --undo: also if others exclude the version.")
@connection_options
@reports_errors
def exclude(**given: Any) -> int:
    """Never choose VERSION for OPERATOR.

    It is added to spec.excludedVersions. If it runs, it stays until another version replaces it.
    """
    from olmctl.operators.exclude import exclude as run

    return run(**given)


@click.command("diff", cls=CompletingCommand)
@click.argument("operator", type=OPERATOR)
@click.argument("version", required=False, type=VERSION)
@output_option("json", "yaml", "text")
@click.option("--full", is_flag=True, help="Pull the images of both versions, and show whole objects.")
@image_options
@connection_options
@reports_errors
def diff(**given: Any) -> int:
    """Show what VERSION of OPERATOR would change.

    Nothing is changed. Without VERSION it is the version that waits, for example for an approval, or else the one that was
    chosen. Permissions and definitions are compared by the summaries of catalogd. The exit status is 0 if nothing differs, 1
    if something does, and above 1 if that is not known.
    """
    from olmctl.operators.diff import diff as run

    return run(**given)
