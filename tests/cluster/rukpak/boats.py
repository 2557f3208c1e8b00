"""An operator of boats, which refuses, mutates and converts them and serves an API, and what its tests ask of it.

The server of webhook_server.py stands for its pods.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from olmkit.api import bundledeployments
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.errors import ApiError
from olmkit.runtime.source_secrets import SECRETS
from rukpak.bundledeployment.cluster.webhook_endpoints import CONFIGURATIONS
from rukpak.render.endpoints import ADMISSION_GROUP, CONFIGURATION_KINDS
from tests.cluster.rukpak.harness import Harness, Object, definition, kind_of, thing
from tests.cluster.rukpak.webhook_server import MUTATED, REFUSED, WebhookServer
from tests.unit.rukpak.builders import csv, files
from tests.unit.rukpak.builders import deployment as csv_deployment

VALIDATING, MUTATING = (CONFIGURATIONS[ADMISSION_GROUP, kind] for kind in CONFIGURATION_KINDS.values())
PORT = 9443
CA = ("webhooks", 0, "clientConfig", "caBundle")


def service_name(at: Harness) -> str:
    return f"{at.name}-service"


def secret_name(at: Harness) -> str:
    return f"{service_name(at)}-cert"


def host_names(at: Harness) -> tuple[str, ...]:
    name = f"{service_name(at)}.{at.name}"
    return name, f"{name}.svc", f"{name}.svc.cluster.local"


def webhook(at: Harness, kind: str, path: str, **more: Any) -> Object:
    rules = [{"apiGroups": [at.group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["boats"]}]
    return {
        "type": kind,
        "generateName": f"{path}.{at.group}",
        "deploymentName": at.name,
        "containerPort": PORT,
        "webhookPath": f"/{path}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "rules": rules,
        **more,
    }


def operator(
    at: Harness,
    version: str = "v1.0.0",
    *,
    with_hooks: bool = True,
    hooks: list[Object] | None = None,
    replicas: int = 0,
    **pod: Any,
) -> dict[str, bytes]:
    """A registry+v1 bundle whose Deployment has no pods: the server of the test stands for them. `pod`: fields of its pods."""
    workload = csv_deployment(at.name, containers=[{"name": "manager", "image": "registry.example.com/x:v1"}], **pod)
    workload["spec"]["replicas"] = replicas
    crd = definition(at.group, "Boat", "v1", "v2")
    owned = [{"name": crd["metadata"]["name"], "kind": "Boat", "version": each} for each in ("v1", "v2")]
    all_hooks = [
        webhook(at, "ValidatingAdmissionWebhook", "validate"),
        webhook(at, "MutatingAdmissionWebhook", "mutate"),
        webhook(at, "ConversionWebhook", "convert", conversionCRDs=[crd["metadata"]["name"]]),
    ]
    api = {"group": f"parts.{at.group}", "version": "v1", "kind": "Part", "name": "parts"}
    services = {"owned": [{**api, "deploymentName": at.name, "containerPort": PORT}]}
    served: Object = {"webhookdefinitions": all_hooks, "apiservicedefinitions": services} if with_hooks else {}
    served |= {"webhookdefinitions": hooks, "apiservicedefinitions": {}} if hooks is not None else {}
    made = csv(
        f"things.{version}",
        annotations={"operatorframework.io/suggested-namespace": at.name},
        install={"deployments": [workload]},
        customresourcedefinitions={"owned": owned},
        **served,
    )
    return files(made, crd)


async def install(at: Harness, bundle: dict[str, bytes], tag: str = "v1", **spec: Any) -> None:
    body = at.body(at.push(bundle, tag), provisioner=REGISTRY)
    body["spec"] |= spec
    await at.client.apply(bundledeployments.KIND, body, "test")


def field(obj: Object | None, *path: str | int) -> Any:
    found: Any = obj or {}
    for part in path:
        found = found[part] if isinstance(part, int) else (found or {}).get(part)
    return found


def certificate_of(secret: Object) -> x509.Certificate:
    return x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))


async def secret_of(at: Harness) -> Object:
    return await at.client.get(SECRETS, secret_name(at), at.name)


def server_of(at: Harness, directory: Path) -> WebhookServer:
    return WebhookServer(at, secret_name(at), directory, kind_of(at.group), f"parts.{at.group}")


async def create_boat(at: Harness, name: str, color: str, version: str = "v1") -> Object:
    kind = kind_of(at.group, version=version)
    boat = thing(kind, name, at.name)
    boat["spec"]["color"] = color
    return await at.client.create(kind, boat)


async def use(at: Harness, name: str) -> None:
    """Whatever the bundle serves is asked, and answers as it should."""
    with pytest.raises(ApiError, match=REFUSED):
        await create_boat(at, name, "red")
    boat = await create_boat(at, name, "blue")
    assert boat["spec"][MUTATED] is True
    v2 = await at.client.get(kind_of(at.group, version="v2"), name, at.name)
    assert v2["spec"]["converted"] == f"{at.group}/v2"
    v1 = await at.client.get(kind_of(at.group), name, at.name)
    assert v1["spec"]["converted"] == f"{at.group}/v1"
    parts = await at.client.request("GET", f"/apis/parts.{at.group}/v1/parts")
    assert parts["kind"] == "PartList"
