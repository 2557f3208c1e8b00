"""Names what a bundle requires and the cluster lacks: kinds, a version of Kubernetes, other bundles.

Kinds and versions are checked as rukpak checks them. A dependency is met by a kind that the cluster serves, or by what a
BundleDeployment has installed: nothing is installed for it. Packages say whether a catalog has what is missing. Changes nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from olmctl.bundle.facts import BundleFacts
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.planned_bundle import Cluster, planned
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, packages
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.meta import Object
from olmkit.errors import ApiError, Blocked
from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import BadRange, BadVersion, Version, parse_bundle_version
from operator_controller.resolve.package.package_content import Bundle
from operator_controller.resolve.requirements.bundle_constraints import read_constraints, recorded_properties_of
from operator_controller.resolve.requirements.constraints import (
    Constraint,
    KindConstraint,
    PackageConstraint,
    describe,
    holds,
)
from rukpak.render.cluster_info import Served
from rukpak.render.requirements import required_kinds

PackageBundle = tuple[str, Bundle]
"""A bundle with its package."""


async def missing_requirements(session: Session, facts: BundleFacts, manifest: Object) -> list[str]:
    """Sentences about what is missing for a bundle, which the BundleDeployment `manifest` is to install."""
    cluster = await Cluster.of(session)
    found: list[str] = []
    try:
        made = planned(
            facts.content, BundleDeployment.load(manifest).spec, text_at(manifest, "metadata", "name"), cluster
        )
        found += [f"the cluster does not serve {each}" for each in made.ready.missing]
        found += [made.ready.too_old] if made.ready.too_old else []
    except Blocked:
        pass  # rukpak says what is wrong with the bundle
    if not facts.properties:
        return found
    deployments, _ = await session.client.list(bundledeployments.KIND)
    own = facts.package, replace(_bundle(facts.name, facts.version, ""), properties=facts.properties)
    named = {kind for kind, _ in required_kinds(facts.registry)} if facts.registry else set()
    known = named.union(cluster.discovery.served)
    offered = await _offered_packages(session)
    return found + list(unmet_dependencies(own, list(installed_bundles(deployments)), known, offered))


async def _offered_packages(session: Session) -> Collection[str] | None:
    """The packages of all catalogs; None if they are not known."""
    try:
        objects, _ = await session.client.list(packages.KIND, metadata_only=True)
    except ApiError:
        return None
    names = {text_at(each, "metadata", "labels", packages.PACKAGE_LABEL) for each in objects}
    return None if "" in names else names  # a long name is no value of a label


def installed_bundles(deployments: Iterable[Object]) -> Iterator[PackageBundle]:
    """The bundles that are installed, as BundleDeployments record them."""
    for each in deployments:
        installed = part(each, "status", "installed")
        package = text_at(installed, "package")
        if package:
            yield package, _bundle(*(text_at(installed, key) for key in ("name", "version", "properties")))


def unmet_dependencies(
    own: PackageBundle,
    installed: Iterable[PackageBundle],
    known_kinds: Collection[Served],
    offered: Collection[str] | None = None,
) -> Iterator[str]:
    """A sentence for each dependency of a bundle that neither it nor what is installed meets. `known_kinds` are met, or named
    elsewhere. `offered`: the packages of all catalogs; None if they are not known."""
    package, bundle = own
    constraints = read_constraints(bundle.properties)
    if constraints.problem:
        yield f"{bundle.name} cannot be resolved: {constraints.problem}"
    others = [each for each in installed if each[0] != package]
    for each in constraints.required:
        if isinstance(each, KindConstraint) and (each.kind.group, each.kind.version, each.kind.kind) in known_kinds:
            continue
        if not any(holds(each, *one) for one in (own, *others)):
            yield clean(f"{bundle.name} requires {describe(each)}, {_instead(each, others, offered)}")
    for exclusion in constraints.exclusions:
        for name, other in others:
            if not holds(exclusion, name, other):
                yield clean(f"{bundle.name} cannot run beside {other.name or name}: it requires {describe(exclusion)}")


def _instead(constraint: Constraint, installed: Iterable[PackageBundle], offered: Collection[str] | None) -> str:
    """The end of a sentence: what there is instead, and what to do."""
    if not isinstance(constraint, PackageConstraint):
        return "which is not installed"
    versions = [str(bundle.version) for package, bundle in installed if package == constraint.package]
    if versions:
        return f"and {', '.join(versions)} is installed"
    if offered is not None and constraint.package not in offered:
        return "which is not installed, and no catalog of the cluster has it"
    return f"which is not installed (olm install {shlex.quote(constraint.package)}{_version_option(constraint)})"


def _version_option(constraint: PackageConstraint) -> str:
    """The option of `olm install` for the versions of a requirement; "" if it has no such range."""
    exact = constraint.exact_version
    text = constraint.versions.text if exact is None else str(exact)
    try:
        MastermindsRange.parse(text)
    except BadRange:
        return ""
    return f" --version {shlex.quote(text)}"


def _bundle(name: str, version: str, properties: str) -> Bundle:
    found: Version | None
    try:
        found = parse_bundle_version(version)
    except BadVersion:
        found = None
    return Bundle(name, "", found, properties=recorded_properties_of(properties))
