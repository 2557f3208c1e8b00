"""Webhooks and API services of bundles: what they are served with, before, during and after a rotation."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from olmkit.api.bundledeployments import CERTIFICATE_ANNOTATION
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.source_secrets import SECRETS
from olmkit.tls.certificate_authority import make_ca
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, NAMESPACES
from rukpak.certificates import secrets
from rukpak.certificates.serving_certificate import LIFETIME, ROTATION_LEAD, Step
from rukpak.setup import build
from tests.cluster.killable_process import first, run_killable
from tests.cluster.rukpak.boats import (
    CA,
    PORT,
    VALIDATING,
    certificate_of,
    create_boat,
    field,
    host_names,
    install,
    operator,
    secret_name,
    secret_of,
    server_of,
    service_name,
    use,
    webhook,
)
from tests.cluster.rukpak.harness import (
    DEPLOYMENTS,
    READY,
    Harness,
    Object,
    gone,
    namespace,
    says,
    settings,
)
from tests.cluster.rukpak.webhook_server import REFUSED, WebhookServer, repeated


async def age(at: Harness) -> None:
    """Let the next certificate be one that is due for a rotation itself as soon as it is served."""
    names = host_names(at)
    created = datetime.now(UTC) - LIFETIME + ROTATION_LEAD - timedelta(hours=1)
    aged = secrets.changed(None, Step.ISSUE, names, created)
    trusted = base64.b64decode((await secret_of(at))["data"]["ca.crt"]) + aged["ca.crt"]
    data = {"next.crt": aged["tls.crt"], "next.key": aged["tls.key"], "ca.crt": trusted}
    await at.client.patch(SECRETS, secret_name(at), {"data": secrets.encoded(data)}, at.name)


async def test_what_a_bundle_serves_answers_before_during_and_after_a_rotation(
    at: Harness, running: Client, tmp_path: Path, address: str
) -> None:
    await install(at, operator(at))
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
    validating = f"validate.{at.group}"
    assert await at.find(VALIDATING, validating) is None, "nothing is refused by a server that is not there"
    server, count = server_of(at, tmp_path), itertools.count()

    async def work() -> None:
        await use(at, f"boat-{next(count)}")

    async with server.running(address, service_name(at), PORT):
        await at.until(READY)
        await work()
        async with repeated(work) as errors:
            await age(at)
            while len(server.served) < 3:
                await at.when(SECRETS, secret_name(at), at.name, lambda obj: _digest(obj) not in server.served)
                await server.load()
            settled = await at.when(SECRETS, secret_name(at), at.name, _has_one_authority)
            authority = field(settled, "data", "ca.crt")
            await at.when(VALIDATING, validating, "", lambda obj: field(obj, *CA) == authority)
            await work()
        assert errors == []
        await at.until(READY)
        workload = await at.client.get(DEPLOYMENTS, at.name, at.name)
        started_with = field(workload, "spec", "template", "metadata", "annotations", CERTIFICATE_ANNOTATION)
        assert started_with == server.served[-1]
        end = certificate_of(await secret_of(at)).not_valid_after_utc
        assert end > datetime.now(UTC) + LIFETIME - timedelta(hours=1)
        await at.remove()
        await at.until(gone)
    assert await at.find(SECRETS, secret_name(at), at.name) is None


async def backdate(at: Harness, due_in: timedelta) -> x509.Certificate:
    """Let the Secret be as if its certificate had been issued so long ago that it is due for a rotation in a moment."""
    names = host_names(at)
    data = secrets.changed(None, Step.ISSUE, names, datetime.now(UTC) - LIFETIME + ROTATION_LEAD + due_in)
    return certificate_of(await at.client.patch(SECRETS, secret_name(at), {"data": secrets.encoded(data)}, at.name))


@pytest.mark.parametrize(
    "due_in",
    [
        pytest.param(timedelta(hours=-1), id="less is left when the controller sees the certificate"),
        pytest.param(timedelta(seconds=15), id="the moment comes while nothing else changes"),
    ],
)
async def test_a_rotation_begins_by_itself_30_days_before_the_end(
    at: Harness, running: Client, tmp_path: Path, address: str, due_in: timedelta
) -> None:
    await install(at, operator(at, hooks=[webhook(at, "ValidatingAdmissionWebhook", "validate")]))
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
    server = server_of(at, tmp_path)
    async with server.running(address, service_name(at), PORT):
        await at.until(READY)
        old = await backdate(at, due_in)
        await server.load()
        trusting = await at.when(SECRETS, secret_name(at), at.name, lambda obj: "next.crt" in field(obj, "data"))
        assert datetime.now(UTC) >= old.not_valid_after_utc - timedelta(days=30)
        assert certificate_of(trusting or {}) == old, "it is served until all clients trust the next one"
        await at.when(SECRETS, secret_name(at), at.name, lambda obj: not _is_aged(obj))
        await server.load()
        settled = await at.when(SECRETS, secret_name(at), at.name, _has_one_authority)
        authority = field(settled, "data", "ca.crt")
        await at.when(VALIDATING, f"validate.{at.group}", "", lambda obj: field(obj, *CA) == authority)
        await at.until(READY)
    assert certificate_of(settled or {}).not_valid_after_utc > old.not_valid_after_utc


async def test_what_others_change_is_repaired_and_a_deleted_certificate_issued_again(
    at: Harness, running: Client, tmp_path: Path, address: str
) -> None:
    await install(at, operator(at))
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
    server, validating = server_of(at, tmp_path), f"validate.{at.group}"
    async with server.running(address, service_name(at), PORT):
        await at.until(READY)
        authority = (await secret_of(at))["data"]["ca.crt"]
        client = {
            "name": validating,
            "clientConfig": {"caBundle": base64.b64encode(make_ca(datetime.now(UTC)).chain).decode()},
        }
        named = {"apiVersion": VALIDATING.api_version, "kind": VALIDATING.kind, "metadata": {"name": validating}}
        changed = await at.client.apply(VALIDATING, {**named, "webhooks": [client]}, "other")
        assert field(changed, *CA) != authority
        await at.when(VALIDATING, validating, "", lambda obj: field(obj, *CA) == authority)
        first = _digest(await secret_of(at))
        await at.client.delete(SECRETS, secret_name(at), at.name)
        await _issued_again(at, server, first)
        second = _digest(await secret_of(at))
        await at.client.patch(SECRETS, secret_name(at), {"data": {"tls.key": base64.b64encode(b"x").decode()}}, at.name)
        await _issued_again(at, server, second)
        third = _digest(await secret_of(at))
        broken = {"data": {"tls.key": base64.b64encode(b"x").decode()}, "immutable": True}
        await at.client.patch(SECRETS, secret_name(at), broken, at.name)
        await _issued_again(at, server, third)
        assert "immutable" not in await secret_of(at)
        await at.until(READY)
        await use(at, "boat")


async def test_a_secret_of_others_is_kept_and_an_upgrade_without_webhooks_removes_ours(
    at: Harness, running: Client, tmp_path: Path, address: str
) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    foreign = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret_name(at), "namespace": at.name}}
    await at.create(SECRETS, foreign)
    await install(at, operator(at))
    await at.until(
        says(
            "Stalled", "True", text=f"Secret {at.name}/{secret_name(at)} already exists and is not managed by olm-suite"
        )
    )
    await at.client.delete(SECRETS, secret_name(at), at.name)
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
    async with server_of(at, tmp_path).running(address, service_name(at), PORT):
        await at.until(READY)
        # The upgrade removes the conversion too.
        await install(at, operator(at, "v2.0.0", with_hooks=False), "v2", crdUpgradeSafety={"policy": "None"})
        await at.when(SECRETS, secret_name(at), at.name, gone)
        await at.when(VALIDATING, f"validate.{at.group}", "", gone)
        await at.until(READY)


async def test_a_bundle_with_certificates_of_its_own_waits_for_nobody(at: Harness, running: Client) -> None:
    hook = webhook(at, "ValidatingAdmissionWebhook", "validate")
    await install(at, operator(at, hooks=[hook]), certificates="None")
    await at.until(READY)
    assert field(await at.find(VALIDATING, f"validate.{at.group}"), *CA) is None
    assert await at.find(SECRETS, secret_name(at), at.name) is None


async def test_who_issues_the_certificates_can_be_changed(
    at: Harness, running: Client, tmp_path: Path, address: str
) -> None:
    hook = webhook(at, "ValidatingAdmissionWebhook", "validate")
    bundle, validating = operator(at, hooks=[hook]), f"validate.{at.group}"
    await install(at, bundle)
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
    server = server_of(at, tmp_path)
    async with server.running(address, service_name(at), PORT):
        await at.until(READY)
        await install(at, bundle, certificates="None")
        await at.when(SECRETS, secret_name(at), at.name, gone)
        await at.until(READY)
        assert field(await at.find(VALIDATING, validating), *CA) is None
        workload = await at.client.get(DEPLOYMENTS, at.name, at.name)
        assert field(workload, "spec", "template", "spec", "volumes") is None
        assert CERTIFICATE_ANNOTATION not in field(workload, "spec", "template", "metadata", "annotations")
        await install(at, bundle, certificates="Self")
        await at.when(SECRETS, secret_name(at), at.name, lambda obj: obj is not None)
        await server.load()
        authority = field(await secret_of(at), "data", "ca.crt")
        await at.when(VALIDATING, validating, "", lambda obj: field(obj, *CA) == authority)
        await at.until(READY)
        with pytest.raises(ApiError, match=REFUSED):
            await create_boat(at, "boat", "red")


async def test_the_message_says_why_the_server_of_a_webhook_has_no_pods(at: Harness, running: Client) -> None:
    hook = webhook(at, "ValidatingAdmissionWebhook", "validate")
    await install(at, operator(at, hooks=[hook], replicas=1, priorityClassName="absent"))
    why = "is ready: it cannot create its pods: FailedCreate: "
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} {why}"))
    await at.until(says("Installed", "Unknown", text="no PriorityClass with name absent was found"))
    raw = await at.until(lambda found: "refusedPods" in (found or {})["status"])
    assert [each["name"] for each in raw["status"]["refusedPods"]] == [at.name]


async def test_certificates_of_cert_manager_wait_for_its_kinds(at: Harness, running: Client) -> None:
    await install(at, operator(at), certificates="CertManager")
    await at.until(says("Reconciling", "True", "WaitingForKind", "Certificate (cert-manager.io/v1)"))


async def test_a_secret_that_nobody_manages_is_taken_over_if_the_policy_allows_it(at: Harness, running: Client) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    names = host_names(at)
    data = secrets.encoded(secrets.changed(None, Step.ISSUE, names, datetime.now(UTC)))
    named = {"name": secret_name(at), "namespace": at.name}
    left = {"apiVersion": "v1", "kind": "Secret", "metadata": named, "type": "kubernetes.io/tls", "data": data}
    found = await at.create(SECRETS, left)
    hook = webhook(at, "ValidatingAdmissionWebhook", "validate")
    await install(at, operator(at, hooks=[hook]), adoptionPolicy="IfUnowned")
    await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
    secret = await secret_of(at)
    assert secret["metadata"]["uid"] == found["metadata"]["uid"]
    assert secret["data"]["tls.crt"] != data["tls.crt"]


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_a_kill_after_each_write_leads_to_the_same_certificates(
    at: Harness, tmp_path: Path, address: str
) -> None:
    """Process after process is killed between two writes, until nothing is left to write."""
    hook = webhook(at, "ValidatingAdmissionWebhook", "validate")
    await install(at, operator(at, hooks=[hook]))
    waits = says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready")
    kills = await _killed_after_each_write(at, tmp_path, lambda: at.until(waits))
    server = server_of(at, tmp_path)

    async def settled() -> None:
        await at.when(SECRETS, secret_name(at), at.name, lambda obj: _has_one_authority(obj) and not _is_aged(obj))
        await server.load()
        authority = field(await secret_of(at), "data", "ca.crt")
        await at.when(VALIDATING, f"validate.{at.group}", "", lambda obj: field(obj, *CA) == authority)
        await at.until(READY)

    async with server.running(address, service_name(at), PORT):
        kills += await _killed_after_each_write(at, tmp_path, lambda: at.until(READY))
        before = await secret_of(at)
        await age(at)
        kills += await _killed_after_each_write(at, tmp_path, settled, server)
        last = await secret_of(at)
        assert last["metadata"]["uid"] == before["metadata"]["uid"], "it is changed, not replaced"
        workload = await at.client.get(DEPLOYMENTS, at.name, at.name)
        started_with = field(workload, "spec", "template", "metadata", "annotations", CERTIFICATE_ANNOTATION)
        assert started_with == _digest(last)
    assert kills > 8
    kills = await _killed_after_each_write(at, tmp_path, lambda: at.until(gone), begin=at.remove)
    assert kills
    assert await at.find(SECRETS, secret_name(at), at.name) is None


async def _killed_after_each_write(
    at: Harness,
    cache: Path,
    done: Callable[[], Awaitable[Any]],
    server: WebhookServer | None = None,
    begin: Callable[[], Awaitable[Any]] | None = None,
) -> int:
    """Let the n-th process be killed after its n-th write until one is not, because it is done; returns how many were.

    A process that starts may apply again what is there, so that the first write alone would not always lead on.
    """
    for kills in range(60):
        if begin is not None and not kills:
            await begin()
        async with run_killable("rukpak", settings(at.cluster, cache), build) as kill_switch:
            kill_switch.counts_status, kill_switch.writes_left = False, kills + 1
            await first(kill_switch.killed.wait(), done())
            if not kill_switch.was_killed:
                return kills
        if server is not None:
            await server.load()
    raise AssertionError("more than 60 writes")


def _is_aged(obj: Object | None) -> bool:
    return certificate_of(obj or {}).not_valid_after_utc < datetime.now(UTC) + LIFETIME - timedelta(days=1)


async def _issued_again(at: Harness, server: WebhookServer, before: str) -> None:
    """The Secret has another certificate; the server serves it, and the API server trusts it."""
    secret = await at.when(SECRETS, secret_name(at), at.name, lambda obj: _digest(obj) not in ("None", before))
    await server.load()
    authority = field(secret, "data", "ca.crt")
    name = f"v1.parts.{at.group}"
    await at.when(API_SERVICES, name, "", lambda obj: _trusts(field(obj, "spec", "caBundle"), authority))


def _has_one_authority(obj: Object | None) -> bool:
    return len(x509.load_pem_x509_certificates(base64.b64decode(field(obj, "data", "ca.crt")))) == 1


def _trusts(bundle: str | None, authority: str) -> bool:
    """Whether the first authority of a Secret is in a caBundle."""
    first, *_ = x509.load_pem_x509_certificates(base64.b64decode(authority))
    return first in x509.load_pem_x509_certificates(base64.b64decode(bundle or ""))


def _digest(obj: Object | None) -> str:
    return str(field(obj, "metadata", "annotations", CERTIFICATE_ANNOTATION))
