"""The command `olm console`. Declares its options; the work is in the package `console`, which is imported by name when it runs:
the console stands above the commands, and needs packages of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from olmctl.cli.options import connection_options
from olmctl.commands import FAILED, fail, reports_errors

PACKAGES = ("jinja2", "markdown_it", "nh3")
"""Those of the extra `console`."""


@click.command("console")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="The port of 127.0.0.1.  [default: a free one]",
)
@click.option("--no-open", is_flag=True, help="Print the link, and open no browser.")
@connection_options
@reports_errors
def console(**given: Any) -> int:
    """Open the web console in the browser.

    It runs on this machine until Ctrl+C, with the permissions of the kubeconfig, and listens on 127.0.0.1 alone. The link that is
    printed opens one session, within a minute.
    """
    try:
        module = import_module("console.local")
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        return fail(f"the console needs the package {error.name}: pipx install --force 'olm-suite[console]'", FAILED)
    status: int = module.run(**given)
    return status
