"""The packages that can be installed: Package objects, and the summaries that catalogd serves of them.

Package objects are there while catalogd is away; only summaries have provider, keywords and deprecations, so a command reports
what it could not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.errors import NothingFound
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import operators, packages
from olmkit.api.meta import Object
from olmkit.api.names import is_label_value
from olmkit.api.package_annotations import CHANNELS_ANNOTATION, LATEST_VERSION_ANNOTATION
from operator_controller.resolve.formatting import join_names


@dataclass(frozen=True)
class PackageEntry:
    """One package of one catalog: its Package object, with or without spec, and its summary, {} if it could not be read."""

    name: str
    catalog: str
    obj: Object
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def latest(self) -> str:
        """The version at the head of its default channel."""
        return text_at(self.obj, "metadata", "annotations", LATEST_VERSION_ANNOTATION)

    @property
    def channels(self) -> str:
        """The names of its channels, comma-separated."""
        return text_at(self.obj, "metadata", "annotations", CHANNELS_ANNOTATION)

    @property
    def description(self) -> str:
        """Its description."""
        return text_at(self.summary, "description") or text_at(self.obj, "spec", "description")

    @property
    def deprecation(self) -> str:
        """The reason why the package is deprecated; "" if it is not."""
        value = self.summary.get("deprecated")
        return value if isinstance(value, str) else "no reason is given" if value else ""

    def texts(self, key: str) -> list[str]:
        """The texts of a list in the summary."""
        return [each for each in self.summary.get(key) or () if isinstance(each, str)]


async def all_packages(session: Session) -> tuple[list[PackageEntry], list[str]]:
    """The packages of all catalogs, ordered by name and catalog, and sentences about catalogs without summaries.

    Objects are read without their specs, which hold icons and every channel entry, unless a summary is missing.
    """
    objects, _ = await session.client.list(packages.KIND, metadata_only=True)
    names = sorted({catalog for each in objects if (catalog := _label(each, packages.CATALOG_LABEL))})
    answers = await asyncio.gather(*(_summaries(session, name) for name in names))
    summaries = {name: answer for name, answer in zip(names, answers, strict=True) if isinstance(answer, dict)}
    errors = [_problem(name, answer) for name, answer in zip(names, answers, strict=True) if isinstance(answer, str)]
    if errors or any(not _label(each, packages.PACKAGE_LABEL) for each in objects):
        objects, _ = await session.client.list(packages.KIND)
    return sorted(map(_entry, objects, [summaries] * len(objects)), key=lambda each: (each.name, each.catalog)), errors


async def package_objects(session: Session, name: str) -> list[PackageEntry]:
    """The package in each catalog that has it, with its spec and without its summary."""
    selector = f"{packages.PACKAGE_LABEL}={name}" if is_label_value(name) else None
    objects, _ = await session.client.list(packages.KIND, label_selector=selector)
    found = [each for each in map(_entry, objects, [{}] * len(objects)) if each.name == name]
    return sorted(found, key=lambda each: each.catalog)


async def with_summary(session: Session, entry: PackageEntry) -> tuple[PackageEntry, str]:
    """The package with its summary, and a sentence if that cannot be read."""
    answer = await _summaries(session, entry.catalog)
    if isinstance(answer, str):
        return entry, _problem(entry.catalog, answer)
    return PackageEntry(entry.name, entry.catalog, entry.obj, answer.get(entry.name, {})), ""


async def installed_packages(session: Session) -> dict[str, list[Object]]:
    """The Operators by package."""
    found, _ = await session.client.list(operators.KIND)
    by_package: dict[str, list[Object]] = {}
    for each in found:
        by_package.setdefault(text_at(each, "spec", "packageName"), []).append(each)
    return by_package


def check_channels(entries: Sequence[PackageEntry], requested: Sequence[str]) -> None:
    """Raises NothingFound if the package has channels and none of the requested ones, in none of its catalogs."""
    channels = channel_names(entries)
    if requested and channels and not {*channels, operators.EVERY_CHANNEL} & {*requested}:
        text = f"package {entries[0].name} has no channel {join_names(requested, 'or')}: it has {', '.join(channels)}"
        raise NothingFound(text)


def channel_names(entries: Iterable[PackageEntry]) -> list[str]:
    """The names of the channels of a package in all of its catalogs."""
    listed = (part(entry.obj, "spec", "channels") or () for entry in entries)
    return sorted({channel["name"] for channels in listed for channel in channels})


async def _summaries(session: Session, catalog: str) -> dict[str, Mapping[str, Any]] | str:
    """The summaries of a catalog by package, or why they cannot be read."""
    try:
        answer = await read_catalog(session, catalog, "api/v1/packages")
    except CatalogReadError as error:
        return str(error)
    listed = answer.get("packages")
    return {
        name: each
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict) and (name := text_at(each, "name"))
    }


def _problem(catalog: str, reason: str) -> str:
    return f"provider, keywords and deprecations are not shown for catalog {clean(f'{catalog}: {reason}')}"


def _label(obj: Object, name: str) -> str:
    return text_at(obj, "metadata", "labels", name)


def _entry(obj: Object, summaries: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> PackageEntry:
    name = text_at(obj, "spec", "packageName") or _label(obj, packages.PACKAGE_LABEL)
    catalog = text_at(obj, "spec", "catalog", "name") or _label(obj, packages.CATALOG_LABEL)
    return PackageEntry(name, catalog, obj, summaries.get(catalog, {}).get(name, {}))
