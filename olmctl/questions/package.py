"""One package in each of its catalogs: its channels and versions, and what is installed of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from olmctl.questions.catalog import package_value
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.errors import after
from olmctl.questions.left_installations import LeftInstallation, left_installations, with_left
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.packages import PackageEntry, installed_packages, with_summary
from olmctl.questions.revisions import with_revisions
from olmctl.questions.session import Session
from olmkit.api.meta import Object
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.fbc import channel_graph
from olmkit.fbc.catalog import Entry


@dataclass(frozen=True)
class ChannelSummary:
    """A channel of a package. `head` and `version` are those of its newest bundle; `version` is empty if it is not known."""

    name: str
    is_default: bool
    head: str
    version: str
    entries: int


@dataclass(frozen=True)
class PackageDetails:
    """A package in the catalogs that have it."""

    entries: tuple[PackageEntry, ...]
    problems: tuple[str, ...]
    """Sentences about the catalogs whose summaries cannot be read."""
    operators: tuple[Object, ...]
    """The Operators of the package."""
    left: tuple[LeftInstallation, ...]
    """The installations of it without an Operator."""
    revisions: tuple[Object, ...]
    """Of each Operator, as with_revisions() has them."""

    def installed(self, entry: PackageEntry) -> dict[str, list[Object]]:
        """The installations of the package, also without an Operator, as if Operators reported them; by package."""
        return with_left({entry.name: self.operators}, self.left)


async def package_details(session: Session, package: str, catalog: str | None = None) -> PackageDetails:
    """The package in each catalog that has it, or in that one. Raises NothingFound with what to do, ApiError."""
    entries: list[PackageEntry] = []
    problems: list[str] = []
    with after(problems):
        operators = (await installed_packages(session)).get(package, ())
        for each in await offered_entries(session, package, catalog, operators):
            entry, problem = await with_summary(session, each)
            entries.append(entry)
            problems += [problem] * bool(problem)
        left = [each for each in await left_installations(session) if each.package == package]
        revisions = await with_revisions(session, operators)
    return PackageDetails(tuple(entries), tuple(problems), tuple(operators), tuple(left), tuple(revisions))


def channels(entry: PackageEntry) -> Iterator[ChannelSummary]:
    """The channels of the Package object, with the heads of the summary; without it their names alone."""
    heads = {
        text_at(each, "name"): each.get("head")
        for each in entry.summary.get("channels") or ()
        if isinstance(each, dict)
    }
    for channel in part(entry.obj, "spec", "channels") or ():
        entries = channel.get("entries") or ()
        head = heads.get(channel["name"])
        yield ChannelSummary(
            channel["name"],
            channel["name"] == text_at(entry.obj, "spec", "defaultChannel"),
            text_at(head, "name") or ", ".join(channel_graph.heads({each["name"]: _entry(each) for each in entries})),
            text_at(head, "version"),
            len(entries),
        )


def description(entry: PackageEntry) -> str:
    """The whole description: that of the Package object, else that of the summary, which is shorter."""
    return text_at(entry.obj, "spec", "description") or entry.description


def versions(entry: PackageEntry) -> str:
    """The versions that an Operator can request, newest first, and the number of those that are not listed."""
    return text_at(entry.obj, "metadata", "annotations", VERSIONS_ANNOTATION)


def details_value(entry: PackageEntry, operators: Mapping[str, Sequence[Object]]) -> Object:
    """The package for programs, with its channels. `operators`: what is installed, by package."""
    value = package_value(entry, operators)
    value["description"] = text_at(entry.obj, "spec", "description") or value.get("description", "")
    shown = [
        {
            "name": each.name,
            "isDefault": each.is_default,
            "head": each.head,
            "version": each.version,
            "entries": each.entries,
        }
        for each in channels(entry)
    ]
    return {**value, "defaultChannel": text_at(entry.obj, "spec", "defaultChannel"), "channels": shown}


def _entry(entry: Object) -> Entry:
    return Entry(
        entry["name"], text_at(entry, "replaces"), tuple(entry.get("skips") or ()), text_at(entry, "skipRange")
    )
