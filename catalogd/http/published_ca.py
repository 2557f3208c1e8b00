"""Publishes the CA of catalogd to those who do not read its ConfigMap: the leader keeps the caBundle of the APIService of
PackageManifests, and the Secrets that clients of OLM v1 read, up to date.

These objects and the permissions for them are installed on request. Without a permission nothing is requested but a review of the
own access. Never creates or deletes one, and changes no other field of it, nor an APIService that leads elsewhere.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from olmkit.api.package_manifests import API_SERVICE, API_SERVICE_NAME
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.access_reviews import is_allowed
from olmkit.runtime.client import Client
from olmkit.tls.certificate_rotator import SECRET
from olmkit.tls.service import CA_KEY, CATALOG_SERVICE, V1_CA_SECRET

INTERVAL_SECONDS = 15.0
"""The interval between two checks. A new CA is trusted for a day before it is used."""

log = logging.getLogger(__name__)


class Target(Protocol):
    """An object that has the CA."""

    @property
    def access(self) -> Mapping[str, str]:
        """The access that a write to the object requires, as in a review."""
        ...

    async def write(self, client: Client, ca_bundle: str) -> bool:
        """Write the CA, in base64, if the object exists and has another one. Returns whether it was written. Raises ApiError."""
        ...


@dataclass(frozen=True)
class ApiServiceTarget:
    """The APIService of PackageManifests, if it leads to the catalogd of this namespace."""

    namespace: str

    @property
    def access(self) -> Mapping[str, str]:
        """The permission to change this APIService."""
        resource = {"group": API_SERVICE.group, "resource": API_SERVICE.plural}
        return {"verb": "patch", **resource, "name": API_SERVICE_NAME}

    async def write(self, client: Client, ca_bundle: str) -> bool:
        """Write spec.caBundle."""
        found = await client.get(API_SERVICE, API_SERVICE_NAME)
        service = found["spec"].get("service") or {}
        is_ours = (service.get("name"), service.get("namespace")) == (CATALOG_SERVICE.name, self.namespace)
        if not is_ours or found["spec"].get("caBundle") == ca_bundle:
            return False
        body = {
            "apiVersion": API_SERVICE.api_version,
            "kind": API_SERVICE.kind,
            "metadata": {"name": API_SERVICE_NAME, "uid": found["metadata"]["uid"]},
            "spec": {"caBundle": ca_bundle},
        }
        await client.apply(API_SERVICE, body, CATALOG_SERVICE.manager)
        return True


@dataclass(frozen=True)
class SecretTarget:
    """The Secret of this namespace in which clients of OLM v1 look for the CA."""

    namespace: str

    @property
    def access(self) -> Mapping[str, str]:
        """The permission to change this Secret."""
        place = {"resource": SECRET.plural, "name": V1_CA_SECRET, "namespace": self.namespace}
        return {"verb": "patch", "group": "", **place}

    async def write(self, client: Client, ca_bundle: str) -> bool:
        """Write the key of the CA."""
        found = await client.get(SECRET, V1_CA_SECRET, self.namespace)
        if (found.get("data") or {}).get(CA_KEY) == ca_bundle:
            return False
        body = {"metadata": {"uid": found["metadata"]["uid"]}, "data": {CA_KEY: ca_bundle}}
        await client.patch(SECRET, V1_CA_SECRET, body, self.namespace)
        return True


class PublishedCa:
    """`ca_bundle` returns PEM of the CAs to trust, empty while they are not known."""

    def __init__(self, client: Client, ca_bundle: Callable[[], bytes], targets: Sequence[Target]) -> None:
        self._client, self._ca_bundle, self._targets = client, ca_bundle, targets
        self._errors: dict[Target, str] = {}

    async def run(self) -> None:
        """Check the objects until cancelled. Runs on the leader."""
        while True:
            for target in self._targets:
                try:
                    await self.write(target)
                    self._errors.pop(target, None)
                except ApiError as error:
                    self._log_failure(target, error)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def write(self, target: Target) -> None:
        """Write the CA to one of the objects, if it exists and may be written. Raises ApiError."""
        ca_bundle = base64.b64encode(self._ca_bundle()).decode()
        if not ca_bundle or not await is_allowed(self._client, {"resourceAttributes": target.access}):
            return
        try:
            is_written = await target.write(self._client, ca_bundle)
        except NotFound:
            return
        if is_written:
            log.info("the CA is published", extra=_facts(target))

    def _log_failure(self, target: Target, error: ApiError) -> None:
        if self._errors.get(target) != error.message:
            self._errors[target] = error.message
            log.warning(
                "the CA cannot be published, which is retried", extra={**_facts(target), "error": error.message}
            )


def _facts(target: Target) -> Mapping[str, str]:
    """The object, for the log. `name` is an attribute of each entry of a log."""
    facts = {"resource": "resource", "name": "object", "namespace": "namespace"}
    return {fact: target.access[key] for key, fact in facts.items() if key in target.access}
