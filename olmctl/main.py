"""The command `olm`, also installed as `kubectl-olm`: Operators on a cluster, and catalogs and bundles without one.

The commands are declared in olmctl.cli. The work of each is done by a module of olmctl, olmctl.operators, olmctl.catalog,
olmctl.bundle or olmctl.suite, named as the command, which is imported when the command runs. Never imports a controller.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import ShellComplete, get_completion_class

from olmctl.cli import bundle_check, bundle_images, bundle_project, cluster
from olmctl.cli.bundle import bundle
from olmctl.cli.catalog import catalog
from olmctl.cli.console import console
from olmctl.cli.migrate import migrate
from olmctl.cli.resolve import resolve
from olmctl.cli.suite import suite
from olmctl.commands import SETTINGS, run
from olmctl.terminal_output import say, write_document
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


@olm.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the completion script for SHELL.

    For bash: source <(olm completion bash)
    """
    program = Path(context.find_root().info_name or "olm").name
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    found = get_completion_class(shell)
    if found is None:  # SHELLS are those that click knows
        raise click.UsageError(f"no completion for {shell}", context)
    write_document(found(olm, {}, program, variable).source() + "\n")
    return 0


for command in (
    bundle_check.scorecard,
    bundle_check.validate,
    bundle_images.build,
    bundle_images.push,
    bundle_project.init,
    bundle_project.generate,
):
    bundle.add_command(command)

for command in (
    catalog,
    bundle,
    suite,
    migrate,
    cluster.search,
    cluster.show,
    cluster.install,
    cluster.upgrade,
    cluster.uninstall,
    cluster.list_operators,
    cluster.why,
    cluster.graph,
    cluster.tree,
    cluster.approve,
    cluster.exclude,
    cluster.diff,
    console,
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
            say(f"{item.value}\t{item.help}" if item.help else item.value)
    are_files_wanted = any(item.type != "plain" for item in found)
    say(f":{_FILES_COMPLETED if are_files_wanted else _NOTHING_ELSE_COMPLETED}")
    return 0
