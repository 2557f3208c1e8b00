"""The suite that an installation finds on the cluster: its version, its namespace, and objects that the new version lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import click

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.questions.system_namespace import find_bound_namespace, second_suite_refusal
from olmctl.suite.manifests import (
    KEYS_NAMESPACE,
    PART_OF,
    PART_OF_LABEL,
    SYSTEM_NAMESPACE,
    VERSION_LABEL,
    Manifests,
    image_of,
)
from olmctl.suite.objects import DEPLOYMENT, KINDS, find_all, is_own, kind_of, name_of
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api.meta import Kind, Object
from olmkit.api.names import is_kubernetes_namespace
from olmkit.api.ownership import has_applied
from olmkit.errors import NotFound
from olmkit.gocompat.versions import is_newer
from olmkit.runtime.client import Client
from olmkit.tls.service import V1_NAMESPACE

_DEFAULT_NAMESPACES = (SYSTEM_NAMESPACE, KEYS_NAMESPACE)
"""Whoever has made these has made them for the suite, as who has made that of OLM v1 and does not run OLM v1."""
KEPT_KINDS = ("CustomResourceDefinition", "Namespace")
"""Kinds that an upgrade never deletes: everything in them would be deleted too."""


def check_system_namespace(name: str) -> None:
    """Raises UsageError for the namespace of the keys."""
    if name == KEYS_NAMESPACE:
        raise click.UsageError(f"--system-namespace is {name}, the namespace of the keys: choose another one")


async def check_installed(
    client: Client, manifests: Manifests, controllers: Sequence[Object], *, is_forced: bool
) -> None:
    """Say which version and which images of the controllers are replaced. Raises CommandError if they are newer and the command
    is not forced, and if objects are stored in a version of a CRD that the new CRD does not have."""
    await _check_namespaces(client, manifests, is_forced=is_forced)
    others = sorted(
        {text_at(each, "metadata", "labels", VERSION_LABEL) for each in controllers} - {manifests.version, ""}
    )
    for version in others:
        if is_newer(version, manifests.version) and not is_forced:
            text = f"olm-suite {version} is installed, and this command would replace it with {manifests.version}"
            raise CommandError(REFUSED, f"{text}: use the command olm of that version, or --force")
    _check_stored_versions(manifests.crds, await find_all(client, manifests.crds))
    if others:
        say(f"olm-suite {', '.join(others)} is replaced with {manifests.version}", err=True)
    for image in sorted({image_of(each) for each in controllers} - {manifests.image, ""}):
        names = ", ".join(each["metadata"]["name"] for each in controllers if image_of(each) == image)
        say(f"image {clean(image)} -> {manifests.image} ({names})", err=True)


async def find_controllers(client: Client, manifests: Manifests, namespace: str) -> list[Object]:
    """The Deployments of the suite that is installed. Raises CommandError if it is installed in another namespace, or has its
    permissions there: those of this one would replace them."""
    controllers, _ = await client.list(DEPLOYMENT, label_selector=f"{PART_OF_LABEL}={PART_OF}")
    names = {each["metadata"]["name"] for each in manifests.deployments}
    controllers = [each for each in controllers if each["metadata"]["name"] in names]
    elsewhere = sorted({each["metadata"]["namespace"] for each in controllers} - {namespace})
    if elsewhere:
        raise CommandError(REFUSED, second_suite_refusal(elsewhere[0], is_running=True))
    bound = await find_bound_namespace(client)
    if bound not in (None, namespace):
        raise CommandError(REFUSED, second_suite_refusal(bound, is_running=False))
    return controllers


async def _check_namespaces(client: Client, manifests: Manifests, *, is_forced: bool) -> None:
    """Raises CommandError for a namespace of others: it would get the suite's Pod Security level, and be deleted with it."""
    for each in await find_all(client, manifests.namespaces):
        if each is None or is_own(each):
            continue
        name = each["metadata"]["name"]
        deployments = (await client.list(DEPLOYMENT, name))[0] if name == V1_NAMESPACE else ()
        others = [each for each in deployments if not is_own(each)]
        if problem := namespace_problem(name, others, is_forced=is_forced):
            raise CommandError(REFUSED, problem)


def namespace_problem(name: str, deployments: Sequence[Object] = (), *, is_forced: bool) -> str:
    """Explain why the suite is not installed into this namespace, which has no label of it; "" if it is. `deployments` are those
    of others in the namespace of OLM v1."""
    if name in _DEFAULT_NAMESPACES or (name == V1_NAMESPACE and not deployments):
        return ""
    is_cluster_namespace = is_kubernetes_namespace(name)
    if is_forced and not is_cluster_namespace:
        return ""
    text = f"namespace/{name} exists and is not olm-suite's: choose another one with --system-namespace"
    return text if is_cluster_namespace else f"{text}, or use --force"


def _check_stored_versions(wanted: Sequence[Object], found: Iterable[Object | None]) -> None:
    for crd, existing in zip(wanted, found, strict=True):
        known = {each["name"] for each in crd["spec"]["versions"]}
        stored = [each for each in part(existing or {}, "status", "storedVersions") or () if each not in known]
        if stored:
            text = f"{name_of(crd)}: objects are stored in {', '.join(stored)}, which this version of the suite does not have"
            raise CommandError(FAILED, f"{text}: install a version that has it, and migrate them")


async def find_leftovers(client: Client, manifests: Manifests) -> list[Object]:
    """Find what `olm suite install` of another version has applied and this version does not contain.

    Not objects that others have applied, nor Namespaces and CRDs.
    """
    known = (*manifests.all, *manifests.v1)  # what of OLM v1's kinds is not applied stays as it is
    present = {(name_of(each), each["metadata"].get("namespace")) for each in known}
    selector = f"{PART_OF_LABEL}={PART_OF},{VERSION_LABEL},{VERSION_LABEL}!={manifests.version}"
    kinds = (kind for kind in KINDS if kind.kind not in KEPT_KINDS)
    found = [each for kind in kinds for each in await _listed(client, kind, selector)]
    return [
        each
        for each in found
        if (name_of(each), each["metadata"].get("namespace")) not in present and _is_applied_by_olm(each)
    ]


async def _listed(client: Client, kind: Kind, selector: str) -> list[Object]:
    with suppress(NotFound):  # not every cluster has each kind
        return (await client.list(kind, label_selector=selector))[0]
    return []


async def delete_leftovers(client: Client, leftovers: Iterable[Object]) -> None:
    """Delete these objects, and print them. No controller may use them: those of the version before must have ended."""
    for each in leftovers:
        metadata = each["metadata"]
        with suppress(NotFound):
            await client.delete(kind_of(each), metadata["name"], metadata.get("namespace"), uid=metadata["uid"])
        say(f"{name_of(each)} deleted")


def _is_applied_by_olm(obj: Object) -> bool:
    return has_applied(obj, FIELD_MANAGER, "f:metadata", "f:labels", f"f:{VERSION_LABEL}")
