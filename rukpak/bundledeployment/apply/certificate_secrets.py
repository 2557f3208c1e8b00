"""Reads and writes the Secrets with the serving certificates of BundleDeployments.

A Secret is read when its resourceVersion is a new one, and of what it contains only a ServingCertificate is kept: no private key
is cached, logged, or put into a message. A Secret is created only if none exists, and changed only if it is still the one that
was observed. One that is immutable is deleted and created again to change it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from olmkit.api.bundledeployments import LABELS_ANNOTATION, Reason
from olmkit.api.meta import Object, apply_precondition, unchanged_precondition
from olmkit.api.ownership import manager_name
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.source_secrets import SECRETS
from olmkit.tls.key_pair import BadKeyPair
from rukpak.bundledeployment.apply.adoption import Adoption
from rukpak.bundledeployment.apply.apply_errors import ApplyErrors
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.inventory import Inventory
from rukpak.bundledeployment.delays import CHANGED_RETRY_DELAY
from rukpak.bundledeployment.drift import next_applied
from rukpak.bundledeployment.identity import Identities
from rukpak.bundledeployment.object_labels import labels_digest, labels_of
from rukpak.bundledeployment.plan import DELETED, CertificateWrite, Done, ObjectChange, Verb, WriteCertificates
from rukpak.bundledeployment.rendered_bundle import Content, RenderedBundle
from rukpak.bundledeployment.world import BriefWait, LastApplied, World
from rukpak.certificates import secrets
from rukpak.certificates.serving_certificate import ServingCertificate, Step
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import Endpoint

MAX_KEPT = 4096
"""Secrets of which it is kept what was in them."""

_Identity = tuple[str, str, tuple[str, ...]]
"""uid and resourceVersion of a Secret, and the host names that its certificate is for."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificateSecrets:
    """For all BundleDeployments; `limit` is shared with whoever else sends requests."""

    identities: Identities
    inventory: Inventory
    name_of: Callable[[str], str]
    """The name of the BundleDeployment of a uid, empty when there is none."""
    limit: asyncio.Semaphore
    _known: OrderedDict[_Identity, ServingCertificate] = field(default_factory=OrderedDict)

    async def read(self, world: World, contents: Iterable[Content]) -> dict[ObjectKey, ServingCertificate]:
        """Read the certificates in the Secrets of the bundles, without those that do not exist or cannot be read now."""
        rendered = [content for content in contents if isinstance(content, RenderedBundle)]
        endpoints = {endpoint.secret_key: endpoint for content in rendered for endpoint in content.own_endpoints}
        found = {key: await self._read(world, endpoint) for key, endpoint in endpoints.items()}
        return {key: certificate for key, certificate in found.items() if certificate is not None}

    async def _read(self, world: World, endpoint: Endpoint) -> ServingCertificate | None:
        key = endpoint.secret_key
        entry = world.owned.get(key)
        if entry is None:
            return None
        known = self._known.get((entry.uid, entry.resource_version, endpoint.host_names))
        if known is not None:
            return known
        try:
            async with self.limit:
                live = await self.identities.of(world).get(SECRETS, key.name, key.namespace)
        except ApiError:
            return None  # the next pass tries again
        return self._keep(live, endpoint)

    def _keep(self, live: Object, endpoint: Endpoint) -> ServingCertificate:
        """Read the certificate in a Secret, and keep the result until the Secret has another version."""
        identity = (*_identity(live), endpoint.host_names)
        certificate = self._known[identity] = secrets.read(live, endpoint.host_names)
        while len(self._known) > MAX_KEPT:
            self._known.popitem(last=False)
        return certificate

    async def write(self, world: World, plan: WriteCertificates, last_applied: dict[ObjectKey, LastApplied]) -> Done:
        """Take a step with each of the certificates. Raises ApplyRejected, Waiting, BriefWait, or the ApiError of a request that
        may yet succeed."""
        changes = [await self._write(world, write, last_applied) for write in plan.writes]
        return Done(plan, timedelta(), changes=tuple(changes))

    async def _write(
        self, world: World, write: CertificateWrite, last_applied: dict[ObjectKey, LastApplied]
    ) -> ObjectChange:
        endpoint, key = write.endpoint, write.endpoint.secret_key
        result = await self._apply(world, write, await self._observed(world, endpoint), adopts=world.adopts)
        self.inventory.record_write(SECRETS, result)
        certificate = self._keep(result, endpoint)
        last = last_applied.get(key)
        entry = transforms.applied_fields(result).get(manager_name(world.name), "")
        last_applied[key] = next_applied(last, certificate.digest, entry, datetime.now(UTC))
        change = _change(write, world, is_known=last is not None)
        log.info("%s", change)
        return change

    async def _apply(self, world: World, write: CertificateWrite, live: Object | None, *, adopts: bool) -> Object:
        """The Secret after the step. One that is taken over keeps the authorities that are trusted already; one of OLM v0 its
        certificate, too."""
        key, body = write.endpoint.secret_key, _body(world, write, live)
        client = self.identities.of(world)
        try:
            async with self.limit:
                if live is not None and live.get("immutable"):
                    uid, resource_version = _identity(live)
                    await client.delete(SECRETS, key.name, key.namespace, uid=uid, resource_version=resource_version)
                    body = _body_of_new(body)
                return await client.apply(SECRETS, body, manager_name(world.name))
        except ApiError as error:
            since = world.deployment.metadata.creation_timestamp
            errors = ApplyErrors(Adoption(client, self.name_of, adopts, since, self.identities.own))
            takeover = await errors.explain(world.uid, SECRETS, body, error)
            if takeover is None:
                raise
        async with self.limit:
            found = await client.get(SECRETS, key.name, key.namespace)
        if unchanged_precondition(found) != takeover.precondition:
            raise BriefWait(Reason.RETRYING, f"{key} changed", CHANGED_RETRY_DELAY)
        if write.step is Step.ISSUE and secrets.is_kept(found, write.endpoint.host_names, datetime.now(UTC)):
            write = replace(write, step=Step.DROP)
        return await self._apply(world, write, found, adopts=False)

    async def _observed(self, world: World, endpoint: Endpoint) -> Object | None:
        """The Secret as the World has it; None if there is none. Raises BriefWait if it is another one by now."""
        key = endpoint.secret_key
        if key not in world.owned:
            return None
        try:
            async with self.limit:
                live = await self.identities.of(world).get(SECRETS, key.name, key.namespace)
        except NotFound:
            live = None
        if live is None or secrets.read(live, endpoint.host_names) != world.certificates.get(key):
            raise BriefWait(Reason.RETRYING, f"{key} changed", CHANGED_RETRY_DELAY)
        return live


