"""`olm show PACKAGE`: one package in each of its catalogs."""

from __future__ import annotations

from collections.abc import Iterator

from olmctl.commands import WRONG_USAGE, CommandError, warn
from olmctl.operators.contents_output import show_contents
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.revisions_output import print_revisions
from olmctl.operators.session import on_cluster
from olmctl.questions.crd_check import crd_check
from olmctl.questions.operator_state import installed, text_at
from olmctl.questions.package import PackageDetails, channels, description, details_value, package_details, versions
from olmctl.questions.packages import PackageEntry
from olmctl.questions.session import Session
from olmctl.terminal import clean, clean_lines
from olmctl.terminal_output import say

_COLUMNS = (Column("CHANNEL"), Column("HEAD"), Column("VERSION"), Column("ENTRIES"))


@on_cluster
async def show(
    session: Session, package: str, catalog: str | None, output: str | None, *, permissions: bool, version: str | None
) -> int:
    """Show PACKAGE: its description, channels and versions, whether it is installed, and the revisions of what is. With
    `permissions`, what a version brings."""
    if permissions:
        return await show_contents(session, package, catalog, version, output)
    if version is not None:
        raise CommandError(WRONG_USAGE, "--version is for --permissions: olm show lists all versions")
    found = await package_details(session, package, catalog)
    for problem in found.problems:
        warn(problem)
    if output:
        packages = [details_value(each, found.installed(each)) for each in found.entries]
        print_object({"packages": packages, "operators": list(found.revisions)}, output)
        return 0
    for number, entry in enumerate(found.entries):
        if number:
            say()
        _print(entry, found)
    print_revisions(found.revisions)
    return 0


def _print(entry: PackageEntry, found: PackageDetails) -> None:
    for name, text in _facts(entry, found):
        if text:
            say(f"{name + ':':<14} {clean(text)}")
    say()
    rows = [
        (f"{each.name} (default)" if each.is_default else each.name, each.head, each.version, each.entries)
        for each in channels(entry)
    ]
    print_table(_COLUMNS, rows)
    text = clean_lines(description(entry)).strip()
    if text:
        say(f"\n{text}")


def _facts(entry: PackageEntry, found: PackageDetails) -> Iterator[tuple[str, str]]:
    yield "Package", entry.name
    yield "Catalog", entry.catalog
    yield "Display name", text_at(entry.summary, "displayName")
    yield "Provider", text_at(entry.summary, "provider")
    yield "Capability", text_at(entry.summary, "capability")
    yield "Categories", ", ".join(entry.texts("categories"))
    yield "Keywords", ", ".join(entry.texts("keywords"))
    yield "Deprecated", entry.deprecation
    yield "Versions", versions(entry).replace(",", ", ")
    for each in found.operators:
        yield "Installed", f"{installed(each) or 'nothing yet'} (Operator {each['metadata']['name']})"
    for each in found.operators:
        if (check := crd_check(each)) is not None:
            yield "Waits", f"{check.version} (Operator {each['metadata']['name']}): {check.text}"
    for left in found.left:
        yield "Installed", f"{installed(left.operator) or 'nothing yet'} ({left.sentence})"
