"""`olm search [WORD]`: the packages that can be installed."""

from __future__ import annotations

from olmctl.commands import NOT_FOUND, CommandError, warn
from olmctl.operators.installation_output import report_left_installations
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.session import on_cluster
from olmctl.questions.catalog import SearchResult, installed_version, package_value
from olmctl.questions.catalog import search as find_packages
from olmctl.questions.catalog_offers import no_packages_text
from olmctl.questions.operator_state import text_at
from olmctl.questions.packages import PackageEntry
from olmctl.questions.session import Session
from olmctl.terminal import clean, shorten
from olmctl.terminal_output import say
from olmkit.api import packages

MAX_DESCRIPTION_LENGTH = 60
RESOURCE = f"package.{packages.KIND.group}"
"""The name of Packages for kubectl, as in `-o name`."""
_COLUMNS = (
    Column("PACKAGE"),
    Column("CATALOG"),
    Column("LATEST"),
    Column("INSTALLED"),
    Column("PROVIDER"),
    Column("DESCRIPTION"),
    Column("CHANNELS", is_wide=True),
    Column("CATEGORIES", is_wide=True),
)


@on_cluster
async def search(session: Session, word: str | None, output: str | None, no_headers: bool) -> int:
    """List the packages of all catalogs, or those that contain WORD in their name, keywords or description, best first."""
    found = await find_packages(session, word or "")
    for problem in found.problems:
        warn(problem)
    if found.hint:
        raise CommandError(NOT_FOUND, f"no package matches {word}: {found.hint}")
    if output == "name":
        for each in found.packages:
            say(f"{RESOURCE}/{each.obj['metadata']['name']}")
    elif output in ("json", "yaml"):
        print_object({"packages": [package_value(each, found.operators) for each in found.packages]}, output)
    elif not found.packages:
        say(f"No packages found: {await no_packages_text(session)}.", err=True)
    else:
        rows = [_row(each, found) for each in found.packages]
        print_table(_COLUMNS, rows, is_wide=output == "wide", headers=not no_headers)
        names = {each.name for each in found.packages}
        report_left_installations(each for each in found.left if each.package in names)
    return 0


def _row(entry: PackageEntry, found: SearchResult) -> tuple[object, ...]:
    marked = f"(deprecated) {entry.description}" if entry.deprecation else entry.description
    return (
        entry.name,
        entry.catalog,
        entry.latest,
        installed_version(entry, found.operators),
        text_at(entry.summary, "provider"),
        shorten(clean(marked), MAX_DESCRIPTION_LENGTH),
        entry.channels,
        ",".join(entry.texts("categories")),
    )
