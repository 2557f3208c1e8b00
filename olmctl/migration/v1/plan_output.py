"""Prints the plan of a migration from OLM v1."""

from __future__ import annotations

from olmctl.migration.plan_output import print_list
from olmctl.migration.v1.plan import CatalogPlan, ExtensionPlan, MigrationPlan
from olmctl.migration.values import text
from olmctl.operators.output import Column, print_table
from olmctl.terminal_output import say

_EXTENSIONS = [
    Column(name) for name in ("CLUSTEREXTENSION", "OPERATOR", "PACKAGE", "VERSION", "NAMESPACE", "OBJECTS", "MIGRATES")
]
_CATALOGS = [Column(name) for name in ("CLUSTERCATALOG", "CATALOG", "IMAGE", "MIGRATES")]


def print_plan(plan: MigrationPlan) -> None:
    """Print the tables, what is in the way, and what is to know."""
    if plan.extensions:
        print_table(_EXTENSIONS, map(_extension_row, plan.extensions))
    else:
        say("There are no ClusterExtensions.")
    if plan.catalogs:
        say()
        print_table(_CATALOGS, map(_catalog_row, plan.catalogs))
    print_list("In the way:", plan.all_problems)
    print_list("Notes:", [(f"ClusterExtension {one.name}", each) for one in plan.extensions for each in one.notes])


def _extension_row(plan: ExtensionPlan) -> tuple[str, ...]:
    state = "done" if plan.is_moved and not plan.is_begun else "begun" if plan.is_begun else "yes"
    return (
        plan.name,
        plan.operator,
        plan.package,
        plan.version,
        text(plan.extension, "spec", "namespace"),
        str(plan.objects),
        "no" if plan.problems else state,
    )


def _catalog_row(plan: CatalogPlan) -> tuple[str, ...]:
    image = text(plan.catalog, "spec", "source", "image", "ref")
    return plan.name, plan.name, image, "no" if plan.problems else "yes"
