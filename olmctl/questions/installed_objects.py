"""The objects of a BundleDeployment on the cluster, with their health, and the custom resources of its CRDs.

The kinds are those of the inventory annotation, the objects those that the BundleDeployment applied: a label alone may be a copy.
What the caller may not list is reported, never left out in silence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from olmctl.questions.custom_resources import MAX_COUNTED_CUSTOM_RESOURCES, MAX_NAMED, CustomResources
from olmctl.questions.operator_state import is_terminating, part, text_at
from olmctl.questions.session import Session
from olmkit.api import bundledeployments
from olmkit.api.bundledeployment_status import KEEP_ANNOTATION
from olmkit.api.bundledeployments import INVENTORY_ANNOTATION, MEMBER_LABEL_PREFIX, OWNER_UID_LABEL
from olmkit.api.meta import Kind, Object
from olmkit.api.ownership import apply_entries, is_applied_by, manager_name
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.discovery import Discovery
from rukpak.bundledeployment.health.health import has_health, health

MAX_CONCURRENT_LISTS = 8
NAMESPACE = Kind("", "v1", "Namespace", "namespaces")
_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
_STATES = {"True": "Healthy", "False": "Failed", "Unknown": "InProgress"}


@dataclass(frozen=True)
class InstalledObject:
    """One object. `state` is Healthy, InProgress or Failed, by the rules of kstatus; `message` says why."""

    kind: Kind
    obj: Object = field(repr=False)
    state: str
    message: str

    @property
    def namespace(self) -> str:
        """Its namespace; "" if it has none."""
        return text_at(self.obj, "metadata", "namespace")

    @property
    def name(self) -> str:
        """Its name."""
        return text_at(self.obj, "metadata", "name")


@dataclass(frozen=True)
class InstalledObjects:
    """The objects, ordered by kind, namespace and name, and sentences about kinds that could not be listed."""

    objects: tuple[InstalledObject, ...]
    problems: tuple[str, ...]
    deleted_namespaces: frozenset[str] = frozenset()
    """The names of the Namespaces that are deleted with the BundleDeployment."""


async def bundle_deployment_of(session: Session, operator: Object) -> Object | None:
    """The BundleDeployment of an Operator; None if there is none, or if the one of its name is not its own."""
    try:
        found = await session.client.get(bundledeployments.KIND, operator["metadata"]["name"])
    except NotFound:
        return None
    owners = part(found, "metadata", "ownerReferences") or ()
    return found if any(each.get("uid") == operator["metadata"]["uid"] for each in owners) else None


async def installed_objects(
    session: Session, deployment: Object, required: Collection[str] = frozenset()
) -> InstalledObjects:
    """The objects of a BundleDeployment, as the API server has them now.

    `required`: the Namespaces that BundleDeployments require, which are not among `deleted_namespaces`.
    """
    uid, owner = deployment["metadata"]["uid"], deployment["metadata"]["name"]
    discovery = await session.client.discover()
    names = text_at(deployment, "metadata", "annotations", INVENTORY_ANNOTATION).split(",")
    limit = asyncio.Semaphore(MAX_CONCURRENT_LISTS)
    known = [(name, _kind(discovery, name)) for name in filter(None, map(str.strip, names))]
    lists = [
        _listed(session, limit, kind, f"{OWNER_UID_LABEL}={uid}") for _, kind in known if kind and kind != NAMESPACE
    ]
    lists.append(_listed(session, limit, NAMESPACE, f"{MEMBER_LABEL_PREFIX}{uid}"))
    answers = await asyncio.gather(*lists)
    found = [
        each
        for objects, _ in answers
        for each in objects
        if (_is_joined_by(each.obj, owner) if each.kind == NAMESPACE else is_applied_by(each.obj, uid, owner))
    ]
    problems = [problem for _, problem in answers if problem]
    return InstalledObjects(
        tuple(sorted(found, key=lambda each: (each.kind.kind, each.namespace, each.name))),
        tuple(problems),
        frozenset(
            each.name
            for each in found
            if each.kind == NAMESPACE and each.name not in required and _is_deleted_with(each, deployment)
        ),
    )


async def custom_resources(
    session: Session, objects: Iterable[InstalledObject], deployments: Iterable[Object]
) -> list[CustomResources]:
    """The custom resources of the CRDs among the objects, ordered as these are, without those that one of the BundleDeployments
    applied: these are deleted with it anyway."""
    owners = owners_by_uid(deployments)
    crds = [each for each in objects if each.kind.group_kind == _CRD]
    limit = asyncio.Semaphore(MAX_CONCURRENT_LISTS)
    return list(await asyncio.gather(*(_counted(session, limit, each, owners) for each in crds)))


def owners_by_uid(deployments: Iterable[Object]) -> dict[str, str]:
    """uid -> name of BundleDeployments."""
    return {each["metadata"]["uid"]: each["metadata"]["name"] for each in deployments}


def is_applied(obj: Object, owners: Mapping[str, str]) -> bool:
    """Report whether one of these BundleDeployments applied the object."""
    uid = text_at(obj, "metadata", "labels", OWNER_UID_LABEL)
    return uid in owners and is_applied_by(obj, uid, owners[uid])


def _is_joined_by(namespace: Object, owner: str) -> bool:
    """Report whether the BundleDeployment, whose label the Namespace has, applied it: labels are copied."""
    return any(entry["manager"] == manager_name(owner) for entry in apply_entries(namespace))


def _is_deleted_with(namespace: InstalledObject, deployment: Object) -> bool:
    """Report whether a Namespace goes with the BundleDeployment, unless one requires it: rukpak created it, it has no other
    member, and nobody keeps it."""
    recorded = part(deployment, "status", "createdNamespaces") or ()
    labels = part(namespace.obj, "metadata", "labels") or {}
    is_created = any(each.get("uid") == namespace.obj["metadata"]["uid"] for each in recorded)
    is_kept = text_at(namespace.obj, "metadata", "annotations", KEEP_ANNOTATION) == "true"
    return is_created and not is_kept and sum(each.startswith(MEMBER_LABEL_PREFIX) for each in labels) == 1


def _kind(discovery: Discovery, name: str) -> Kind | None:
    """The kind `Kind.group` of the annotation, in the version that the API server prefers; None if it is not served."""
    kind, _, group = name.partition(".")
    return discovery.kinds.get((group, kind))


async def _listed(
    session: Session, limit: asyncio.Semaphore, kind: Kind, selector: str
) -> tuple[list[InstalledObject], str]:
    is_whole = has_health(kind.group_kind)
    try:
        async with limit:
            found, _ = await session.client.list(kind, label_selector=selector, metadata_only=not is_whole)
    except ApiError as error:
        return [], f"{kind.plural}{'.' + kind.group if kind.group else ''} cannot be listed: {error.message}"
    return [with_health(kind, each) for each in found], ""


def with_health(kind: Kind, found: Object) -> InstalledObject:
    """An object as it was read, with its health."""
    obj = {**found, "apiVersion": kind.api_version, "kind": kind.kind}
    if is_terminating(obj):
        return InstalledObject(kind, obj, "Terminating", "is being deleted")
    result = health(obj)
    return InstalledObject(kind, obj, _STATES[result.status], result.message)


def has_state(kind: Kind) -> bool:
    """Report whether objects of the kind can be in more than one state."""
    return has_health(kind.group_kind)


async def _counted(
    session: Session, limit: asyncio.Semaphore, crd: InstalledObject, owners: Mapping[str, str]
) -> CustomResources:
    spec = crd.obj["spec"]
    served = sorted((each for each in spec["versions"] if each.get("served")), key=lambda each: not each["storage"])
    version = served[0]["name"] if served else ""  # the stored version, if it is served, needs no conversion
    kind = Kind(
        spec["group"], version, spec["names"]["kind"], spec["names"]["plural"], namespaced=spec["scope"] == "Namespaced"
    )
    count, first = 0, list[tuple[str, str]]()
    try:
        async with limit:
            async for page, _ in session.client.pages(kind, metadata_only=True):
                counted = [each["metadata"] for each in page if not is_applied(each, owners)]
                count += len(counted)
                first += [(each.get("namespace") or "", each["name"]) for each in counted[: MAX_NAMED - len(first)]]
                if count >= MAX_COUNTED_CUSTOM_RESOURCES:
                    break
    except ApiError:
        return CustomResources(crd.name, None)
    return CustomResources(crd.name, count, kind, tuple(first))
