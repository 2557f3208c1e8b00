"""Lists what exists of what a bundle requires: the versions, the nearest that would fit, what keeps them out; or similar names.

Every list is limited: a person reads it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import BlangRange, Version
from operator_controller.resolve.explain.spec_hints import similar_names
from operator_controller.resolve.formatting import format_versions, join_names, name_channels, plain_value, quoted_value
from operator_controller.resolve.package.package_content import Bundle, GroupVersionKind
from operator_controller.resolve.requirements.constraints import (
    AllConstraint,
    AnyConstraint,
    Constraint,
    KindConstraint,
    PackageConstraint,
)
from operator_controller.resolve.selection.package_domain import PackageDomain
from operator_controller.resolve.selection.package_resolution import Candidate
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.selection.withheld_packages import bundles_in_channels
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

MAX_PARTS_DESCRIBED = 3
"""Packages and kinds of one requirement that are described."""
MAX_PROVIDERS_SHOWN = 2
"""Packages with another version of a required kind."""
MAX_NAMES_COMPARED = 5_000
"""Package names that a missing one is compared with."""

NamedPart = PackageConstraint | KindConstraint


class NearMisses:
    """Sentences about requirements. `names`: the packages of all catalogs."""

    def __init__(self, universe: ComponentUniverse, names: Iterable[str]) -> None:
        self._universe, self._all_names = universe, names
        self._similar: dict[str, list[str]] = {}

    def of(self, part: NamedPart) -> list[str]:
        """Name the existing bundles of a package or providers of a kind that is required."""
        if isinstance(part, PackageConstraint):
            text = self.existing(part.package, part.versions)
            return [text] if text else self._similar_packages(part.package)
        return self._other_providers(part)

    def existing(self, package: str, versions: BlangRange | None = None) -> str:
        """The versions of a package that catalogs offer, and those nearest to the range; "" if there are none."""
        domain = self._universe.domain(package)
        if refused := self._refused(domain):
            return refused
        offered = sorted({bundle.version for bundle in _bundles(domain) if bundle.version is not None})
        if not offered:
            return ""
        text = f"{plain_value(package)} has {format_versions(offered, None)}"
        fitting = [each for each in offered if versions is not None and versions.matches(each)]
        if versions is not None and not fitting:
            nearest = join_names([str(each) for each in _nearest(offered, versions)], "and")
            return f"{text}, nearest to {quoted_value(versions.text)}: {nearest}" if len(offered) > 1 else text
        selectable = {each.version for each in domain.versions}
        if fitting and not selectable.intersection(fitting):
            held = [one.version for one in _held_back(domain) if one.version in fitting]
            version = held[-1] if held else fitting[-1]
            reason = why_not(domain, version)
            return f"{text}, and {version} would fit, but {reason}" if reason else text
        return text

    def _refused(self, domain: PackageDomain) -> str:
        """Explain why no Operator can be created for the package; "" if it can, or if there is one."""
        reason = self._universe.why_not_created(domain.package) if domain.operator is None else ""
        return f"{plain_value(domain.package)} cannot be installed as a dependency: {reason}" if reason else ""

    @cached_property
    def _names(self) -> list[str]:
        return sorted(set(self._all_names))[:MAX_NAMES_COMPARED]

    def _similar_packages(self, package: str) -> list[str]:
        """Packages with a name similar to one that no catalog has."""
        if package in self._universe.withheld.catalogs:
            return []
        if package not in self._similar:
            self._similar[package] = similar_names(package, [name for name in self._names if name != package])
        names = [quoted_value(name) for name in self._similar[package]]
        return [f"no catalog has package {quoted_value(package)}; similar: {join_names(names, 'and')}"] if names else []

    def providers(self, kind: GroupVersionKind) -> list[tuple[PackageDomain, Version]]:
        """The packages that provide exactly this kind, sorted by name, each with the newest version that does."""
        found: list[tuple[PackageDomain, Version]] = []
        for package in sorted(self._universe.providers.get(kind.group_kind, ())):
            domain = self._universe.domain(package)
            versions = [
                one.version for one in _bundles(domain) if one.version is not None and kind in one.provided_kinds
            ]
            found += [(domain, max(versions))] if versions else []
        return found

    def _other_providers(self, part: KindConstraint) -> list[str]:
        """Packages that provide the kind, or another version of it."""
        kind = part.kind
        exact = self.providers(kind)
        found = [text for domain, version in exact if (text := self._exact_provider(domain, version, kind))]
        known = {domain.package for domain, _ in exact}
        for package in sorted(set(self._universe.providers.get(kind.group_kind, ())) - known):
            found += self._other_version(package, kind)
        served = [each for each in self._universe.facts.custom_kinds if (each.group, each.kind) == kind.group_kind]
        if served and kind.version not in served[0].versions:
            found.append(f"the cluster has {plain_value(kind.kind)} in {join_names(sorted(served[0].versions), 'and')}")
        return found[:MAX_PROVIDERS_SHOWN]

    def _other_version(self, package: str, kind: GroupVersionKind) -> list[str]:
        """In which version of the kind the newest bundle of the package provides it."""
        owning = [
            (bundle.version, versions)
            for bundle in _bundles(self._universe.domain(package))
            if bundle.version is not None
            and (versions := {one.version for one in bundle.provided_kinds if one.group_kind == kind.group_kind})
        ]
        if not owning:
            return []
        newest, versions = max(owning, key=lambda pair: pair[0])
        names = join_names([plain_value(version) for version in sorted(versions)], "and")
        return [f"{plain_value(package)} {newest} provides {plain_value(kind.kind)} in {names}"]

    def _exact_provider(self, domain: PackageDomain, newest: Version, kind: GroupVersionKind) -> str:
        if kind in domain.indices_by_kind:
            return self.existing(domain.package)
        if refused := self._refused(domain):
            return refused
        held = [one.version for one in _held_back(domain) if kind in one.bundle.provided_kinds]
        version = held[-1] if held else newest
        reason = why_not(domain, version)
        return f"{plain_value(domain.package)} {version} would fit, but {reason}" if reason else ""


def named_parts(constraint: Constraint) -> list[NamedPart]:
    """The packages and kinds that a constraint names; not those of rules, nor what it excludes."""
    return list(_parts(constraint))[:MAX_PARTS_DESCRIBED]


def subject_of(part: NamedPart) -> str:
    """The package or the kind that a part is about, whatever its version."""
    return part.package if isinstance(part, PackageConstraint) else f"{part.kind.group}/{part.kind.kind}"


def _parts(constraint: Constraint) -> Iterator[NamedPart]:
    match constraint:
        case PackageConstraint() | KindConstraint():
            yield constraint
        case AllConstraint(constraints=children) | AnyConstraint(constraints=children):
            for child in children:
                yield from _parts(child)


def _bundles(domain: PackageDomain) -> Iterator[Bundle]:
    """All bundles of the package that are in a channel of a catalog that counts for it."""
    for catalog in domain.permitted.catalogs:
        if catalog.offer.package is not None:
            yield from bundles_in_channels(catalog.offer.package)


def _held_back(domain: PackageDomain) -> list[Candidate]:
    """The candidates that the request permits and a pause or a missing approval keeps out, ascending by preference."""
    if domain.pending is None:
        return []
    usable = {id(each.choice) for each in domain.versions}
    return [one.candidate for one in domain.permitted.choices if id(one) not in usable]


def _nearest(offered: list[Version], versions: BlangRange) -> list[Version]:
    """The versions next to the bounds of the range, ascending, at most two."""
    found: set[Version] = set()
    for bound in (bound for group in versions.groups for _, bound in group):
        below = [each for each in offered if each.precedence <= bound.precedence]
        above = [each for each in offered if each.precedence >= bound.precedence]
        found.update(below[-1:] + above[:1])
    ascending = sorted(found)
    return ascending if len(ascending) <= 2 else [ascending[0], ascending[-1]]


def why_not(domain: PackageDomain, version: Version) -> str:
    """Explain why an offered version of a package is not selected, as the end of a sentence; "" if that is not known."""
    for catalog in domain.permitted.catalogs:
        for each in catalog.ruled_out:
            if each.candidate.version == version:
                return f"cannot be installed: {each.reason}"
    return _why_not_permitted(domain, domain.operator, version) if domain.operator is not None else ""


def _why_not_permitted(domain: PackageDomain, operator: OperatorRequest, version: Version) -> str:
    whose = f"Operator {quoted(operator.name)}"
    if operator.is_paused:
        return f"{whose} is paused"
    requested = domain.snapshot.request.versions
    if requested is not None and not requested.matches(version):
        return f"{whose} requests version {quoted(operator.version)}"
    if domain.snapshot.request.excludes(version):
        return f"{whose} excludes it (spec.excludedVersions)"
    if not any(one.version == version for catalog in domain.permitted.catalogs for one in catalog.candidates):
        if named := domain.snapshot.request.named_channels:
            return f"{whose} requests {name_channels([quoted(each) for each in named])}"
        if not domain.snapshot.request.follows_every_channel:
            return f"{whose} follows the default channel of its package"
    if operator.is_manual and str(version) != operator.approved_version:
        return f"{whose} waits for approval of each version"
    running = domain.snapshot.running.version if domain.snapshot.running is not None else None
    if running is not None and version < running:
        return f"it is older than {running}, which is installed"
    if operator.running is not None:
        return f"no direct upgrade leads to it from {operator.running.version}, which is installed"
    return ""
