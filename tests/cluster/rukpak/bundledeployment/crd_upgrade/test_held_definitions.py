"""Upgrades that bring or move a conversion webhook: nobody who uses custom resources notices, on the real API server."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.boats import PORT, field, install, webhook
from tests.cluster.rukpak.harness import READY, Harness, Object, definition, kind_of, namespace, says, thing
from tests.cluster.rukpak.webhook_server import WebhookServer, repeated
from tests.unit.rukpak.builders import csv, files
from tests.unit.rukpak.builders import deployment as csv_deployment


def converting(
    at: Harness, number: int, workload: str, *versions: str, port: int = PORT, hook: bool = True
) -> dict[str, bytes]:
    """A registry+v1 bundle whose Deployment, without pods, converts boats. The last of the versions is stored."""
    crd = definition(at.group, "Boat", *versions)
    name = crd["metadata"]["name"]
    engine = csv_deployment(workload, containers=[{"name": "manager", "image": "registry.example.com/x:v1"}])
    engine["spec"]["replicas"] = 0
    conversion = webhook(
        at, "ConversionWebhook", "convert", conversionCRDs=[name], deploymentName=workload, containerPort=port
    )
    made = csv(
        f"boats.v{number}.0.0",
        annotations={"operatorframework.io/suggested-namespace": at.name},
        install={"deployments": [engine]},
        customresourcedefinitions={"owned": [{"name": name, "kind": "Boat", "version": each} for each in versions]},
        webhookdefinitions=[conversion] if hook else [],
    )
    return files(made, crd)


def waits_for(workload: str) -> Any:
    return says("Ready", "False", "Upgrading", f"no pod of Deployment {workload} is ready")


def storage(crd: Object | None) -> str:
    return str(next(each["name"] for each in field(crd, "spec", "versions") if each["storage"]))


def service(crd: Object | None) -> Any:
    return field(crd, "spec", "conversion", "webhook", "clientConfig", "service", "name")


async def use(at: Harness, *kinds: Kind) -> None:
    """A boat is read, listed and written in these versions."""
    for kind in kinds:
        boat = await at.client.get(kind, "dinghy", f"{at.name}-port")
        assert boat["spec"]["color"] == "red"
        assert await at.client.list(kind)
        change = {"metadata": {"annotations": {"read": kind.version}}}
        await at.client.patch(kind, "dinghy", change, f"{at.name}-port")


@pytest.mark.timeout(300)
async def test_what_the_installed_version_needs_stays_until_the_new_one_converts(
    at: Harness, running: Client, tmp_path: Path, address: str
) -> None:
    name, old, new = f"boats.{at.group}", f"{at.name}-old", f"{at.name}-new"
    await at.create(NAMESPACES, namespace(f"{at.name}-port"))
    v1, v2, v3 = (kind_of(at.group, version=each) for each in ("v1", "v2", "v3"))
    await install(at, converting(at, 1, old, "v2", "v1", hook=False))
    await at.until(READY)
    await at.create(v1, thing(v1, "dinghy", f"{at.name}-port"))
    async with AsyncExitStack() as servers, repeated(lambda: use(at, v1, v2)) as errors:
        await install(at, converting(at, 2, old, "v1", "v2"), "v2")
        await at.until(waits_for(old))
        crd = await at.client.get(CRDS, name)
        assert (storage(crd), field(crd, "spec", "conversion")) == ("v1", {"strategy": "None"})
        first = WebhookServer(at, f"{old}-service-cert", _directory(tmp_path, "first"), v1, "parts.example.com")
        await servers.enter_async_context(first.running(address, f"{old}-service", PORT))
        await at.until(READY)
        crd = await at.client.get(CRDS, name)
        assert (storage(crd), service(crd)) == ("v2", f"{old}-service")
        await install(at, converting(at, 3, new, "v1", "v2", "v3", port=PORT + 1), "v3")
        await at.until(waits_for(new))
        crd = await at.client.get(CRDS, name)
        assert (storage(crd), service(crd)) == ("v2", f"{old}-service")
        assert [each["name"] for each in field(crd, "spec", "versions") if each["served"]] == ["v1", "v2", "v3"]
        second = WebhookServer(at, f"{new}-service-cert", _directory(tmp_path, "second"), v1, "others.example.com")
        await servers.enter_async_context(second.running(address, f"{new}-service", PORT + 1))
        await at.when(CRDS, name, "", lambda obj: service(obj) == f"{new}-service")
        await at.until(READY)
        assert storage(await at.client.get(CRDS, name)) == "v3"
        await use(at, v1, v2, v3)
        assert errors == []


def _directory(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name
