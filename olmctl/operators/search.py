"""`olm search [WORD]`: the packages that can be installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

import click

from olmctl.commands import NOT_FOUND, CommandError, warn
from olmctl.operators.catalog_offers import no_packages_text
from olmctl.operators.left_installations import left_installations, report_left_installations, with_left
from olmctl.operators.operator_state import text_at
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.packages import PackageEntry, all_packages, installed_packages
from olmctl.operators.session import Session, on_cluster
from olmctl.terminal import clean, shorten
from olmkit.api import packages
from olmkit.api.meta import Object
from operator_controller.resolve.explain.spec_hints import MAX_SUGGESTIONS, similar_names
from operator_controller.resolve.formatting import join_names

MAX_DESCRIPTION_LENGTH = 60
RESOURCE = f"package.{packages.KIND.group}"
"""The name of Packages for kubectl, as in `-o name`."""
NO_SUMMARIES = "provider, keywords and deprecations are not shown for catalog"
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
    entries, problems = await all_packages(session)
    for problem in problems:
        warn(f"{NO_SUMMARIES} {clean(problem)}")
    found = matching(entries, word or "")
    if word and not found:
        hint = suggestion(word, {each.name for each in entries}) if entries else await no_packages_text(session)
        raise CommandError(NOT_FOUND, f"no package matches {word}: {hint}")
    left = await left_installations(session)
    operators = with_left(await installed_packages(session), left)
    if output == "name":
        for each in found:
            print(f"{RESOURCE}/{each.obj['metadata']['name']}")
    elif output in ("json", "yaml"):
        print_object({"packages": [as_value(each, operators) for each in found]}, output)
    elif not found:
        click.echo(f"No packages found: {await no_packages_text(session)}.", err=True)
    else:
        print_table(
            _COLUMNS, [_row(each, operators) for each in found], is_wide=output == "wide", headers=not no_headers
        )
        names = {each.name for each in found}
        report_left_installations(each for each in left if each.package in names)
    return 0


def suggestion(word: str, names: Set[str]) -> str:
    """Suggest what to search for instead of a word that no package has: names that are similar, or contain a similar word."""
    words = similar_names(word, {part for name in names for part in name.split("-")})
    containing = sorted(name for name in names if not set(words).isdisjoint(name.split("-")))
    found = list(dict.fromkeys((*similar_names(word, names), *containing)))[:MAX_SUGGESTIONS]
    return clean(f"did you mean {join_names(found, 'or')}?") if found else "`olm search` lists all packages"


def matching(entries: Iterable[PackageEntry], word: str) -> list[PackageEntry]:
    """The packages that contain the word, the best first: by where it stands, then in the order given."""
    ranked = [(rank, entry) for entry in entries if (rank := _rank(entry, word.casefold())) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda each: each[0])]


def _rank(entry: PackageEntry, word: str) -> int | None:
    """0 for the best match, None for none. Every package matches an empty word."""
    name, title = entry.name.casefold(), text_at(entry.summary, "displayName").casefold()
    if name == word or not word:
        return 0
    places = (
        (name.startswith(word) or title.startswith(word)),
        (word in name or word in title),
        any(word == each.casefold() for each in entry.texts("keywords")),
        any(word in each.casefold() for each in (*entry.texts("keywords"), *entry.texts("categories"))),
        word in text_at(entry.summary, "provider").casefold(),
        word in entry.description.casefold(),
    )
    return next((number for number, matches in enumerate(places, 1) if matches), None)


def installed_version(entry: PackageEntry, operators: Mapping[str, list[Object]]) -> str:
    """The installed versions of the package from this catalog; "pending" for an Operator without one and without a catalog."""
    found = []
    for each in operators.get(entry.name, ()):
        catalog, version = (text_at(each, "status", "installed", key) for key in ("catalog", "version"))
        if catalog in (entry.catalog, ""):
            found.append(version or "pending")
    return ", ".join(found)


def as_value(entry: PackageEntry, operators: Mapping[str, list[Object]]) -> Object:
    """The package for `-o json`: its summary, and what is known without it."""
    known = {
        "latest": entry.latest,
        "installed": installed_version(entry, operators),
        "description": entry.description,
        "channels": [{"name": each} for each in entry.channels.split(",") if each],
        **entry.summary,
    }
    return {"name": entry.name, "catalog": entry.catalog, **{key: value for key, value in known.items() if value}}


def _row(entry: PackageEntry, operators: Mapping[str, list[Object]]) -> tuple[object, ...]:
    marked = f"(deprecated) {entry.description}" if entry.deprecation else entry.description
    return (
        entry.name,
        entry.catalog,
        entry.latest,
        installed_version(entry, operators),
        text_at(entry.summary, "provider"),
        shorten(clean(marked), MAX_DESCRIPTION_LENGTH),
        entry.channels,
        ",".join(entry.texts("categories")),
    )
