"""The upgrade graph of a package, with what runs on the cluster and what is in reach of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from olmctl.authoring import graph_drawing
from olmctl.authoring.graph_drawing import Drawing, DrawingInput
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.errors import QuestionError, after
from olmctl.questions.exclusions import excluded_versions
from olmctl.questions.left_installations import left_installations, with_left
from olmctl.questions.offered_versions import RunningOperator, running_operator
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.owners import is_called
from olmctl.questions.packages import PackageEntry, check_channels, installed_packages
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import catalogs
from olmkit.api.meta import Object
from olmkit.fbc.catalog import Channel, Deprecation, Deprecations, Entry, Package
from operator_controller.resolve.documents.document_reader import InvalidDocument, read_package
from operator_controller.resolve.package.package_content import PackageContent, PackageTooLarge
from operator_controller.resolve.package.upgrade_graph import UpgradeGraph, UpgradeStart
from operator_controller.resolve.selection.catalog_and_bundle_choice import selected_channels
from operator_controller.resolve.snapshot.cluster_snapshot import excluded_precedences


@dataclass(frozen=True)
class PackageGraph:
    """The graph of a package in one catalog."""

    package: str
    catalog: str
    drawing: Drawing
    versions: dict[str, str]
    """The version of each bundle; "" if it is not known."""
    excluded: frozenset[str] = frozenset()
    """The versions that are never chosen."""
    warnings: tuple[str, ...] = ()
    """Sentences about what the graph lacks, and about other catalogs."""


async def package_graph(
    session: Session, name_or_package: str, catalog: str | None = None, channel: str | None = None
) -> PackageGraph:
    """The graph of the package of an Operator or of that name, in one catalog: the one that is named, the one that an Operator is
    installed from, or the one with the highest priority. Raises QuestionError, ApiError."""
    by_package = with_left(await installed_packages(session), await left_installations(session))
    package, operators = _asked_for(name_or_package, by_package)
    entries = await offered_entries(session, package, catalog, operators)
    check_channels(entries, [channel] if channel else [])
    warnings: list[str] = []
    with after(warnings):
        entry = await _chosen(session, entries, operators, warnings)
        document = await _document(session, entry, warnings)
        try:
            found = drawing_input(document, operators)
        except (InvalidDocument, PackageTooLarge) as error:
            text = f"the graph of {package} in catalog {entry.catalog} cannot be drawn: {error}"
            raise QuestionError(text) from error
    for name in sorted(found.running.difference(found.versions)) if found.versions else ():
        warnings.append(f"{name}, which runs, is not in catalog {entry.catalog}")
    if channel is not None:
        found = replace(found, channels=[each for each in found.channels if each.name == channel])
    drawing = graph_drawing.draw(package, found)
    excluded = frozenset(found.versions.get(name, "") for name in found.excluded)
    return PackageGraph(package, entry.catalog, drawing, dict(found.versions), excluded, tuple(warnings))


def _asked_for(name: str, by_package: dict[str, list[Object]]) -> tuple[str, Sequence[Object]]:
    """The package, and the Operators whose bundles are marked: the one that is called so, else all of the package of the name."""
    for package, found in by_package.items():
        for each in found:
            if is_called(each, name):
                return package, [each]
    return name, by_package.get(name, ())


async def _chosen(
    session: Session, entries: Sequence[PackageEntry], running: Iterable[Object], warnings: list[str]
) -> PackageEntry:
    """The package in one catalog: that of an Operator, else the one with the highest priority."""
    by_catalog = {each.catalog: each for each in entries}
    for each in running:
        if (own := text_at(each, "status", "installed", "catalog")) in by_catalog:
            return by_catalog[own]
    if len(entries) > 1:
        found, _ = await session.client.list(catalogs.KIND)
        priorities = {each["metadata"]["name"]: part(each, "spec", "priority") or 0 for each in found}
        best = min(entries, key=lambda each: (-priorities.get(each.catalog, 0), each.catalog))
        text = f"package {best.name} is in {', '.join(by_catalog)}: this is the graph of {best.catalog} (--catalog)"
        warnings.append(text)
        return best
    return entries[0]


async def _document(session: Session, entry: PackageEntry, warnings: list[str]) -> Object:
    """The resolution document; without catalogd what the Package object has of it, which lacks the versions."""
    try:
        return await read_catalog(session, entry.catalog, "api/v1/resolution", {"package": entry.name})
    except CatalogReadError as error:
        warnings.append(f"edges of skipRange and deprecations are not shown: {clean(str(error))}")
    channels = part(entry.obj, "spec", "channels") or []
    names = {each.get("name") for channel in channels for each in channel.get("entries") or ()}
    return {
        "package": entry.name,
        "defaultChannel": text_at(entry.obj, "spec", "defaultChannel"),
        "channels": channels,
        "bundles": [{"name": name} for name in sorted(filter(None, names))],
    }


def drawing_input(document: Object, operators: Iterable[Object]) -> DrawingInput:
    """A resolution document as blobs to draw, with marks for the Operators. Raises InvalidDocument or PackageTooLarge."""
    content, operators = read_package(document), list(operators)
    running = [each for each in map(running_operator, operators) if each.bundle]
    channels = [
        Channel(
            each.name,
            content.name,
            tuple(Entry(one.name, one.replaces, one.skips, one.skip_range) for one in each.entries),
        )
        for each in content.channels
    ]
    return DrawingInput(
        Package(content.name, content.default_channel, "", None),
        channels,
        {name: str(bundle.version or "") for name, bundle in content.bundles.items()},
        [Deprecations(content.name, tuple(_deprecations(document)))],
        frozenset(each.bundle for each in running),
        frozenset(
            name
            for each, operator in zip(map(running_operator, operators), operators, strict=True)
            if each.bundle
            for name in reachable(content, each, _excluded(content, operator))
        ),
        frozenset(name for each in operators for name in _excluded(content, each)),
    )


def _excluded(content: PackageContent, operator: Object) -> frozenset[str]:
    """The bundles that the Operator never chooses."""
    excluded = excluded_precedences(excluded_versions(operator))
    found = content.bundles.items()
    return frozenset(name for name, each in found if each.version is not None and each.version.precedence in excluded)


def reachable(content: PackageContent, running: RunningOperator, excluded: Set[str] = frozenset()) -> frozenset[str]:
    """The bundles in the channels that the Operator follows to which upgrades lead from what it runs, in any number of steps.

    All other bundles of these channels if edges do not count. None that is `excluded`, and none to which only such ones lead.
    """
    channels, _ = selected_channels(content, running.request)
    versions = {name: bundle.version for name, bundle in content.bundles.items()}
    offered = {entry.name for channel in channels for entry in channel.entries if entry.name in versions} - excluded
    if running.is_unconstrained:
        return frozenset(offered - {running.bundle})
    paths = UpgradeGraph(channels, versions).paths_from(UpgradeStart(running.bundle, running.version), offered)
    return frozenset(paths.previous)


def _deprecations(document: Object) -> Iterable[Deprecation]:
    for each in document.get("deprecations") or ():
        schema, name = (text_at(each, "reference", key) for key in ("schema", "name"))
        yield Deprecation(schema, name, text_at(each, "message"))
