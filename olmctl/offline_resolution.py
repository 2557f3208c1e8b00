"""Resolution without a cluster: what would be installed for some packages, given catalogs and what is installed already.

Catalogs are given in the order of their priority, packages in the order of their importance. What is installed and not asked for
stays as it is, unless what is asked for needs an upgrade of it. One refusal refuses everything. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from olmkit.gocompat.text import quoted
from olmkit.gocompat.version_range import EXAMPLES, MastermindsRange
from olmkit.gocompat.versions import BadRange, BadVersion, parse_bundle_version
from operator_controller.resolve.answers.answer import Answer, Member
from operator_controller.resolve.answers.component_solver import solve_components
from operator_controller.resolve.documents.catalog_documents import packages_by_kind
from operator_controller.resolve.documents.document_reader import (
    InvalidDocument,
    ReadDocument,
    read_document,
    read_envelope,
    read_package,
)
from operator_controller.resolve.explain.statements import Statement, StatementKind
from operator_controller.resolve.formatting import format_versions
from operator_controller.resolve.package.package_content import GroupKind, PackageTooLarge
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)


class BadInput(ValueError):
    """The request cannot be read, or contradicts itself. The message is for a person."""


@dataclass(frozen=True)
class PackageArgument:
    """PACKAGE[@VERSION_OR_RANGE][:CHANNEL]."""

    package: str
    version: str = ""
    channel: str = ""

    @classmethod
    def parse(cls, text: str) -> PackageArgument:
        """Raises BadInput."""
        rest, _, channel = text.partition(":")
        package, at, version = rest.partition("@")
        if not package or (at and not version) or (":" in text and not channel):
            raise BadInput(f"{quoted(text)} is not of the form PACKAGE[@VERSION_OR_RANGE][:CHANNEL]")
        if any(mark in package for mark in "=<>"):
            raise BadInput(f"{quoted(text)}: a version is given as PACKAGE@VERSION, a range as PACKAGE@RANGE")
        try:
            if version:
                MastermindsRange.parse(version)
        except BadRange as error:
            raise BadInput(f"{quoted(text)}: {error}; {EXAMPLES}") from error
        return cls(package, version, channel)


@dataclass(frozen=True)
class OfflineBundle:
    """A bundle that is installed in the end. `because`: why it is, and why in this version."""

    package: str
    version: str
    bundle: str
    catalog: str
    because: tuple[str, ...]


@dataclass(frozen=True)
class OfflineError:
    """The reason why nothing is installed."""

    message: str
    clauses: tuple[Statement, ...]


@dataclass(frozen=True)
class OfflineResult:
    """Bundles, or the error."""

    bundles: tuple[OfflineBundle, ...]
    error: OfflineError | None = None


class OfflineCatalogs:
    """The resolution documents of catalogs by name, the most important catalog first. Implements Documents."""

    def __init__(self, catalogs: Mapping[str, Mapping[str, Any]]) -> None:
        self._catalogs = catalogs

    def digests(self, content: str) -> Mapping[str, str]:
        """The digest of the document of each package. `content` is the name of the catalog."""
        return self._digests[content]

    def read(self, content: str, package: str) -> ReadDocument:
        """Read the document of a package."""
        return read_document(self._text(content, package))

    def _text(self, content: str, package: str) -> bytes:
        return msgspec.json.encode(self._catalogs[content][package])

    def providers(self, content: str) -> Mapping[GroupKind, Collection[str]]:
        """The packages that own a kind in one of their versions, sorted."""
        return self._providers[content]

    @cached_property
    def _providers(self) -> dict[str, Mapping[GroupKind, Collection[str]]]:
        return {
            name: packages_by_kind({package: read_envelope(self._text(name, package)).owned for package in documents})
            for name, documents in self._catalogs.items()
        }

    @cached_property
    def _digests(self) -> dict[str, dict[str, str]]:
        return {
            name: {package: _digest(document) for package, document in documents.items()}
            for name, documents in self._catalogs.items()
        }

    def sources(self) -> tuple[CatalogSource, ...]:
        """The catalogs with their priorities."""
        return tuple(
            CatalogSource(name, len(self._catalogs) - place, content=name, package_names=tuple(documents))
            for place, (name, documents) in enumerate(self._catalogs.items())
        )

    def installed_bundle(self, package: str, version: str) -> RecordedBundle:
        """The bundle of this version of a package, from the first catalog that has it. Raises BadInput."""
        try:
            wanted = parse_bundle_version(version)
        except BadVersion as error:
            raise BadInput(f"{quoted(version)} is no version: {error}") from error
        known = set()
        for name, documents in self._catalogs.items():
            try:
                content = read_package(documents[package]) if package in documents else None
            except (InvalidDocument, PackageTooLarge) as error:
                raise BadInput(f"package {quoted(package)} of catalog {quoted(name)}: {error}") from error
            for bundle in content.bundles.values() if content else ():
                if bundle.version == wanted:
                    return RecordedBundle(
                        bundle.name, bundle.image, package, str(wanted), name, "", bundle.recorded_properties
                    )
                known |= {bundle.version} if bundle.version is not None else set()
        found = f"the catalogs have {format_versions(sorted(known), wanted)}" if known else "no catalog has the package"
        raise BadInput(f"version {version} of package {quoted(package)} is not in any catalog: {found}")


def _digest(document: Any) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode(errors="replace")).hexdigest()


def resolve_offline(
    packages: Sequence[PackageArgument],
    catalogs: OfflineCatalogs,
    installed: Mapping[str, str] | None = None,
    kube_version: str = "",
    excluded: Mapping[str, Sequence[str]] | None = None,
) -> OfflineResult:
    """Resolve the request: the result is what is installed in the end. `installed`: versions by package. `excluded`: versions
    that are never chosen, by package. Raises BadInput."""
    names = [each.package for each in packages]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise BadInput(f"package {quoted(repeated[0])} is given twice")
    running = {name: catalogs.installed_bundle(name, version) for name, version in (installed or {}).items()}
    excluded = excluded or {}
    operators = _requests(packages, running, excluded)
    others = [each for each in operators if not each.is_resolvable]
    snapshot = ClusterSnapshot(operators, catalogs.sources(), ClusterFacts(kube_version), is_ordered=True)
    answers = solve_components(snapshot, catalogs)
    if others and any(not each.is_resolved for each in answers if each.operator in names):
        movable = tuple(
            each if each.is_resolvable else replace(each, is_resolvable=True, is_dependency=True) for each in operators
        )
        moved = solve_components(replace(snapshot, operators=movable), catalogs)
        if all(each.is_resolved for each in moved if each.operator in names):
            answers = moved
    explained = {each.operator: each for each in answers if each.operator in {*names, *excluded}}
    return _result(names, explained, running)


def _requests(
    packages: Sequence[PackageArgument],
    running: Mapping[str, RecordedBundle],
    excluded: Mapping[str, Sequence[str]],
) -> tuple[OperatorRequest, ...]:
    """The requests: for the packages in their order, then for what is installed otherwise, which stays, then for what else has
    excluded versions, as for a dependency."""
    found = [
        OperatorRequest(
            each.package,
            "",
            "",
            each.package,
            (each.channel,) if each.channel else (),
            each.version,
            running=running.get(each.package),
        )
        for each in packages
    ]
    names = {each.package for each in packages}
    found += [
        OperatorRequest(name, "", "", name, is_resolvable=False, running=bundle)
        for name, bundle in running.items()
        if name not in names
    ]
    found += [
        OperatorRequest(name, "", "", name, is_dependency=True) for name in excluded if name not in {*names, *running}
    ]
    return tuple(replace(each, excluded_versions=tuple(excluded.get(each.package, ()))) for each in found)


def _result(
    names: Sequence[str], answers: Mapping[str, Answer], running: Mapping[str, RecordedBundle]
) -> OfflineResult:
    for name in names:
        if not answers[name].is_resolved:
            return OfflineResult((), _error(name, answers[name]))
    members = {member.package: member for each in answers.values() for member in each.members}
    found = [
        _bundle(each, answers.get(each.package), running.get(each.package), is_requested=each.package in names)
        for each in members.values()
    ]
    found += [
        OfflineBundle(name, bundle.version, bundle.name, bundle.catalog, ("it is installed",))
        for name, bundle in running.items()
        if name not in members
    ]
    return OfflineResult(tuple(sorted(found, key=lambda each: each.package)))


def _error(package: str, answer: Answer) -> OfflineError:
    clauses = answer.clauses or (Statement(package, StatementKind.REQUEST, answer.message),)
    return OfflineError(answer.text, clauses)


def _bundle(
    member: Member, answer: Answer | None, running: RecordedBundle | None, *, is_requested: bool
) -> OfflineBundle:
    """`answer`: that of a package that is requested, or of which versions are excluded."""
    because = list(member.because)
    if answer is not None and is_requested:
        because = [f"it is requested: {answer.text}", *because]
    elif answer is not None and answer.is_resolved:
        because.append(f"it is chosen: {answer.text}")
    if running is not None and not member.is_changed:
        because = ["it is installed", *because]
    elif running is not None and not is_requested:
        because = [f"it is upgraded from {running.version}", *because]
    return OfflineBundle(member.package, member.version, member.bundle, member.catalog, tuple(because))
