"""Has the API server trust catalogd for PackageManifests: the leader keeps the caBundle of the APIService up to date.

The APIService and the permission for it are installed on request. Without the permission nothing is requested but a review of the
own access. Never creates or deletes an APIService, and changes no other field of it, nor one that leads elsewhere.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable

from olmkit.api.package_manifests import API_SERVICE, API_SERVICE_NAME
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.access_reviews import is_allowed
from olmkit.runtime.client import Client
from olmkit.tls.service import CATALOG_SERVICE

INTERVAL_SECONDS = 15.0
"""The interval between two checks. A new CA is trusted for a day before it is used."""

log = logging.getLogger(__name__)


class ApiServiceCa:
    """`namespace` is that of catalogd; `ca_bundle` returns PEM of the CAs to trust, empty while they are not known."""

    def __init__(self, client: Client, namespace: str, ca_bundle: Callable[[], bytes]) -> None:
        self._client, self._namespace, self._ca_bundle = client, namespace, ca_bundle

    async def run(self) -> None:
        """Check the APIService until cancelled. Runs on the leader."""
        last = ""
        while True:
            try:
                await self.write()
                last = ""
            except ApiError as error:
                if error.message != last:
                    last = error.message
                    log.warning("the CA of PackageManifests cannot be written, which is retried", extra={"error": last})
            await asyncio.sleep(INTERVAL_SECONDS)

    async def write(self) -> None:
        """Have the API server trust these CAs, if it is to reach catalogd and does not trust them yet. Raises ApiError."""
        ca_bundle = base64.b64encode(self._ca_bundle()).decode()
        access = {
            "verb": "patch",
            "group": API_SERVICE.group,
            "resource": API_SERVICE.plural,
            "name": API_SERVICE_NAME,
        }
        if not ca_bundle or not await is_allowed(self._client, {"resourceAttributes": access}):
            return
        try:
            found = await self._client.get(API_SERVICE, API_SERVICE_NAME)
        except NotFound:
            return
        service = found["spec"].get("service") or {}
        is_ours = (service.get("name"), service.get("namespace")) == (CATALOG_SERVICE.name, self._namespace)
        if not is_ours or found["spec"].get("caBundle") == ca_bundle:
            return
        body = {
            "apiVersion": API_SERVICE.api_version,
            "kind": API_SERVICE.kind,
            "metadata": {"name": API_SERVICE_NAME, "uid": found["metadata"]["uid"]},
            "spec": {"caBundle": ca_bundle},
        }
        await self._client.apply(API_SERVICE, body, CATALOG_SERVICE.manager)
        log.info("the API server trusts the CA of PackageManifests")
