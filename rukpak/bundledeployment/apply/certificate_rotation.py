"""The rules about the serving certificates of a bundle: what is issued, and when a rotation takes its next step.

    a Secret is missing, or cannot be served from    issued, before any object but Namespaces is applied
    a certificate nears its end                      three writes, see rukpak.certificates.serving_certificate
    the authorities or the certificate change        `with_certificates` changes the digest of each object that has a part of
                                                     them, so that exactly these are applied

Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Waiting
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.delays import SYNC_POLL_DELAY, WATCHED_RETRY_DELAY, describe_deleting
from rukpak.bundledeployment.drift import is_contested, is_up_to_date
from rukpak.bundledeployment.object_labels import labels_digest
from rukpak.bundledeployment.plan import CertificateWrite, WriteCertificates
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import BriefWait, World
from rukpak.certificates.secrets import injected_digest
from rukpak.certificates.serving_certificate import Rollout, ServingCertificate, Step, next_step
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import Endpoint

LONG_AGO = datetime.min.replace(tzinfo=UTC)


def with_certificates(content: RenderedBundle, known: Mapping[ObjectKey, ServingCertificate]) -> RenderedBundle:
    """The bundle with digests that depend on the certificates that its objects have a part of."""
    changed = {
        item.key: replace(item, digest=_digest(item, known[endpoint.secret_key]))
        for item in content.objects()
        if (endpoint := content.certified.get(item.key)) is not None and endpoint.secret_key in known
    }
    if not changed:
        return content
    phases = tuple(
        replace(phase, objects=tuple(changed.get(item.key, item) for item in phase.objects)) for phase in content.phases
    )
    return replace(content, phases=phases)


def _digest(item: RenderedObject, certificate: ServingCertificate) -> str:
    text = f"{item.digest} {injected_digest(item.key.kind, certificate)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def issue(world: World, content: RenderedBundle) -> WriteCertificates | None:
    """Issue the certificates that are missing or cannot be served. Raises Waiting while a Secret is being deleted, BriefWait
    while one is not read."""
    deleting = [key for key in sorted(content.secret_keys) if world.is_deleting(key)]
    if deleting:
        shown = list_names(describe_deleting(world, key) for key in deleting)
        text = f"it was deleted, waiting until it is gone: {shown}"
        raise Waiting(Reason.RETRYING, text, WATCHED_RETRY_DELAY, map(str, deleting))
    unread = [key for key in sorted(content.secret_keys) if key in world.owned and key not in world.certificates]
    if unread:
        raise BriefWait(Reason.OBJECT_LOOKUP_FAILURE, f"reading {list_names(map(str, unread))}", SYNC_POLL_DELAY)
    writes = [
        CertificateWrite(endpoint, Step.ISSUE, problem)
        for endpoint in content.own_endpoints
        if (problem := _problem(world, endpoint))
    ]
    return WriteCertificates(content, tuple(writes)) if writes else None


def _problem(world: World, endpoint: Endpoint) -> str:
    known = world.certificates.get(endpoint.secret_key)
    return known.problem_at(world.now) if known is not None else "it does not exist"


def rotate(world: World, content: RenderedBundle) -> WriteCertificates | None:
    """The next steps of rotations. Called when all objects of the bundle are up to date."""
    steps = ((endpoint, _next_step(world, content, endpoint)) for endpoint in content.own_endpoints)
    writes = [CertificateWrite(endpoint, step) for endpoint, step in steps if isinstance(step, Step)]
    return WriteCertificates(content, tuple(writes)) if writes else None


def until_rotation(world: World, content: RenderedBundle) -> Iterator[timedelta]:
    """The times to the next steps that do not depend on anything that is watched."""
    steps = (_next_step(world, content, endpoint) for endpoint in content.own_endpoints)
    return (step for step in steps if isinstance(step, timedelta))


def _next_step(world: World, content: RenderedBundle, endpoint: Endpoint) -> Step | timedelta:
    known = world.certificates.get(endpoint.secret_key, ServingCertificate(problem="it does not exist"))
    step = next_step(known, _rollout(world, content, endpoint), world.now)
    is_rotating = isinstance(step, Step) or known.has_next or known.has_old_authority
    has_labels = known.labels_digest == labels_digest(world.object_labels)
    return step if is_rotating or has_labels else Step.LABEL  # each step of a rotation writes them too


def _rollout(world: World, content: RenderedBundle, endpoint: Endpoint) -> Rollout:
    clients = [item for item in content.objects() if item.key in endpoint.clients]
    is_written = all(is_up_to_date(world, item) and not is_contested(world, item) for item in clients)
    users = [endpoint.deployment_key, *(item.key for item in clients)]
    written = [known.at for key in users if (known := world.last_applied.get(key)) is not None]
    last_write = max(written, default=LONG_AGO) if is_written else None
    workload = world.owned.get(endpoint.deployment_key)
    is_complete = workload is not None and workload.health is not None and workload.health.status == "True"
    return Rollout(last_write, is_complete)
