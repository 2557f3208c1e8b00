"""`olm show PACKAGE`: one package in each of its catalogs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from olmctl.commands import warn
from olmctl.operators.catalog_offers import offered_entries
from olmctl.operators.left_installations import LeftInstallation, left_installations, with_left
from olmctl.operators.operator_state import installed, part, text_at
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.packages import PackageEntry, installed_packages, with_summary
from olmctl.operators.revisions import print_revisions, with_revisions
from olmctl.operators.search import NO_SUMMARIES, as_value
from olmctl.operators.session import Session, on_cluster
from olmctl.terminal import clean, clean_lines
from olmkit.api.meta import Object
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.fbc import channel_graph
from olmkit.fbc.catalog import Entry

_COLUMNS = (Column("CHANNEL"), Column("HEAD"), Column("VERSION"), Column("ENTRIES"))


@on_cluster
async def show(session: Session, package: str, catalog: str | None, output: str | None) -> int:
    """Show PACKAGE: its description, channels and versions, whether it is installed, and the revisions of what is."""
    entries = []
    for each in await offered_entries(session, package, catalog):
        entry, problem = await with_summary(session, each)
        entries.append(entry)
        if problem:
            warn(f"{NO_SUMMARIES} {clean(problem)}")
    operators = await installed_packages(session)
    left = [each for each in await left_installations(session) if each.package == package]
    revisions = await with_revisions(session, operators.get(package, ()))
    if output:
        all_installed = with_left(operators, left)
        print_object({"packages": [_value(each, all_installed) for each in entries], "operators": revisions}, output)
        return 0
    for number, entry in enumerate(entries):
        if number:
            print()
        _print(entry, operators.get(package, ()), left)
    print_revisions(revisions)
    return 0


def _value(entry: PackageEntry, operators: Mapping[str, list[Object]]) -> Object:
    value = as_value(entry, operators)
    value["description"] = text_at(entry.obj, "spec", "description") or value.get("description", "")
    return {**value, "defaultChannel": text_at(entry.obj, "spec", "defaultChannel"), "channels": list(_channels(entry))}


def _print(entry: PackageEntry, operators: Sequence[Object], left: Sequence[LeftInstallation]) -> None:
    for name, text in _facts(entry, operators, left):
        if text:
            print(f"{name + ':':<14} {clean(text)}")
    print()
    rows = [
        (
            f"{each['name']} (default)" if each["isDefault"] else each["name"],
            each["head"],
            each["version"],
            each["entries"],
        )
        for each in _channels(entry)
    ]
    print_table(_COLUMNS, rows)
    description = clean_lines(text_at(entry.obj, "spec", "description") or entry.description).strip()
    if description:
        print(f"\n{description}")


def _facts(
    entry: PackageEntry, operators: Sequence[Object], left: Sequence[LeftInstallation]
) -> Iterator[tuple[str, str]]:
    yield "Package", entry.name
    yield "Catalog", entry.catalog
    yield "Display name", text_at(entry.summary, "displayName")
    yield "Provider", text_at(entry.summary, "provider")
    yield "Capability", text_at(entry.summary, "capability")
    yield "Categories", ", ".join(entry.texts("categories"))
    yield "Keywords", ", ".join(entry.texts("keywords"))
    yield "Deprecated", entry.deprecation
    yield "Versions", text_at(entry.obj, "metadata", "annotations", VERSIONS_ANNOTATION).replace(",", ", ")
    for each in operators:
        yield "Installed", f"{installed(each) or 'nothing yet'} (Operator {each['metadata']['name']})"
    for found in left:
        yield "Installed", f"{installed(found.operator) or 'nothing yet'} ({found.sentence})"


def _channels(entry: PackageEntry) -> Iterator[Object]:
    """The channels of the Package object, with the heads of the summary; without it their names alone."""
    heads = {
        text_at(each, "name"): each.get("head")
        for each in entry.summary.get("channels") or ()
        if isinstance(each, dict)
    }
    for channel in part(entry.obj, "spec", "channels") or ():
        entries = channel.get("entries") or ()
        head = heads.get(channel["name"])
        yield {
            "name": channel["name"],
            "isDefault": channel["name"] == text_at(entry.obj, "spec", "defaultChannel"),
            "head": text_at(head, "name")
            or ", ".join(channel_graph.heads({each["name"]: _entry(each) for each in entries})),
            "version": text_at(head, "version"),
            "entries": len(entries),
        }


def _entry(entry: Object) -> Entry:
    return Entry(
        entry["name"], text_at(entry, "replaces"), tuple(entry.get("skips") or ()), text_at(entry, "skipRange")
    )
