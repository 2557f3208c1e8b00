"""An object that something refuses is applied as soon as that is lifted, without waiting for the next attempt."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from olmkit.api.meta import Kind
from olmkit.errors import ApiError, Conflict
from rukpak.bundledeployment.apply import apply_errors
from rukpak.bundledeployment.cluster.refusal_watch import ADMISSION_KINDS, NAMESPACED_KINDS
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from rukpak.bundledeployment.delays import RETRIED
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    Harness,
    Object,
    config_map,
    namespace,
    plain,
    rukpak,
    says,
)
from tests.conditions import triple
from tests.servers.certificates import Authority
from tests.servers.https_site import serve

POLICIES, BINDINGS, *WEBHOOKS = ADMISSION_KINDS
QUOTAS, LIMIT_RANGES = NAMESPACED_KINDS
PODS = Kind("", "v1", "Pod", "pods", namespaced=True)
SECURITY_LEVEL = "pod-security.kubernetes.io/enforce"
MAX_VERSIONS = 4

Lift = Callable[[], Awaitable[object]]


def resource(kind: Kind, name: str, spec: dict[str, Any]) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}


async def _policy(at: Harness) -> tuple[str, Lift]:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    selector = {"matchLabels": {"kubernetes.io/metadata.name": at.name}}
    spec = {
        "matchConstraints": {"resourceRules": rules, "namespaceSelector": selector},
        "validations": [{"expression": "object.metadata.name != 'log'", "message": "no logs here"}],
    }
    await at.create(POLICIES, resource(POLICIES, at.name, spec))
    await at.create(BINDINGS, resource(BINDINGS, at.name, {"policyName": at.name, "validationActions": ["Deny"]}))

    async def lift() -> None:
        await at.client.delete(BINDINGS, at.name)
        await until_refused(at, "")  # the API server may read that later than rukpak tries again
        await at.client.delete(POLICIES, at.name)

    return "no logs here", lift


async def _quota(at: Harness) -> tuple[str, Lift]:
    quota = resource(QUOTAS, "few", {"hard": {"count/configmaps": "0"}})
    quota["metadata"]["namespace"] = at.name
    await at.create(QUOTAS, quota)
    spec = {"spec": {"hard": {"count/configmaps": "9"}}}
    return "exceeded quota: few", lambda: at.client.patch(QUOTAS, "few", spec, at.name)


@pytest.mark.parametrize(
    "refusing", [pytest.param(_policy, id="an admission policy"), pytest.param(_quota, id="a quota")]
)
async def test_what_refuses_is_watched(
    at: Harness,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refusing: Callable[[Harness], Awaitable[tuple[str, Lift]]],
) -> None:
    monkeypatch.setattr(apply_errors, "REJECTED_RETRY_DELAY", timedelta(hours=1))
    await at.create(NAMESPACES, namespace(at.name))
    text, lift = await refusing(at)
    await until_refused(at, text)
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(config_map("log", at.name))))
        raw = await at.until(says("Stalled", "True", "Blocked", text))
        assert triple(raw, "Ready")[2].endswith(f"; {RETRIED}")
        versions = {raw["metadata"]["resourceVersion"]}
        at.deployments.subscribe(lambda change: versions.add((change.new or raw)["metadata"]["resourceVersion"]))
        await lift()
        await at.until(READY)
        assert len(versions) <= MAX_VERSIONS, "the status is not written by an attempt that is refused again"


@web.middleware
async def deny(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers an AdmissionReview."""
    review = await request.json()
    response = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": "no logs here"}}
    return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})


def denying_webhook(kind: Kind, name: str, url: str, authority: bytes) -> Object:
    """A configuration of either kind that asks about ConfigMaps in the Namespace of its name."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    webhook = {
        "name": f"{name}.example.com",
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "clientConfig": {"url": url, "caBundle": b64encode(authority).decode()},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    metadata = {"name": name}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "webhooks": [webhook]}


def pod(namespace: str) -> Object:
    """Its process needs more than a limit allows, and may run as root."""
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    containers = [{"name": "main", "image": "registry.example.com/x:v1", "resources": resources}]
    metadata = {"name": "log", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


async def test_webhooks_limits_and_the_labels_of_a_namespace_are_watched(
    at: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each refuses in a Namespace of its own, and what refuses in all Namespaces is lifted last: no event helps another."""
    monkeypatch.setattr(apply_errors, "REJECTED_RETRY_DELAY", timedelta(hours=1))
    authority = Authority()
    pem = (authority.directory(tmp_path) / "test.crt").read_bytes()
    limited, labelled = f"{at.name}-limited", f"{at.name}-labelled"
    hooked = {kind: f"{at.name}-{kind.plural[:8]}" for kind in WEBHOOKS}
    async with serve(authority.server_context(tmp_path), [deny]) as site:
        refused = [
            (limited, PODS, pod(limited), "maximum cpu usage per Container is 1"),
            (labelled, PODS, pod(labelled), 'violates PodSecurity "restricted'),
            *((name, CONFIG_MAPS, config_map("log", name), "no logs here") for name in hooked.values()),
        ]
        for name, *_ in refused:
            labels = {SECURITY_LEVEL: "restricted"} if name == labelled else {}
            await at.create(NAMESPACES, namespace(name, **labels))
        limits = resource(LIMIT_RANGES, "small", {"limits": [{"type": "Container", "max": {"cpu": "1"}}]})
        limits["metadata"]["namespace"] = limited
        await at.create(LIMIT_RANGES, limits)
        for kind, name in hooked.items():
            await at.create(kind, denying_webhook(kind, name, site.url, pem))
        for _, kind, body, text in refused:
            await until_refused(at, text, kind, body)
        lifts: dict[str, Lift] = {
            limited: lambda: at.client.delete(LIMIT_RANGES, "small", limited),
            labelled: lambda: at.client.patch(NAMESPACES, labelled, {"metadata": {"labels": {SECURITY_LEVEL: None}}}),
        }
        async with rukpak(at.cluster, tmp_path):
            for name, _, body, text in refused[:2]:
                await at.install(at.push(plain(body), repository=f"bundles/{name}"), name)
                await at.until(says("Stalled", "True", "Blocked", text), name)
            for name, lift in lifts.items():
                await lift()
                await at.when(PODS, "log", name, lambda found: found is not None)
            for (name, _, body, text), (kind, configuration) in zip(refused[2:], hooked.items(), strict=True):
                await at.install(at.push(plain(body), repository=f"bundles/{name}"), name)
                await at.until(says("Stalled", "True", "Blocked", text), name)
                await at.client.delete(kind, configuration)
                await at.until(READY, name)


async def until_refused(at: Harness, text: str, kind: Kind = CONFIG_MAPS, body: Object | None = None) -> None:
    """Wait until the API server refuses what the bundle holds, or accepts it if `text` is empty: it reads policies and quotas a
    moment after they are written."""
    body = body or config_map("log", at.name)
    path = kind.path(body["metadata"]["namespace"])
    async with asyncio.timeout(60):
        while True:
            try:
                await at.client.request("POST", path, query={"dryRun": "All"}, body=body)
            except ApiError as error:
                if (text and text in error.message) or isinstance(error, Conflict):
                    return
            else:
                if not text:
                    return
            await asyncio.sleep(0.1)
