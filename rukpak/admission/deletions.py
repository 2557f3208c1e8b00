"""Decides which deletions are denied: those of protected Operators and BundleDeployments, of their CustomResourceDefinitions and
Namespaces, and those of dependencies that operator-controller removes, if custom resources exist that would be deleted too; and
those of a BundleDeployment without its dependents.

The API server asks only about objects with the annotation that are not being deleted yet, about what operator-controller removes,
and about deletions of BundleDeployments that would not do what they ask for (config/webhook). rukpak answers for Operators too,
because no other controller may list the custom resources of all kinds. A BundleDeployment of an Operator is as protected as that
Operator. A deletionPolicy that keeps custom resources leaves nothing to protect, as soon as both have it: a BundleDeployment that
is deleted in the foreground has its own, in the background that of its Operator. The deletion of a CustomResourceDefinition or a
Namespace deletes custom resources whatever that policy says; one that others have given the label is not guarded, but one of
which nothing shows who applied it is. What cannot be counted counts as used. Never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from olmkit.admission.review import AdmissionRequest, Denial, optional_text, required_text
from olmkit.api import bundledeployments, clusterextensions, customresourcedefinitions, operators
from olmkit.api.bundledeployment_status import CustomResourceCount
from olmkit.api.bundledeployments import MEMBER_LABEL_PREFIX, OWNER_UID_LABEL
from olmkit.api.meta import Kind, Object
from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.operators import INSTALLED_FOR_LABEL, has_protection, unprotect_command
from olmkit.api.ownership import MANAGER_PREFIX, OPERATOR_CONTROLLER, apply_entries, may_be_applied_by
from olmkit.errors import ApiError, NotFound
from olmkit.gocompat.text import list_names
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES, RestMapper
from rukpak.bundledeployment.cluster.usage import UsageReader
from rukpak.bundledeployment.deletion.crd_removal import CASCADE, ORPHAN, policy_of

FORBIDDEN = "Forbidden"
MAX_COUNTED = 500
"""Custom resources of one kind that are counted: one request for each kind."""
COUNT_SECONDS = 5.0
"""Seconds for counting. The API server waits 10 s (config/webhook)."""
READ_SECONDS = 2.0
"""Seconds for reading the BundleDeployments that have applied an object: anyone who reaches the port can name any number."""
FRESHNESS_SECONDS = 2.0
"""Seconds for which a watch that is cut is waited for."""
MAX_CONCURRENT_REQUESTS = 4
"""Requests of all counts together: anyone who reaches the port can have rukpak count."""


def is_protected(obj: Object) -> bool:
    """Report whether the object has the annotation, and is not being deleted."""
    metadata = obj["metadata"]
    return "deletionTimestamp" not in metadata and has_protection(metadata.get("annotations"))


def removes_dependency(operator: Object, user: str) -> bool:
    """Report whether operator-controller, not a person, deletes an Operator which it has created as a dependency."""
    is_dependency = INSTALLED_FOR_LABEL in (operator["metadata"].get("labels") or {})
    return is_dependency and not _is_deleting(operator) and user.endswith(f":{OPERATOR_CONTROLLER}")


def _is_deleting(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def denial_of(protector: Protector, counts: Iterable[CustomResourceCount], part: str = "") -> Denial | None:
    """Explain why the deletion is denied; None if there are no custom resources that would be deleted too. `part`: kind and name
    of what is to be deleted, if that is not the protected object."""
    used = [_text(entry) for entry in counts if entry.count != 0]
    if not used:
        return None
    if protector.is_dependency:
        return Denial(FORBIDDEN, f"{_subject(protector)} is kept: nothing requires it, but {list_names(used)} exist")
    text = (
        f"{_subject(protector, part)} is protected: its deletion would delete {list_names(used)}. Delete them first, or remove "
        f"the protection: {protector.unprotect_command}"
    )
    return Denial(FORBIDDEN, text)


def orphan_denial(deployment: Object, policy: str) -> Denial:
    """Explain why a BundleDeployment with this deletionPolicy is not deleted without its dependents, and name what keeps
    everything."""
    name, owner = required_text(deployment, "metadata", "name"), operator_of(deployment)
    kind = bundledeployments.KIND if owner is None else operators.KIND
    resource = f"{kind.plural}.{kind.group}"
    if owner is None:
        patch = f"""'{{"spec":{{"deletionPolicy":"{ORPHAN}"}}}}'"""
        advice = f"set it to {ORPHAN} first: kubectl patch {resource} {name} --type=merge --patch={patch}"
    else:
        advice = (
            "delete its Operator that way, which leaves the BundleDeployment: kubectl delete "
            f"{resource} {owner['name']} --cascade=orphan"
        )
    text = (
        f"{bundledeployments.KIND.kind} {name} is not deleted with propagationPolicy Orphan (--cascade=orphan), which keeps "
        f"nothing of what it has installed: its deletionPolicy, {policy}, decides. To keep everything, {advice}"
    )
    return Denial(FORBIDDEN, text)


def _subject(protector: Protector, part: str = "") -> str:
    whose = f"{protector.kind.kind} {protector.name}"
    return f"{part} of {whose}" if part else whose


def _text(entry: CustomResourceCount) -> str:
    resource = f"{entry.plural or entry.kind}.{entry.group}"
    if entry.count is None:
        return f"an unknown number of {resource} ({entry.message})"
    return f"{entry.count}{' or more' if entry.truncated else ''} {resource}"


@dataclass(frozen=True)
class Protector:
    """The object that carries the annotation that counts: an Operator, or a BundleDeployment that no Operator owns."""

    kind: Kind
    name: str
    is_dependency: bool = False
    """An Operator without the annotation, which operator-controller removes because nothing requires it."""
    extension: str = ""
    """The ClusterExtension that an Operator belongs to, whose annotation is copied to it."""

    @classmethod
    def of_operator(cls, operator: Object, *, is_dependency: bool = False) -> Protector:
        """The Operator, as it was read or as a review contains it."""
        owner = controller_of(operator, clusterextensions.KIND)
        name = required_text(operator, "metadata", "name")
        return cls(operators.KIND, name, is_dependency, owner["name"] if owner is not None else "")

    @property
    def unprotect_command(self) -> str:
        """The command with which a person removes the protection."""
        kind, name = (clusterextensions.KIND, self.extension) if self.extension else (self.kind, self.name)
        return unprotect_command(kind, name)


@dataclass(frozen=True)
class DeletionProtection:
    """Answers on every replica, from its informers and from lists of custom resources."""

    client: Client
    deployments: Informer
    crds: Informer
    usage: UsageReader

    @classmethod
    def of(cls, client: Client, deployments: Informer, crds: Informer, rest_mapper: RestMapper) -> DeletionProtection:
        """With a counter of its own, so that an answer does not wait for installations. `rest_mapper` knows the kinds of CRDs."""
        limit = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        usage = UsageReader(client, rest_mapper, crds, limit, MAX_COUNTED, COUNT_SECONDS)
        return cls(client, deployments, crds, usage)

    async def validate_operator(self, request: AdmissionRequest) -> Denial | None:
        """Explain why an Operator is not deleted; None if it is. Without its dependents it leaves its BundleDeployment with
        everything.

        operator-controller removes a dependency that nothing requires because there were no custom resources when they were
        counted; they are counted again here.
        """
        if request.obj is not None or request.old is None or request.orphans_dependents:
            return None
        is_guarded = is_protected(request.old)
        if not is_guarded and not removes_dependency(request.old, request.user):
            return None
        uid = required_text(request.old, "metadata", "uid")
        protector = Protector.of_operator(request.old, is_dependency=not is_guarded)
        if (stale := await self._stale_denial(protector)) is not None:
            return stale
        owned = [obj for obj in self.deployments.objects.values() if (operator_of(obj) or {}).get("uid") == uid]
        policy = optional_text(request.old, CASCADE, "spec", "install", "deletionPolicy")
        used = [obj for obj in owned if CASCADE in (policy, policy_of(obj))]
        return await self._denial(protector, used)

    async def validate_bundle_deployment(self, request: AdmissionRequest) -> Denial | None:
        """Explain why a BundleDeployment is not deleted; None if it is: then it is not protected, or its Operator is being
        deleted or is not protected.

        Installed objects are no dependents of it: a deletion without dependents, which would delete them, is denied.
        """
        if request.obj is not None or request.old is None:
            return None
        policy = optional_text(request.old, CASCADE, "spec", "deletionPolicy")
        if request.orphans_dependents and policy != ORPHAN:
            return orphan_denial(request.old, policy)
        if not is_protected(request.old):
            return None
        protector = await self._protector_of(request.old)
        if protector is None or isinstance(protector, Denial):
            return protector
        if (stale := await self._stale_denial(protector)) is not None:
            return stale
        return await self._denial(protector, [request.old] if policy == CASCADE else [])

    async def validate_definition(self, request: AdmissionRequest) -> Denial | None:
        """Explain why a CustomResourceDefinition is not deleted; None if no protected BundleDeployment may have applied it, or it
        is not in use."""
        if request.obj is not None or request.old is None or _is_deleting(request.old):
            return None
        uid = (request.old["metadata"].get("labels") or {}).get(OWNER_UID_LABEL, "")
        return await self._part_denial(request.old, {uid}, customresourcedefinitions.KIND)

    async def validate_namespace(self, request: AdmissionRequest) -> Denial | None:
        """Explain why a Namespace is not deleted; None if no protected BundleDeployment has custom resources in it."""
        if request.obj is not None or request.old is None or _is_deleting(request.old):
            return None
        labels = request.old["metadata"].get("labels") or {}
        uids = {key.removeprefix(MEMBER_LABEL_PREFIX) for key in labels if key.startswith(MEMBER_LABEL_PREFIX)}
        return await self._part_denial(request.old, uids, NAMESPACES)

    async def _part_denial(self, obj: Object, uids: Collection[str], kind: Kind) -> Denial | None:
        """Explain why a part of what BundleDeployments of these uids installed is not deleted; None if no protected one has
        applied it, or it holds nothing of theirs."""
        part = f"{kind.kind} {required_text(obj, 'metadata', 'name')}"
        deadline = asyncio.get_running_loop().time() + READ_SECONDS
        shown = (each["metadata"] for each in self.deployments.objects.values())
        names = {each["name"] for each in shown if each["uid"] in uids}
        names |= {entry["manager"].removeprefix(MANAGER_PREFIX) for entry in apply_entries(obj)}
        for name in sorted(names):
            try:
                async with asyncio.timeout_at(deadline):
                    deployment = await self._may_protect(name, uids, obj)
            except (ApiError, TimeoutError) as error:
                problem = error.message if isinstance(error, ApiError) else "no answer in time"
                return Denial(FORBIDDEN, f"{part}: its BundleDeployment {name} cannot be read: {problem}")
            protector = await self._protector_of(deployment) if deployment is not None else None
            if deployment is None or protector is None:
                continue
            if isinstance(protector, Denial):
                return protector
            if (denial := await self._used_denial(protector, deployment["metadata"], obj, part)) is not None:
                return denial
        return None

    async def _may_protect(self, name: str, uids: Collection[str], obj: Object) -> Object | None:
        """The BundleDeployment of this name, if it has one of the uids, may be protected, and may have applied the
        object. None if it is being deleted.

        The API server is asked: the informer of a replica that cannot watch does not show what was installed or protected since.
        Only that a deletion has begun stays true. Raises ApiError.
        """
        known = self.deployments.get(name)
        is_leaving = known is not None and known["metadata"]["uid"] in uids and _is_deleting(known)
        if is_leaving or not is_dns1123_subdomain(name):
            return None
        try:
            async with self.usage.limit:
                found = await self.client.get(bundledeployments.KIND, name)
        except NotFound:
            return None
        may_be = is_protected(found) or (operator_of(found) is not None and not _is_deleting(found))
        uid = found["metadata"]["uid"]
        label = f"{MEMBER_LABEL_PREFIX}{uid}" if (obj.get("spec") or {}).get("names") is None else OWNER_UID_LABEL
        return found if may_be and uid in uids and may_be_applied_by(obj, name, label) else None

    async def _protector_of(self, deployment: Object) -> Protector | Denial | None:
        """The object that protects the BundleDeployment; None if its Operator is being deleted or not protected."""
        owner = operator_of(deployment)
        if owner is None:
            return Protector(bundledeployments.KIND, required_text(deployment, "metadata", "name"))
        try:
            operator = await self.client.get(operators.KIND, owner["name"])
        except NotFound:
            return None
        except ApiError as error:
            return Denial(FORBIDDEN, f"its Operator {owner['name']} cannot be read: {error.message}")
        if operator["metadata"]["uid"] != owner["uid"] or not is_protected(operator):
            return None
        return Protector.of_operator(operator)  # the annotation of the BundleDeployment is a copy

    async def _used_denial(self, protector: Protector, metadata: Object, obj: Object, part: str) -> Denial | None:
        """Explain why a part of what the BundleDeployment with this metadata installed is not deleted; None if it holds
        nothing."""
        if (stale := await self._stale_denial(protector)) is not None:
            return stale
        names = (obj.get("spec") or {}).get("names")
        namespace = obj["metadata"]["name"] if names is None else None
        counts = await self.usage.custom_resources(metadata["uid"], metadata["name"], namespace, is_guarding=True)
        if names is not None:
            defined = required_text(obj, "spec", "group"), required_text(obj, "spec", "names", "kind")
            counts = tuple(each for each in counts if (each.group, each.kind) == defined)
        return denial_of(protector, counts, part)

    async def _stale_denial(self, protector: Protector) -> Denial | None:
        """The denial while the informers are stale. Asked before anything is read of them."""
        if await self._is_fresh():
            return None
        state = "is kept:" if protector.is_dependency else "is protected, and"
        text = f"{_subject(protector)} {state} its custom resources cannot be counted now: try again"
        return Denial(FORBIDDEN, text)

    async def _denial(self, protector: Protector, deployments: Sequence[Object]) -> Denial | None:
        installed = [[required_text(each, "metadata", part) for part in ("uid", "name")] for each in deployments]
        is_guarding = not protector.is_dependency  # else by the rule of the count that permitted the removal
        counted = [await self.usage.custom_resources(uid, name, is_guarding=is_guarding) for uid, name in installed]
        return denial_of(protector, [entry for counts in counted for entry in counts])

    async def _is_fresh(self) -> bool:
        """Report whether the informers are up to date; a watch that was just cut is waited for."""
        try:
            async with asyncio.timeout(FRESHNESS_SECONDS):
                await self.deployments.fresh.wait()
                await self.crds.fresh.wait()
        except TimeoutError:
            return False
        return not self.deployments.stale


def operator_of(deployment: Object) -> Object | None:
    """The owner reference of the Operator that the BundleDeployment is of."""
    return controller_of(deployment, operators.KIND)


def controller_of(obj: Object, kind: Kind) -> Object | None:
    """The owner reference of the object of this kind that controls another one.

    Anyone who reaches the port may have written it: one whose name is no name of an object leads to no request.
    """
    owners = obj["metadata"].get("ownerReferences") or ()
    found = (each for each in owners if each.get("controller") and each["kind"] == kind.kind)
    return next((each for each in found if is_dns1123_subdomain(each["name"])), None)
