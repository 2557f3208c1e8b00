"""Prints the plan of a migration: for people, or as the objects to keep in git."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from olmctl.migration.catalog_sources import CatalogPlan
from olmctl.migration.marks import is_past_undo
from olmctl.migration.packages import MigrationPlan, PackagePlan, version_of
from olmctl.migration.values import at, full_name, name_of, text, texts
from olmctl.object_text import as_yaml, object_list
from olmctl.operators.output import Column, print_object, print_table
from olmctl.terminal import clean
from olmctl.terminal_output import say, write_document
from olmkit.api.meta import Object

_PACKAGES = [
    Column(name)
    for name in ("SUBSCRIPTION", "OPERATOR", "VERSION", "CHANNEL", "APPROVAL", "WATCHES", "CATALOG", "MIGRATES")
]
_CATALOGS = [Column(name) for name in ("CATALOGSOURCE", "CATALOG", "IMAGE", "MIGRATES")]
_ALL = "all namespaces"


def objects_of(plan: MigrationPlan, packages: Sequence[PackagePlan], *, with_all_catalogs: bool) -> list[Object]:
    """The objects that the packages become: the Catalogs first."""
    used = {each.catalog.name for each in packages if each.catalog is not None and each.operator is not None}
    catalogs = [each.manifest for each in plan.catalogs.values() if each.manifest is not None]
    return [
        *(each for each in catalogs if with_all_catalogs or name_of(each) in used),
        *(each.operator for each in packages if each.operator is not None and not each.problems),
    ]


def print_documents(objects: Sequence[Object], form: str) -> None:
    """Print the objects for GitOps."""
    if form == "json":
        print_object(object_list(objects), form)
    else:
        write_document("---\n".join(map(as_yaml, objects)))


def print_plan(plan: MigrationPlan, packages: Sequence[PackagePlan], *, with_rest: bool) -> None:
    """Print the tables, and what is not carried over. `with_rest`: also what no Subscription explains."""
    if packages:
        print_table(_PACKAGES, map(_package_row, packages))
    else:
        say("There are no Subscriptions.")
    used = {each.catalog.source for each in packages if each.catalog is not None}
    catalogs = [each for source, each in plan.catalogs.items() if with_rest or source in used]
    if catalogs:
        say()
        print_table(_CATALOGS, map(_catalog_row, catalogs))
    rest = plan.rest if with_rest else ()
    print_list("Not carried over:", (*_problems(packages), *_catalog_problems(catalogs, packages), *rest))
    print_list(
        "Notes:", (*_notes(packages), *((f"CatalogSource {each.source}", n) for each in catalogs for n in each.notes))
    )


def _package_row(plan: PackagePlan) -> tuple[str, ...]:
    spec = at(plan.operator, "spec") or {}
    watched = texts(spec, "install", "watchNamespaces")
    return (
        full_name(plan.subscription),
        plan.name,
        version_of(plan.version) if plan.version is not None else "",
        text(spec, "channel"),
        text(spec, "approval") or "Automatic",
        (_ALL if watched == [""] else ", ".join(watched)) if plan.operator is not None else "",
        plan.catalog.name if plan.catalog is not None else "",
        "begun" if plan.has_begun else "no" if plan.problems else "yes",
    )


def _catalog_row(plan: CatalogPlan) -> tuple[str, ...]:
    state = "no" if plan.problem else "yes" if plan.manifest is not None else "exists"
    return plan.source, plan.name, plan.image, state


def _problems(packages: Iterable[PackagePlan]) -> Iterator[tuple[str, str]]:
    return ((f"Subscription {full_name(each.subscription)}", problem) for each in packages for problem in each.problems)


def _catalog_problems(catalogs: Iterable[CatalogPlan], packages: Sequence[PackagePlan]) -> Iterator[tuple[str, str]]:
    """Of the CatalogSources whose problem no package has."""
    explained = {each.catalog.source for each in packages if each.catalog is not None and each.problems}
    return (
        (f"CatalogSource {each.source}", each.problem)
        for each in catalogs
        if each.problem and each.source not in explained
    )


def _notes(packages: Iterable[PackagePlan]) -> Iterator[tuple[str, str]]:
    return (
        (f"Subscription {full_name(each.subscription)}", note)
        for each in packages
        for note in (*next_commands(each), *each.notes)
    )


def next_commands(plan: PackagePlan) -> Iterator[str]:
    """The commands for a migration that has begun."""
    if plan.has_begun:
        command = f"olm migrate v0 {plan.package}"
        back = "" if is_past_undo(plan.version) else f", and `{command} --undo` gives it back to OLM v0"
        yield f"its migration has begun: `{command}` continues it{back}"


def print_list(title: str, entries: Sequence[tuple[str, str]]) -> None:
    """Print sentences about subjects under a title, if there are some."""
    if entries:
        say(f"\n{title}")
        for subject, sentence in entries:
            say(f"  {clean(subject)}: {clean(sentence)}")
