"""rukpak with its webhooks in this process, and the API server that asks it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.errors import DevclusterError
from devcluster.services import free_address
from devcluster.suite import WEBHOOKS
from olmctl.suite.manifests import NAMESPACE_LABEL
from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api import bundles
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import PLAIN
from olmkit.runtime.client import Client
from rukpak.admission.probe import CONFIGURATION, AdmissionProbe
from tests.cluster.rukpak.harness import Harness, rukpak

NAMESPACE = Kind("", "v1", "Namespace", "namespaces")
Object = dict[str, Any]


@dataclass
class Place:
    """Namespaces for the keys of a rukpak of a test, and the configuration that names its address."""

    at: Harness
    directory: Path
    address: str
    system: str
    keys: str

    @contextlib.asynccontextmanager
    async def rukpak(self, replica: str = "a", address: str = "", **changes: Any) -> AsyncIterator[Client]:
        where = {"system_namespace": self.system, "keys_namespace": self.keys, **changes}
        where["webhook_bind_address"] = address or self.address
        async with rukpak(self.at.cluster, self.directory / replica, **where) as client:
            yield client

    def configuration(self) -> Object:
        """That of config/webhook, for the address of this place."""
        found: Object = yaml.safe_load((WEBHOOKS / "rukpak.yaml").read_text())
        for webhook in found["webhooks"]:
            path = webhook["clientConfig"].pop("service")["path"]
            webhook["clientConfig"]["url"] = f"https://{self.address}{path}"
            if "namespaceSelector" in webhook:
                webhook["namespaceSelector"]["matchLabels"][NAMESPACE_LABEL] = self.system
        return found

    async def configure(self) -> None:
        """Have the API server ask, and return when the leader has written the CA."""
        await self.at.client.apply(WEBHOOK_CONFIGURATIONS, self.configuration(), "test")
        await self.at.when(WEBHOOK_CONFIGURATIONS, CONFIGURATION, "", has_ca)

    async def answers(self) -> None:
        """Return when the API server asks."""
        probe = AdmissionProbe(self.at.client)
        async with asyncio.timeout(60):
            while await probe.problem():  # noqa: ASYNC110 no event says that the API server has read a configuration
                await asyncio.sleep(0.1)

    async def kubectl(self, *arguments: str, body: Object | None = None) -> str:
        """What kubectl prints, or its error."""
        text = json.dumps(body) if body is not None else None
        try:
            return await asyncio.to_thread(self.at.cluster.kubectl, *arguments, input=text)
        except DevclusterError as error:
            return str(error)

    async def create_bundle(self, suffix: str = "") -> str:
        name = f"{self.at.name}{suffix}"
        body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": name}}
        await self.at.create(bundles.KIND, {**body, "spec": spec_of("registry.example.com/ship:v1")})
        return name


def has_ca(raw: Object | None) -> bool:
    return raw is not None and all(each["clientConfig"].get("caBundle") for each in raw["webhooks"])


def spec_of(ref: str) -> Object:
    return {"provisionerClassName": PLAIN, "source": {"type": "image", "image": {"ref": ref}}}


@pytest.fixture
async def place(at: Harness, tmp_path: Path) -> AsyncIterator[Place]:
    name = f"hooks-{uuid.uuid4().hex[:6]}"
    own = Place(at, tmp_path, free_address(), name, f"{name}-keys")
    for each in (own.system, own.keys):
        await at.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}})
    try:
        yield own
    finally:
        await own.kubectl("delete", "validatingwebhookconfiguration", CONFIGURATION, "--ignore-not-found")
