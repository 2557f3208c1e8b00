"""The commands `olm migrate v0` and `olm migrate v1`, which move what OLM v0 or OLM v1 has installed to the suite.

Declares its arguments and options. The work is imported when it runs, so that `olm` starts fast.
"""

from __future__ import annotations

from typing import Any

import click

from olmctl.cli.options import connection_options, timeout_option
from olmctl.commands import SETTINGS, reports_errors


class _Replacement(click.ParamType[tuple[str, str]]):
    """NAMESPACE/NAME=CATALOG."""

    name = "replacement"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The CatalogSource and the Catalog. Raises BadParameter."""
        source, _, catalog = str(value).partition("=")
        if source.count("/") != 1 or not catalog:
            self.fail(f"{value!r} is not NAMESPACE/NAME=CATALOG", param, ctx)
        return source, catalog


@click.group("migrate", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def migrate() -> None:
    """Move what OLM v0 or OLM v1 installed."""


@migrate.command("v0")
@click.argument("packages", metavar="[PACKAGE]...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="All packages that can be moved.")
@click.option(
    "--dry-run", is_flag=True, help="Only say what would become of everything. Also without PACKAGE and --all."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(("json", "yaml")),
    help="Print the Catalogs and Operators, for GitOps; change nothing.",
)
@click.option(
    "--catalog",
    "catalogs",
    type=_Replacement(),
    multiple=True,
    metavar="NAMESPACE/NAME=CATALOG",
    help="The Catalog that takes the place of a CatalogSource. May be repeated.",
)
@click.option(
    "--stop-controllers",
    "stops",
    is_flag=True,
    help="Scale the controllers of OLM v0 to 0 for the time of the migration.",
)
@click.option(
    "--hold", "is_held", is_flag=True, help="End before the objects of OLM v0 are deleted: --undo is possible."
)
@click.option("--undo", "is_undo", is_flag=True, help="Give the packages back to OLM v0.")
@click.option(
    "--remove-catalog-sources",
    "removes_sources",
    is_flag=True,
    help="Delete CatalogSources that no Subscription names any more.",
)
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@timeout_option("How long each package may take, such as 90s or 10m.  [default: 5m]")
@connection_options
@reports_errors
def v0(**given: Any) -> int:
    """Move what OLM v0 has installed to the suite.

    Without PACKAGE it says what would become of each Subscription and CatalogSource. With it, the package is moved: its objects
    are taken over without restarting a pod, and the objects of OLM v0 are deleted last. It can be interrupted, and repeated.
    """
    from olmctl.migration.command import migrate_v0 as run

    return run(**given)


@migrate.command("v1")
@click.option("--all", "is_all", is_flag=True, help="Move everything: one controller serves a kind.")
@click.option(
    "--dry-run", is_flag=True, help="Only say what would become of everything. Also without --all and --undo."
)
@click.option(
    "--stop-controllers",
    "stops",
    is_flag=True,
    help="Scale the controllers of OLM v1 to 0.",
)
@click.option(
    "--hold", "is_held", is_flag=True, help="End before what OLM v1 consists of is deleted: --undo is possible."
)
@click.option("--undo", "is_undo", is_flag=True, help="Give everything back to OLM v1.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@timeout_option("How long each step may take, such as 90s or 10m.  [default: 5m]")
@connection_options
@reports_errors
def v1(**given: Any) -> int:
    """Take over the extensions of OLM v1.

    Without --all it says what would become of each of them. With it, they stay as they are, and what is installed for them is
    taken over without restarting a pod; what OLM v1 consists of is deleted last. It can be interrupted, and repeated.
    """
    from olmctl.migration.v1.command import migrate_v1 as run

    return run(**given)
