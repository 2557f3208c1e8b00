"""Names what a bundle requires and the cluster lacks: kinds, a Kubernetes version, namespaces, a ServiceAccount, other bundles.

Kinds and versions are checked as rukpak checks them. A dependency is met by a kind that the cluster serves, or by what a
BundleDeployment has installed: nothing is installed for it. A package that is not installed is looked up in the catalogs, for the
command that installs it. Changes nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from olmctl.bundle.facts import BundleFacts
from olmctl.questions.installed_objects import NAMESPACE
from olmctl.questions.offered_versions import package_versions, requested_versions
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.planned_bundle import Cluster, planned
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import BundleDeployment, BundleDeploymentSpec
from olmkit.api.install_policies import MUST_EXIST
from olmkit.api.meta import Kind, Object
from olmkit.errors import Blocked, Forbidden, NotFound
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version
from operator_controller.resolve.package.package_content import Bundle
from operator_controller.resolve.requirements.bundle_constraints import read_constraints, recorded_properties_of
from operator_controller.resolve.requirements.constraints import (
    Constraint,
    KindConstraint,
    PackageConstraint,
    describe,
    holds,
)
from rukpak.format.objects import BundleObject
from rukpak.render.cluster_info import Served
from rukpak.render.namespaces import external_namespaces
from rukpak.render.requirements import required_kinds

_SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)

PackageBundle = tuple[str, Bundle]
"""A bundle with its package."""


async def missing_requirements(session: Session, facts: BundleFacts | None, manifest: Object) -> list[str]:
    """Sentences about what is missing for a bundle, which the BundleDeployment `manifest` is to install. `facts`: None if the
    bundle cannot be read here."""
    spec, cluster, found = BundleDeployment.load(manifest).spec, await Cluster.of(session), list[str]()
    objects: Sequence[BundleObject] = ()
    try:
        if facts is not None:
            made = planned(facts.content, spec, text_at(manifest, "metadata", "name"), cluster)
            objects = made.ready.manifests
            found += [f"the cluster does not serve {each}" for each in made.ready.missing]
            found += [made.ready.too_old] if made.ready.too_old else []
    except Blocked:
        pass  # rukpak says what is wrong with the bundle
    found += await _absent(session, spec, objects)
    if facts is None or not facts.properties:
        return found
    deployments, _ = await session.client.list(bundledeployments.KIND)
    own = facts.package, replace(_bundle(facts.name, facts.version, ""), properties=facts.properties)
    named = {kind for kind, _ in required_kinds(facts.registry)} if facts.registry else set()
    known = named.union(cluster.discovery.served)
    unmet = unmet_dependencies(own, list(installed_bundles(deployments)), known)
    return found + [f"{each.sentence}{await _advice(session, each.absent)}" for each in unmet]


async def _absent(session: Session, spec: BundleDeploymentSpec, objects: Iterable[BundleObject]) -> list[str]:
    """Sentences about the namespaces and the ServiceAccount that have to exist before a bundle is installed, and do not."""
    created = None if spec.namespace_policy == MUST_EXIST else spec.install_namespace
    names = [each for each in external_namespaces(objects, spec.watch_namespaces or ()) if each != created]
    found = [
        f"namespace {each} does not exist: create it first (kubectl create namespace {each})"
        for each in names
        if await _is_absent(session, NAMESPACE, each)
    ]
    account = spec.account()
    if account is not None and await _is_absent(session, _SERVICE_ACCOUNT, account.name, account.namespace):
        found.append(
            f"{account} does not exist: create it with the permissions that the bundle needs, or name another one"
        )
    return found


async def _is_absent(session: Session, kind: Kind, name: str, namespace: str | None = None) -> bool:
    """Report whether there is no such object; False if the user may not read it."""
    try:
        await session.client.get(kind, name, namespace)
    except NotFound:
        return True
    except Forbidden:
        pass
    return False


class Unmet(NamedTuple):
    """A dependency that nothing meets."""

    sentence: str
    """The requirement, and what there is instead."""
    absent: PackageConstraint | None = None
    """The package that is required, if no bundle of it is installed."""


def installed_bundles(deployments: Iterable[Object]) -> Iterator[PackageBundle]:
    """The bundles that are installed, as BundleDeployments record them."""
    for each in deployments:
        installed = part(each, "status", "installed")
        package = text_at(installed, "package")
        if package:
            yield package, _bundle(*(text_at(installed, key) for key in ("name", "version", "properties")))


def unmet_dependencies(
    own: PackageBundle, installed: Iterable[PackageBundle], known_kinds: Collection[Served]
) -> Iterator[Unmet]:
    """The dependencies of a bundle that neither it nor what is installed meets. `known_kinds` are met, or named elsewhere."""
    package, bundle = own
    constraints = read_constraints(bundle.properties)
    if constraints.problem:
        yield Unmet(f"{bundle.name} cannot be resolved: {constraints.problem}")
    others = [each for each in installed if each[0] != package]
    for each in constraints.required:
        if isinstance(each, KindConstraint) and (each.kind.group, each.kind.version, each.kind.kind) in known_kinds:
            continue
        if not any(holds(each, *one) for one in (own, *others)):
            versions = _installed_versions(each, others)
            instead = f"and {', '.join(versions)} is installed" if versions else "which is not installed"
            absent = each if isinstance(each, PackageConstraint) and not versions else None
            yield Unmet(clean(f"{bundle.name} requires {describe(each)}, {instead}"), absent)
    for exclusion in constraints.exclusions:
        for name, other in others:
            if not holds(exclusion, name, other):
                text = f"{bundle.name} cannot run beside {other.name or name}: it requires {describe(exclusion)}"
                yield Unmet(clean(text))


def _installed_versions(constraint: Constraint, installed: Iterable[PackageBundle]) -> list[str]:
    """The installed versions of the package that is required; none if no package is."""
    if not isinstance(constraint, PackageConstraint):
        return []
    return [str(bundle.version) for package, bundle in installed if package == constraint.package]


async def _advice(session: Session, absent: PackageConstraint | None) -> str:
    return "" if absent is None else advice(absent, await package_versions(session, absent.package))


def advice(absent: PackageConstraint, offered: Collection[Version] | None) -> str:
    """The end of a sentence about a package that is not installed: the command that installs it, or that no catalog has it.
    `offered`: the versions in the catalogs; None if they are not known."""
    if offered is None:
        return ""
    fitting = [each for each in offered if absent.versions.matches(each)]
    if not fitting:
        return f", and no catalog has {'such a version of it' if offered else 'it'}"
    wanted = requested_versions(absent.versions.text)  # catalogs have another grammar for ranges than Operators
    selected = [each for each in offered if wanted is not None and wanted.matches(each)]
    is_same = bool(selected) and all(map(absent.versions.matches, selected))
    version = absent.versions.text if is_same else str(max(fitting))
    return f" ({clean(f'olm install {shlex.quote(absent.package)} --version {shlex.quote(version)}')})"


def _bundle(name: str, version: str, properties: str) -> Bundle:
    found: Version | None
    try:
        found = parse_bundle_version(version)
    except BadVersion:
        found = None
    return Bundle(name, "", found, properties=recorded_properties_of(properties))
