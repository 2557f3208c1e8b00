"""The command `olm`, also installed as `kubectl-olm`: Operators on a cluster, and catalogs and bundles without one.

Also called by `python -m olmkit.fbc`, `python -m rukpak.render` and `python -m operator_controller.resolve`. Each command is a
module of olmctl, olmctl.cluster, olmctl.catalog, olmctl.bundle or olmctl.suite, named as the command. Never imports a controller.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import ShellComplete, get_completion_class

from olmctl.bundle.render import render as render_bundle
from olmctl.catalog.generate import generate
from olmctl.catalog.graph import graph
from olmctl.catalog.init import init
from olmctl.catalog.render import render as render_catalog
from olmctl.catalog.validate import validate
from olmctl.cluster.approve import approve
from olmctl.cluster.diff import diff
from olmctl.cluster.graph import graph as graph_on_cluster
from olmctl.cluster.install import install
from olmctl.cluster.list import list_operators
from olmctl.cluster.search import search
from olmctl.cluster.show import show
from olmctl.cluster.tree import tree
from olmctl.cluster.uninstall import uninstall
from olmctl.cluster.upgrade import upgrade
from olmctl.cluster.why import why
from olmctl.commands import SETTINGS, run
from olmctl.resolve import resolve
from olmctl.suite.install import install as install_suite
from olmctl.suite.status import status as suite_status
from olmctl.suite.uninstall import uninstall as uninstall_suite
from olmkit.runtime.flags import DISTRIBUTION

PROGRAMS = ("olm", "kubectl-olm")
"""Names under which the command is installed."""
SHELLS = ("bash", "fish", "zsh")
_FILES_COMPLETED, _NOTHING_ELSE_COMPLETED = 0, 4
"""cobra's ShellCompDirectiveDefault and ShellCompDirectiveNoFileComp."""


@click.group("olm", context_settings=SETTINGS)
@click.version_option(package_name=DISTRIBUTION, message="olm %(version)s")
def olm() -> None:
    """Find, install and explain Operators on a cluster, and work with catalogs and bundles without one."""


@olm.group("catalog", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def catalog() -> None:
    """Work with file-based catalogs, without a cluster."""


@olm.group("bundle", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def bundle() -> None:
    """Work with bundles, without a cluster."""


@olm.group("suite", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def suite() -> None:
    """Install, show and remove the suite itself on a cluster."""


@olm.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script that completes this command in SHELL.

    For bash: source <(olm completion bash)
    """
    program = Path(context.find_root().info_name or "olm").name
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    found = get_completion_class(shell)
    if found is None:  # SHELLS are those that click knows
        raise click.UsageError(f"no completion for {shell}", context)
    click.echo(found(olm, {}, program, variable).source())
    return 0


for command in (validate, render_catalog, init, generate, graph):
    catalog.add_command(command)
bundle.add_command(render_bundle)
for command in (install_suite, suite_status, uninstall_suite):
    suite.add_command(command)
for command in (
    search,
    show,
    install,
    upgrade,
    uninstall,
    list_operators,
    why,
    graph_on_cluster,
    tree,
    approve,
    diff,
    resolve,
):
    olm.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `olm` with the arguments, those of the process when None; returns the exit status."""
    program = Path(sys.argv[0]).name
    return run(olm, program if program in PROGRAMS else "olm", arguments)


def kubectl_completion_main(arguments: Sequence[str] | None = None) -> int:
    """Run `kubectl_complete-olm`, which kubectl calls with the words after `kubectl olm`: print what completes the last one.

    The output is that of cobra, the library of kubectl: one word per line, and at the end whether the shell completes files.
    """
    words = list(sys.argv[1:] if arguments is None else arguments) or [""]
    found = ShellComplete(olm, {}, "kubectl olm", "").get_completions(words[:-1], words[-1])
    for item in found:
        if item.type == "plain":
            print(f"{item.value}\t{item.help}" if item.help else item.value)
    are_files_wanted = any(item.type != "plain" for item in found)
    print(f":{_FILES_COMPLETED if are_files_wanted else _NOTHING_ELSE_COMPLETED}")
    return 0


def catalog_main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m olmkit.fbc`, which is `olm catalog`; returns the exit status."""
    return run(catalog, "python -m olmkit.fbc", arguments)


def bundle_render_main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m rukpak.render`, which is `olm bundle render`; returns the exit status."""
    return run(render_bundle, "python -m rukpak.render", arguments)


def resolve_main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m operator_controller.resolve`, which is `olm resolve`; returns the exit status."""
    return run(resolve, "python -m operator_controller.resolve", arguments)