def _body(world: World, write: CertificateWrite, live: Object | None) -> Object:
    """The request of a step: it creates the Secret, or changes it if it is still `live`."""
    endpoint, key = write.endpoint, write.endpoint.secret_key
    try:
        data = secrets.changed(live, write.step, endpoint.host_names, datetime.now(UTC))
        annotations = secrets.annotations_of(data, endpoint.host_names, write.step)
    except BadKeyPair as error:
        raise BriefWait(Reason.RETRYING, f"{key}: {error}", CHANGED_RETRY_DELAY) from None
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "labels": labels_of(world, {}),
        "annotations": annotations
        | ({LABELS_ANNOTATION: labels} if (labels := labels_digest(world.object_labels)) else {}),
        **(unchanged_precondition(live) if live is not None else apply_precondition(None)),
    }
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": metadata,
        "type": "kubernetes.io/tls",
        "data": secrets.encoded(data),
    }


def _body_of_new(body: Object) -> Object:
    """The request that creates a Secret of the same content."""
    metadata = {name: value for name, value in body["metadata"].items() if name not in ("uid", "resourceVersion")}
    return {**body, "metadata": metadata | apply_precondition(None)}


def _identity(secret: Object) -> tuple[str, str]:
    return secret["metadata"]["uid"], secret["metadata"]["resourceVersion"]


def _change(write: CertificateWrite, world: World, *, is_known: bool) -> ObjectChange:
    key = write.endpoint.secret_key
    if write.step is not Step.ISSUE:
        return ObjectChange(key, Verb.CHANGED, f"it {write.step}")
    if key not in world.owned:
        bundle = f"bundle {world.target_bundle}"
        return ObjectChange(key, Verb.RECREATED, DELETED) if is_known else ObjectChange(key, Verb.CREATED, bundle)
    is_broken = bool(world.certificates[key].problem)
    return ObjectChange(key, Verb.REVERTED if is_broken else Verb.CHANGED, write.why)
