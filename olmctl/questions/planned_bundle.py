"""The bundle that an Operator has, and one that it may have, rendered as rukpak would, without installing them.

The caller decides how the bundle of an image is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.catalogd import CatalogReadError, read_catalog, unread_error
from olmctl.questions.errors import NothingFound
from olmctl.questions.offered_versions import without_prefix
from olmctl.questions.operator_state import condition, part, text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operator_condition_names
from olmkit.api.bundle_annotations import VERSION_ANNOTATION
from olmkit.api.bundledeployments import BundleDeployment, BundleDeploymentSpec
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType, Install, Operator
from olmkit.api.provisioner_classes import PLAIN
from olmkit.runtime.discovery import Discovery
from operator_controller.resolve.documents.document_reader import InvalidDocument, read_package
from operator_controller.resolve.package.package_content import PackageTooLarge
from rukpak.format import Bundle
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.install_options import InstallOptions
from rukpak.render.namespaces import SUITE_NAMESPACES
from rukpak.render.renderer import Installation, installation

ReadBundle = Callable[[str], Awaitable[Bundle]]
"""Reads the bundle of an image. Raises OlmError."""


@dataclass(frozen=True)
class BundleImage:
    """A bundle by its image."""

    version: str
    image: str


@dataclass(frozen=True)
class Cluster:
    """The facts about the cluster that rendering depends on."""

    discovery: Discovery
    server_version: str
    system_namespace: str

    @classmethod
    async def of(cls, session: Session) -> Cluster:
        """The cluster now. Raises ApiError."""
        found, version = await asyncio.gather(session.client.discover(), session.client.version())
        return cls(found, version, await session.system_namespace())


def running_bundle(deployment: Object | None) -> BundleImage | None:
    """The bundle that is installed; None if there is none."""
    installed = part(deployment, "status", "installed")
    image = text_at(installed, "image") or text_at(installed, "spec", "source", "image", "ref")
    return BundleImage(text_at(installed, "version"), image) if image else None


async def wanted_bundle(
    session: Session, operator: Object, deployment: Object | None, version: str | None
) -> BundleImage:
    """The bundle of that version; without a version the one that waits, or else the one that was chosen. Raises QuestionError."""
    if version is not None:
        return await _offered(session, operator, version)
    waiting = part(operator, "status", "available")
    if waiting:
        return BundleImage(text_at(waiting, "version"), text_at(waiting, "image"))
    template = part(deployment, "spec", "template")
    image = text_at(template, "spec", "source", "image", "ref")
    if not image:
        why = text_at(condition(operator, ConditionType.READY), "message") or "it was not resolved yet"
        raise NothingFound(f"no version is chosen for {operator['metadata']['name']}: {clean(why)}")
    return BundleImage(text_at(template, "metadata", "annotations", VERSION_ANNOTATION), image)


async def _offered(session: Session, operator: Object, version: str) -> BundleImage:
    """From the Catalog that the Operator is installed from, if that has it."""
    package, current = operator["spec"]["packageName"], text_at(operator, "status", "installed", "catalog")
    entries = await offered_entries(session, package)
    version = without_prefix(version)
    problems: list[Exception] = []
    for entry in sorted(entries, key=lambda each: (each.catalog != current, each.catalog)):
        try:
            content = read_package(
                await read_catalog(session, entry.catalog, "api/v1/resolution", {"package": package})
            )
        except (CatalogReadError, InvalidDocument, PackageTooLarge) as error:
            problems.append(error)
            continue
        for bundle in content.bundles.values():
            if str(bundle.version) == version:
                return BundleImage(version, bundle.image)
    if problems:
        raise await unread_error(session, problems)
    raise NothingFound(f"package {package} has no version {clean(version)}: see olm graph {package}")


def current_spec(deployment: Object) -> BundleDeploymentSpec:
    """The spec with which the installed bundle is installed."""
    return BundleDeployment.load(deployment).spec


def wanted_spec(operator: Object, image: str) -> BundleDeploymentSpec:
    """The spec with which the Operator installs bundles."""
    fields = (Operator.load(operator).spec.install or Install()).fields()
    template = {"spec": {"provisionerClassName": PLAIN, "source": {"type": "image", "image": {"ref": image}}}}
    spec = {"provisionerClassName": PLAIN, "template": template, **fields}
    kind = {"apiVersion": bundledeployments.KIND.api_version, "kind": bundledeployments.KIND.kind}
    return current_spec({**kind, "metadata": operator["metadata"], "spec": spec})


def has_operator_condition(deployment: Object) -> bool:
    """Report whether the installed revision has an OperatorCondition."""
    status = BundleDeployment.load(deployment).status
    revision = next((each for each in status.history or () if each.revision == status.revision), None)
    return revision is not None and revision.operator_condition is not None


async def rendered(
    read: ReadBundle,
    image: str,
    spec: BundleDeploymentSpec,
    name: str,
    cluster: Cluster,
    *,
    has_condition: bool | None = None,
) -> Installation:
    """The bundle as the BundleDeployment of that name installs it. `has_condition`: it has an OperatorCondition; None: as a
    revision that begins now. Raises OlmError, and what `read` raises."""
    return planned(await read(image), spec, name, cluster, has_condition=has_condition)


def planned(
    content: Bundle, spec: BundleDeploymentSpec, name: str, cluster: Cluster, *, has_condition: bool | None = None
) -> Installation:
    """The same for a bundle that was read. Raises OlmError."""
    kinds = cluster.discovery.kinds
    namespaces: Sequence[str] = (cluster.system_namespace, *SUITE_NAMESPACES)
    facts = ClusterInfo(
        cluster.discovery.served.keys(), cluster.discovery.failed_groups, cluster.server_version, namespaces
    )
    scopes = {group_kind: kind.namespaced for group_kind, kind in kinds.items()}
    if has_condition is None:
        has_condition = operator_condition_names.GROUP_KIND in kinds
    return installation(
        content, replace(InstallOptions.of(spec), operator_condition=has_condition), name, facts, scopes
    )
