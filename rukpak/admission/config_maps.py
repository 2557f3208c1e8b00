"""Decides what the webhooks say of the ConfigMaps of Bundles: `vbundles` denies a Bundle of a mutable one, and `vconfigmaps` a
mutable ConfigMap that a Bundle names, and the deletion of a ConfigMap that a Bundle names. In the words of rukpak upstream.

It spares people a wait for the same message in a status, and guards nothing: the controller reads only immutable ConfigMaps, and
compares their files with those that it has resolved. What cannot be read in time is therefore allowed. Never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import ValidationError

from olmkit.admission.review import AdmissionRequest, Denial, optional_text
from olmkit.api import bundledeployments
from olmkit.api.bundles import BundleSpec, ConditionType
from olmkit.api.meta import Object
from olmkit.errors import ApiError
from olmkit.gocompat.text import format_list, quoted
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.source_inputs import CONFIG_MAPS
from olmkit.sources.configmaps import is_immutable
from rukpak.admission.bundles import validate_bundle
from rukpak.bundle.named_inputs import named_config_maps
from rukpak.bundle.uploads.stored_upload import digest_of, owner_of, role_of

READ_SECONDS = 2.0
"""Seconds for reading the ConfigMaps of a Bundle, and for a watch that is cut. The API server waits 5 s (config/webhook)."""
MAX_CONCURRENT_REQUESTS = 4
"""Requests of all reviews together: anyone who reaches the port can have rukpak read ConfigMaps."""


def validate_config_map(request: AdmissionRequest, bundles: Iterable[Object]) -> Denial | None:
    """Explain why a ConfigMap of the suite's namespace is not created, or not deleted; None if it is.

    The ConfigMap of a Bundle that waits for other files is deleted: an immutable one can only be replaced. The ConfigMaps of the
    upload that a Bundle has are not deleted. Controllers are asked for nothing: a Bundle may name the ConfigMap of a CA.
    """
    obj = request.obj or request.old
    if obj is None or (request.obj is not None and (request.old is not None or is_immutable(obj))):
        return None
    if _is_controller(request.user, optional_text(obj, "", "metadata", "namespace")):
        return None
    name = optional_text(obj, "", "metadata", "name")
    if request.obj is None and role_of(obj):
        return _validate_upload(name, obj, bundles)
    naming = (raw for raw in bundles if name in named_config_maps(raw["spec"]["source"]))
    using = sorted(raw["metadata"]["name"] for raw in naming if request.obj is not None or not _is_stalled(raw))
    if not using:
        return None
    if request.obj is None:
        return Denial(in_use(name, using[0]))
    named = f"configmap {quoted(name)} is referenced in .spec.source.configMaps[].configMap.name by bundles {format_list(using)}"
    return Denial(f"{named}; referenced configmaps must have .immutable == true")


def _is_controller(user: str, namespace: str) -> bool:
    """Report whether the user is a controller of the cluster or of the suite, whose own ConfigMaps a Bundle may name."""
    accounts = (f"system:serviceaccount:{each}:" for each in ("kube-system", namespace))
    return user == "system:kube-controller-manager" or user.startswith(tuple(accounts))


def _validate_upload(name: str, config_map: Object, bundles: Iterable[Object]) -> Denial | None:
    """Explain why a part or the index of an upload is not deleted; None if it is: its Bundle is gone, or has other content."""
    owner, uid = owner_of(config_map)
    for raw in bundles:
        metadata, source = raw["metadata"], raw["spec"]["source"]
        if metadata["uid"] == uid and "deletionTimestamp" not in metadata:
            resolved = (raw.get("status") or {}).get("resolvedSource") or {}
            digests = {(each.get("upload") or {}).get("digest") for each in (source, resolved)}
            return Denial(in_use(name, owner)) if digest_of(config_map) in digests else None
    return None


def in_use(name: str, bundle: str) -> str:
    """The denial of the deletion of a ConfigMap that a Bundle needs."""
    return f"configmap {quoted(name)} is in-use by bundle {quoted(bundle)}"


@dataclass(frozen=True)
class ConfigMapWebhooks:
    """Answers on every replica, from its informer of Bundles and the ConfigMaps of the suite's `namespace`."""

    client: Client
    bundles: Informer
    namespace: str
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_REQUESTS))

    async def validate_bundle(self, request: AdmissionRequest) -> Denial | None:
        """Explain why a Bundle is not created, or not changed; None if it is.

        The Bundle of a BundleDeployment is created also if a ConfigMap is mutable: nobody reads the denial, and its controller is
        woken when the ConfigMap changes.
        """
        is_checked = request.obj is not None and request.old is None and not _has_deployment(request.obj)
        mutable = await self._mutable(request.obj) if is_checked and request.obj is not None else frozenset()
        return validate_bundle(request, mutable)

    async def validate_config_map(self, request: AdmissionRequest) -> Denial | None:
        """Explain why a ConfigMap is not created, or not deleted; None if it is, and for all other namespaces."""
        obj = request.obj or request.old
        if obj is None or optional_text(obj, "", "metadata", "namespace") != self.namespace:
            return None
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self.bundles.fresh.wait()
        except TimeoutError:
            return None
        return validate_config_map(request, self.bundles.objects.values())

    async def _mutable(self, bundle: Object) -> frozenset[str]:
        """The ConfigMaps of the Bundle that exist and are mutable, of those that could be read in time."""
        found: set[str] = set()
        try:
            spec = BundleSpec.load(bundle.get("spec"))
            async with asyncio.timeout(READ_SECONDS):
                for each in spec.source.config_maps or ():
                    if await self._is_mutable(each.config_map.name):
                        found.add(each.config_map.name)
        except (ValidationError, TimeoutError):
            pass
        return frozenset(found)

    async def _is_mutable(self, name: str) -> bool:
        try:
            async with self._limit:
                return not is_immutable(await self.client.get(CONFIG_MAPS, name, self.namespace))
        except ApiError:
            return False


def _has_deployment(bundle: Object) -> bool:
    """Report whether a BundleDeployment controls the Bundle."""
    owners = bundle["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") is True and owner["kind"] == bundledeployments.KIND.kind for owner in owners)


def _is_stalled(bundle: Object) -> bool:
    """Report whether a Bundle as read waits for other content, or for what it names."""
    conditions = (bundle.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == (ConditionType.STALLED, "True") for each in conditions)
