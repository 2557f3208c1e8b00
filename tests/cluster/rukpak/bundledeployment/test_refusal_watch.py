"""An object that a policy or a quota refuses is applied as soon as that is lifted, without waiting for the next attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from olmkit.api.meta import Kind
from olmkit.errors import ApiError, Conflict
from rukpak.bundledeployment import apply_errors
from rukpak.bundledeployment.refusal_watch import ADMISSION_KINDS, NAMESPACED_KINDS
from rukpak.bundledeployment.rest_mapper import NAMESPACES
from rukpak.bundledeployment.waiting import RETRIED
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

POLICIES, BINDINGS = ADMISSION_KINDS[:2]
QUOTAS = NAMESPACED_KINDS[0]
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


async def until_refused(at: Harness, text: str) -> None:
    """Wait until the API server refuses what the bundle holds, or accepts it if `text` is empty: it reads policies and quotas a
    moment after they are written."""
    path = CONFIG_MAPS.path(at.name)
    async with asyncio.timeout(60):
        while True:
            try:
                await at.client.request("POST", path, query={"dryRun": "All"}, body=config_map("log", at.name))
            except ApiError as error:
                if (text and text in error.message) or isinstance(error, Conflict):
                    return
            else:
                if not text:
                    return
            await asyncio.sleep(0.1)
