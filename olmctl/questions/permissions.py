"""The roles that an account needs to install a bundle: the rules that rukpak asks for before it applies anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from olmctl.questions.errors import QuestionError
from olmctl.questions.installed_objects import NAMESPACE
from olmctl.questions.planned_bundle import Cluster, ReadBundle, rendered
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.impersonation import Account
from olmkit.api.meta import Object
from olmkit.api.provisioner_classes import HELM
from olmkit.errors import OlmError
from rukpak.format import Bundle, PlainBundle
from rukpak.format.objects import BundleObject
from rukpak.permissions.missing import roles
from rukpak.permissions.needed import ResourceOf, namespace_rights, needed_permissions
from rukpak.permissions.rules import Rule, placed_in
from rukpak.render.endpoints import CertificateMode, Endpoint, endpoints_of
from rukpak.render.namespaces import default_namespace, install_namespace
from rukpak.render.refusals import applicable
from rukpak.render.renderer import RenderOptions
from rukpak.render.renderer import render as render_objects


@dataclass(frozen=True)
class NeededRoles:
    """The ClusterRole and the Roles that an account needs."""

    roles: tuple[Object, ...]
    account: Account | None = None
    """The account of the BundleDeployment; None if it has none."""
    notes: tuple[str, ...] = ()
    """Sentences about what the roles lack."""


def bundle_roles(bundle: Bundle, name: str, namespace: str | None, *, exists: bool) -> NeededRoles:
    """Those of a bundle that is not installed, in this namespace or the one that it suggests; `exists`: it is there already.
    `name` stands for the name of a bundle that has none. Raises BadBundle."""
    endpoints: Iterable[Endpoint] = ()
    if isinstance(bundle, PlainBundle):
        inside = namespace or default_namespace(name)
    else:
        inside, name = namespace or install_namespace(bundle)[0], bundle.csv_name
        endpoints = endpoints_of(bundle, inside, CertificateMode.SELF).values()
    manifests, _ = applicable(bundle, render_objects(bundle, RenderOptions(inside)))
    return NeededRoles(_roles(name, manifests, endpoints, lambda _: "", frozenset({inside} if exists else ())))


async def installed_roles(session: Session, name: str, read: ReadBundle) -> NeededRoles:
    """Those of the bundle of a BundleDeployment; if it cannot be rendered, those that the status says are missing. Raises
    ApiError; QuestionError if it says nothing, and what `read` raises beside OlmError."""
    deployment = BundleDeployment.load(await session.client.get(bundledeployments.KIND, name))
    image, cluster = deployment.spec.template.spec.source.image, await Cluster.of(session)
    if image is None or deployment.spec.provisioner_class_name == HELM:
        return _missing_roles(deployment, "its source is a chart, or no image, and is not rendered here")
    try:
        made = await rendered(read, image.ref, deployment.spec, name, cluster)
    except OlmError as error:
        return _missing_roles(deployment, clean(error.message))
    kinds, found = cluster.discovery.kinds, await session.client.list(NAMESPACE, metadata_only=True)
    created = {each.name for each in deployment.status.created_namespaces or ()}
    existing = frozenset(each["metadata"]["name"] for each in found[0]) - created
    needed = _roles(
        f"{name}-installer",
        made.ready.manifests,
        made.endpoints,
        lambda kind: kinds[kind].plural if kind in kinds else "",
        existing,
    )
    return NeededRoles(needed, deployment.spec.account())


def _roles(
    name: str,
    manifests: Sequence[BundleObject],
    endpoints: Iterable[Endpoint],
    resource_of: ResourceOf,
    existing: frozenset[str],
) -> tuple[Object, ...]:
    """Roles of this name for objects, which have their names in these Namespaces that exist and in those that are created."""
    own = [each.secret_key for each in endpoints if each.certificates is CertificateMode.SELF]
    included = {item.name for item in manifests if item.key[:2] == NAMESPACE.group_kind}
    used = {item.namespace for item in manifests} - {""}
    created = frozenset(included - existing)
    needed = needed_permissions(manifests, own, resource_of)
    namespaces = [
        right
        for names, exists in ((created, False), (frozenset((used | included) - created), True))
        for each in names
        for right in namespace_rights(each, exists=exists)
    ]
    rights = (*needed.rights(), *needed.held_rights(), *namespaces)
    return tuple(roles(placed_in(rights, absent=created), name))


def _missing_roles(deployment: BundleDeployment, why: str) -> NeededRoles:
    """Those that the status of a BundleDeployment says its account lacks, because its bundle cannot be rendered."""
    name, missing = deployment.metadata.name, deployment.status.missing_permissions
    if missing is None:
        text = (
            f"{why}; rukpak names what the account of {name} lacks before it applies anything, and it names nothing now"
        )
        raise QuestionError(text)
    notes = [f"{why}; these are only the permissions that the account lacks, from the status of {name}"]
    notes += ["the account lacks more; rukpak names the rest when it has these"] * bool(missing.truncated)
    rules = [(each.namespace or "", Rule.load(each.dump())) for each in missing.rules]
    lacking = [right for namespace, rule in rules for right in rule.rights(namespace)]
    return NeededRoles(tuple(roles(lacking, f"{name}-installer")), deployment.spec.account(), tuple(notes))
