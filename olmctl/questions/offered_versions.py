"""Checks whether a catalog offers the version or range that is asked for, and an upgrade to it from what runs.

Package objects list the newest versions, also while catalogd is away; the others are read from catalogd. What cannot be read
refuses nothing: operator-controller decides then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.errors import NothingFound, Refused
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.owners import owner_of
from olmctl.questions.packages import PackageEntry, package_objects
from olmctl.questions.requested_fields import followed_channels
from olmctl.questions.session import Session
from olmkit.api.meta import Object
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.errors import ApiError
from olmkit.gocompat.text import quoted
from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import BadRange, BadVersion, Version, parse_bundle_version, parse_version
from operator_controller.resolve.documents.document_reader import InvalidDocument, read_package
from operator_controller.resolve.explain.suggestions import unreadable_skip_ranges
from operator_controller.resolve.formatting import format_versions
from operator_controller.resolve.package.package_content import PackageTooLarge
from operator_controller.resolve.package.upgrade_graph import UpgradeStart, direct_upgrades
from operator_controller.resolve.selection.catalog_and_bundle_choice import selected_channels
from operator_controller.resolve.snapshot.package_snapshot import PackageRequest
from operator_controller.resolve.snapshot.spec_terms import terms_of


@dataclass(frozen=True)
class RunningOperator:
    """The request of one Operator, and the bundle that it runs."""

    request: PackageRequest
    bundle: str
    version: Version | None
    is_unconstrained: bool = False
    """True if edges do not count for its upgrades: upgradeConstraintPolicy Ignore."""


async def check_version(
    session: Session, entries: Sequence[PackageEntry], version: str | None, found: Object | None
) -> None:
    """Raises NothingFound if it is certain that no catalog offers `version`, which is one version or a range.

    `entries` are the package in the catalogs that count; `found` is the Operator as it is, which may ask for what it runs.
    """
    versions = requested_versions(version or "")
    if versions is None or not entries or _is_offered(versions, [text_at(found, "status", "installed", "version")]):
        return
    if any(_is_offered(versions, _listed(entry)[0]) for entry in entries):
        return
    offered: set[str] = set()
    for entry in entries:
        listed, is_complete = _listed(entry)
        try:
            offered.update(listed if is_complete else await _read_versions(session, entry))
        except CatalogReadError:
            return
    if not _is_offered(versions, offered):
        asked = version if versions.pinned else f"in range {quoted(versions.text)}"
        has = format_versions(sorted(set(_parsed(offered))), versions.pinned)
        raise NothingFound(f"package {entries[0].name} has no version {asked}: it has {has}")


async def package_versions(session: Session, package: str) -> list[Version] | None:
    """The versions of a package that the catalogs offer, none if no catalog has it; None if that cannot be read."""
    offered: set[str] = set()
    try:
        for entry in await package_objects(session, package):
            listed, is_complete = _listed(entry)
            offered.update(listed if is_complete else await _read_versions(session, entry))
    except (ApiError, CatalogReadError):
        return None
    return _parsed(offered)


async def check_upgrade(session: Session, entries: Sequence[PackageEntry], asked: Object) -> None:
    """Raises Refused if it is certain that no entry of a channel permits the upgrade from the bundle that runs
    to the one version that the Operator is to ask for. `entries` are the package in the catalogs that count."""
    running = running_operator(asked)
    wanted = running.request.versions
    if wanted is None or wanted.pinned is None or not running.bundle or running.is_unconstrained:
        return
    possible: set[Version] = {running.version} if running.version is not None else set()
    unreadable: list[str] = []
    for entry in entries:
        try:
            document = await read_catalog(session, entry.catalog, "api/v1/resolution", {"package": entry.name})
            content = read_package(document)
        except (CatalogReadError, InvalidDocument, PackageTooLarge):
            return
        channels, _ = selected_channels(content, running.request)
        unreadable += unreadable_skip_ranges(channels)
        steps = direct_upgrades(channels, UpgradeStart(running.bundle, running.version)).values()
        bundles = (content.bundles.get(name) for name in frozenset[str]().union(*steps))
        possible.update(each.version for each in bundles if each is not None and each.version is not None)
    if any(map(wanted.matches, possible)):
        return
    others = sorted(possible - {running.version})
    where = (
        f"from there, upgrades lead to {format_versions(others, wanted.pinned)}"
        if others
        else "no upgrade leads from there"
    )
    where = "; ".join([where, *unreadable])
    text = f"no catalog upgrades {running.version} to {wanted.pinned}: {where}. `olm graph` shows them"
    raise Refused(f"{asked['metadata']['name']}: {text}; {_way_around(asked)}")


def _way_around(asked: Object) -> str:
    """The way to a version that no upgrade leads to. The options are refused for what a ClusterExtension sets."""
    owner = owner_of(asked)
    if owner is None:
        return "--upgrade-constraint-policy Ignore permits all versions; --force asks for it all the same"
    terms = terms_of(is_of_extension=True)
    return f"{terms.policy} {terms.ignore} of {owner} permits all versions ({owner.command('edit')})"


def running_operator(operator: Object) -> RunningOperator:
    """Read the request from the spec of an Operator, and the bundle that it runs. What cannot be read is as if it were not
    set."""
    version: Version | None = None
    versions: MastermindsRange | None = None
    try:
        version = parse_version(text_at(operator, "status", "installed", "version"))
        if text := text_at(operator, "spec", "version"):
            versions = MastermindsRange.parse(text)
    except (BadVersion, BadRange):
        pass
    request = PackageRequest(text_at(operator, "spec", "packageName"), followed_channels(operator["spec"]), versions)
    is_unconstrained = text_at(operator, "spec", "upgradeConstraintPolicy") == "Ignore"
    return RunningOperator(request, text_at(operator, "status", "installed", "name"), version, is_unconstrained)


def pinned_version(version: str) -> Version | None:
    """The version, if spec.version is one version and not a range."""
    versions = requested_versions(version)
    return versions.pinned if versions else None


def without_prefix(version: str) -> str:
    """The version without the v of its tag."""
    return version[1:] if version.startswith("v") and version[1:2].isdigit() else version


def requested_versions(version: str) -> MastermindsRange | None:
    """The versions that spec.version selects; None for an empty text, and for one that the API server refuses."""
    try:
        return MastermindsRange.parse(version) if version else None
    except BadRange:
        return None


def _listed(entry: PackageEntry) -> tuple[list[str], bool]:
    """The versions that the Package object lists, and whether these are all."""
    listed, _, more = text_at(entry.obj, "metadata", "annotations", VERSIONS_ANNOTATION).partition(" ")
    return listed.split(","), bool(listed) and not more


async def _read_versions(session: Session, entry: PackageEntry) -> list[str]:
    """The versions of the bundles of its channels. Raises CatalogReadError."""
    answer = await read_catalog(session, entry.catalog, "api/v1/resolution", {"package": entry.name})
    channels = part(answer, "channels") or ()
    names = {text_at(each, "name") for channel in channels for each in part(channel, "entries") or ()}
    return [text_at(each, "version") for each in part(answer, "bundles") or () if text_at(each, "name") in names]


def _is_offered(wanted: MastermindsRange, versions: Iterable[str]) -> bool:
    return any(map(wanted.matches, _parsed(versions)))


def _parsed(versions: Iterable[str]) -> list[Version]:
    """The versions without those that cannot be read, which no Operator can request."""
    found = []
    for each in versions:
        try:
            found.append(parse_bundle_version(each))
        except BadVersion:
            continue
    return found
