"""Which deletions of Operators and BundleDeployments are denied: those of protected ones whose custom resources exist.

Called by rukpak.admission.setup; the API server asks only about objects with the annotation that are not being deleted yet
(config/webhook). rukpak answers for Operators too, because no other controller may list the custom resources of all kinds. A
BundleDeployment of an Operator is as protected as that Operator. A deletionPolicy that keeps custom resources leaves nothing to
protect, as soon as both have it: a BundleDeployment that is deleted in the foreground has its own, in the background that of its
Operator. What cannot be counted counts as used. Never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from olmkit.admission.review import AdmissionRequest, Denial
from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import CustomResourceCount
from olmkit.api.meta import Kind, Object
from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.operators import has_protection, unprotect_command
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.crd_removal import CASCADE, policy_of
from rukpak.bundledeployment.rest_mapper import RestMapper
from rukpak.bundledeployment.usage import UsageReader
from rukpak.format.text import list_names

FORBIDDEN = "Forbidden"
MAX_COUNTED = 500
"""Custom resources of one kind that are counted: one request for each kind."""
COUNT_SECONDS = 5.0
"""Seconds for counting. The API server waits 10 s (config/webhook)."""
FRESHNESS_SECONDS = 2.0
"""Seconds for which a watch that is cut is waited for."""
MAX_CONCURRENT_REQUESTS = 4
"""Requests of all counts together: anyone who reaches the port can have rukpak count."""


def is_protected(obj: Object) -> bool:
    """Whether the object has the annotation, and is not being deleted."""
    metadata = obj["metadata"]
    return "deletionTimestamp" not in metadata and has_protection(metadata.get("annotations"))


def denial_of(kind: Kind, name: str, counts: Iterable[CustomResourceCount]) -> Denial | None:
    """Why the deletion is denied; None: there are no custom resources that would be deleted too."""
    used = [_text(entry) for entry in counts if entry.count != 0]
    if not used:
        return None
    text = (
        f"{kind.kind} {name} is protected: its deletion would delete {list_names(used)}. Delete them first, or remove the "
        f"protection: {unprotect_command(kind, name)}"
    )
    return Denial(FORBIDDEN, text)


def _text(entry: CustomResourceCount) -> str:
    resource = f"{entry.plural or entry.kind}.{entry.group}"
    if entry.count is None:
        return f"an unknown number of {resource} ({entry.message})"
    return f"{entry.count}{' or more' if entry.truncated else ''} {resource}"


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
        """Why an Operator is not deleted; None: it is."""
        if request.obj is not None or request.old is None or not is_protected(request.old):
            return None
        uid = request.old["metadata"]["uid"]
        owned = [obj for obj in self.deployments.objects.values() if (operator_of(obj) or {}).get("uid") == uid]
        policy = (request.old["spec"].get("install") or {}).get("deletionPolicy", CASCADE)
        used = [obj for obj in owned if CASCADE in (policy, policy_of(obj))]
        return await self._denial(operators.KIND, request.old, used)

    async def validate_bundle_deployment(self, request: AdmissionRequest) -> Denial | None:
        """Why a BundleDeployment is not deleted; None: it is, or its Operator is being deleted or not protected."""
        if request.obj is not None or request.old is None or not is_protected(request.old):
            return None
        kind, protected, owner = bundledeployments.KIND, request.old, operator_of(request.old)
        if owner is not None:
            try:
                operator = await self.client.get(operators.KIND, owner["name"])
            except NotFound:
                return None
            except ApiError as error:
                return Denial(FORBIDDEN, f"its Operator {owner['name']} cannot be read: {error.message}")
            if operator["metadata"]["uid"] != owner["uid"] or not is_protected(operator):
                return None
            kind, protected = operators.KIND, operator  # the annotation of the BundleDeployment is a copy
        used = [request.old] if policy_of(request.old) == CASCADE else []
        return await self._denial(kind, protected, used)

    async def _denial(self, kind: Kind, obj: Object, deployments: Sequence[Object]) -> Denial | None:
        name = obj["metadata"]["name"]
        if not await self._is_fresh():
            text = f"{kind.kind} {name} is protected, and its custom resources cannot be counted now: try again"
            return Denial(FORBIDDEN, text)
        installed = [each["metadata"] for each in deployments]
        counted = [await self.usage.custom_resources(each["uid"], each["name"]) for each in installed]
        return denial_of(kind, name, [entry for counts in counted for entry in counts])

    async def _is_fresh(self) -> bool:
        """Whether the informers are up to date; a watch that was just cut is waited for."""
        try:
            async with asyncio.timeout(FRESHNESS_SECONDS):
                await self.deployments.fresh.wait()
                await self.crds.fresh.wait()
        except TimeoutError:
            return False
        return not self.deployments.stale


def operator_of(deployment: Object) -> Object | None:
    """The owner reference of the Operator that the BundleDeployment is of.

    Anyone who reaches the port may have written it: one whose name is no name of an Operator leads to no request.
    """
    owners = deployment["metadata"].get("ownerReferences") or ()
    found = (each for each in owners if each.get("controller") and each["kind"] == operators.KIND.kind)
    return next((each for each in found if is_dns1123_subdomain(each["name"])), None)
