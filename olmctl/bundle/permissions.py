"""`olm bundle permissions NAME|IMAGE|DIRECTORY`: print the roles that an account needs to install a bundle.

The bundle of a directory or an image is rendered without a cluster, that of the BundleDeployment NAME as it is installed. The
rules are those that rukpak asks for before it applies anything. Changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olmctl.bundle.directory import read_directory
from olmctl.bundle.install_options import account_of
from olmctl.bundle.pulled_image import OPTIONS, pulled
from olmctl.commands import FAILED, CommandError
from olmctl.operators.installed_objects import NAMESPACE
from olmctl.operators.output import as_json, as_yaml, object_list
from olmctl.operators.planned_bundle import Cluster, rendered
from olmctl.operators.session import Session, on_cluster
from olmctl.terminal import clean
from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.impersonation import Account
from olmkit.api.meta import Object
from olmkit.api.provisioner_classes import HELM
from olmkit.errors import OlmError, Waiting
from rukpak.format import Bundle, PlainBundle
from rukpak.format.objects import BundleObject
from rukpak.permissions.missing import bindings, roles
from rukpak.permissions.needed import NeededPermissions, ResourceOf, namespace_rights, needed_permissions
from rukpak.permissions.rules import Rule, placed_in
from rukpak.render.endpoints import CertificateMode, Endpoint, endpoints_of
from rukpak.render.namespaces import default_namespace, install_namespace
from rukpak.render.refusals import applicable
from rukpak.render.renderer import RenderOptions
from rukpak.render.renderer import render as render_objects

_FROM_STATUS = (
    "if a BundleDeployment NAME has it, `olm bundle permissions NAME` prints the rules that its account lacks, from "
    "status.missingPermissions"
)
"""The other way to these rules, for an image that cannot be reached."""


@dataclass(frozen=True)
class _Needs:
    """The permissions that a bundle needs."""

    name: str
    """The name of the roles."""
    permissions: NeededPermissions
    created: frozenset[str]
    """The Namespaces that are created with it."""
    joined: frozenset[str]
    """The Namespaces that exist."""

    def roles(self) -> list[Object]:
        """The ClusterRole and the Roles."""
        namespaces = [
            right
            for names, exists in ((self.created, False), (self.joined, True))
            for name in names
            for right in namespace_rights(name, exists=exists)
        ]
        rights = (*self.permissions.rights(), *self.permissions.held_rights(), *namespaces)
        return list(roles(placed_in(rights, absent=self.created), self.name))


def permissions(
    source: str, namespace: str | None, service_account: str | None, output: str, *, exists: bool, **given: Any
) -> int:
    """Print the roles that an account needs to install the bundle, and their bindings if the account is named."""
    account = account_of(service_account, namespace) if service_account else None
    options = {key: given.pop(key) for key in OPTIONS}
    try:
        if (Path(source) / "Chart.yaml").is_file():
            text = f"{source} is a Helm chart, which is rendered on a cluster: apply a BundleDeployment of it, and give its name"
            raise CommandError(FAILED, text)
        if Path(source).is_dir():
            needs = _of_bundle(read_directory(Path(source)), Path(source).resolve().name, namespace, exists=exists)
        elif "/" in source or ":" in source:
            needs = _of_bundle(_pulled(source, options), "bundle", namespace, exists=exists)
        else:
            return _of_installed(name=source, account=account, output=output, options=options, **given)
    except OlmError as error:
        raise CommandError(FAILED, error.message) from error
    _print(needs.roles(), account, output)
    return 0


def _pulled(image: str, options: Mapping[str, Any]) -> Bundle:
    try:
        return pulled(image, options, read_directory)
    except Waiting as error:
        raise CommandError(FAILED, f"{error.message}; {_FROM_STATUS}") from error


def _of_bundle(bundle: Bundle, name: str, namespace: str | None, *, exists: bool) -> _Needs:
    """The needs of a bundle that is not installed. Raises BadBundle."""
    endpoints: Iterable[Endpoint] = ()
    if isinstance(bundle, PlainBundle):
        inside = namespace or default_namespace(name)
    else:
        inside, name = namespace or install_namespace(bundle)[0], bundle.csv_name
        endpoints = endpoints_of(bundle, inside, CertificateMode.SELF).values()
    manifests, _ = applicable(bundle, render_objects(bundle, RenderOptions(inside)))
    return _needs(name, manifests, endpoints, lambda _: "", frozenset({inside} if exists else ()))


def _needs(
    name: str,
    manifests: Sequence[BundleObject],
    endpoints: Iterable[Endpoint],
    resource_of: ResourceOf,
    existing: frozenset[str],
) -> _Needs:
    own = [each.secret_key for each in endpoints if each.certificates is CertificateMode.SELF]
    included = {item.name for item in manifests if item.key[:2] == NAMESPACE.group_kind}
    used = {item.namespace for item in manifests} - {""}
    created = frozenset(included - existing)
    return _Needs(
        name, needed_permissions(manifests, own, resource_of), created, frozenset((used | included) - created)
    )


@on_cluster
async def _of_installed(
    session: Session, *, name: str, account: Account | None, output: str, options: Mapping[str, Any]
) -> int:
    """Print those of a BundleDeployment."""
    deployment = BundleDeployment.load(await session.client.get(bundledeployments.KIND, name))
    image, cluster = deployment.spec.template.spec.source.image, await Cluster.of(session)
    account = account or deployment.spec.account()
    if image is None or deployment.spec.provisioner_class_name == HELM:
        return _print_missing(
            deployment, account, output, "its source is a chart, or no image, and is not rendered here"
        )
    try:
        made = await rendered(image.ref, deployment.spec, name, cluster, options)
    except OlmError as error:
        return _print_missing(deployment, account, output, clean(error.message))
    kinds, found = cluster.discovery.kinds, await session.client.list(NAMESPACE, metadata_only=True)
    created = {each.name for each in deployment.status.created_namespaces or ()}
    existing = frozenset(each["metadata"]["name"] for each in found[0]) - created
    needs = _needs(
        f"{name}-installer",
        made.ready.manifests,
        made.endpoints,
        lambda kind: kinds[kind].plural if kind in kinds else "",
        existing,
    )
    _print(needs.roles(), account, output)
    return 0


def _print_missing(deployment: BundleDeployment, account: Account | None, output: str, why: str) -> int:
    """Print what the status of a BundleDeployment says that its account lacks, because its bundle cannot be rendered."""
    name, missing = deployment.metadata.name, deployment.status.missing_permissions
    if missing is None:
        text = (
            f"{why}; rukpak names what the account of {name} lacks before it applies anything, and it names nothing now"
        )
        raise CommandError(FAILED, text)
    print(
        f"note: {why}; these are only the permissions that the account lacks, from the status of {name}",
        file=sys.stderr,
    )
    if missing.truncated:
        print("note: the account lacks more; rukpak names the rest when it has these", file=sys.stderr)
    rules = [(each.namespace or "", Rule.load(each.dump())) for each in missing.rules]
    lacking = [right for namespace, rule in rules for right in rule.rights(namespace)]
    _print(list(roles(lacking, f"{name}-installer")), account, output)
    return 0


def _print(made: Sequence[Object], account: Account | None, output: str) -> None:
    bound = [*made, *(bindings(made, account) if account is not None else ())]
    if output == "json":
        print(as_json(object_list(bound)), end="")
    else:
        print("---\n".join(map(as_yaml, bound)), end="")
