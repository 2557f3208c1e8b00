"""Finds the webhook configurations without endpoints: their Service has no ready endpoint, so objects that they match cannot be
deleted.

Never writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from olmkit.api.meta import Kind
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.api_server_addresses import ENDPOINT_SLICES
from olmkit.runtime.client import Client
from rukpak.format.objects import ObjectKey, mapping, mappings
from rukpak.render.endpoints import ADMISSION_GROUP, CONFIGURATION_KINDS

CONFIGURATIONS = {
    (ADMISSION_GROUP, kind): Kind(ADMISSION_GROUP, "v1", kind, f"{kind.lower()}s")
    for kind in CONFIGURATION_KINDS.values()
}
"""The kinds of webhook configurations by (group, kind)."""
SERVICE_LABEL = "kubernetes.io/service-name"


async def webhooks_without_endpoints(client: Client, keys: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
    """The objects that are webhook configurations with a Service that has no ready endpoint.

    One with a URL, or one that cannot be read, is not among them.
    """
    found: set[ObjectKey] = set()
    for key in keys:
        kind = CONFIGURATIONS.get(key[:2])
        try:
            if kind is not None and await _has_no_endpoints(client, await client.get(kind, key.name)):
                found.add(key)
        except ApiError:
            continue
    return frozenset(found)


async def _has_no_endpoints(client: Client, configuration: Any) -> bool:
    services = {service for webhook in mappings(configuration.get("webhooks")) if (service := service_of(webhook))}
    for namespace, name in sorted(services):
        try:
            slices, _ = await client.list(ENDPOINT_SLICES, namespace, f"{SERVICE_LABEL}={name}")
        except NotFound:  # no Namespace can have this name
            return True
        if not any(has_endpoint(entry) for entry in slices):
            return True
    return False


def service_of(webhook: Any) -> tuple[str, str] | None:
    """Namespace and name of the Service of a webhook; None when it has a URL."""
    service = mapping(mapping(webhook.get("clientConfig")).get("service"))
    return (str(service["namespace"]), str(service["name"])) if {"namespace", "name"} <= service.keys() else None


def has_endpoint(entry: Any) -> bool:
    """Report whether an endpoint of an EndpointSlice is ready; one without the condition is."""
    return any(map(is_ready, mappings(entry.get("endpoints"))))


def is_ready(endpoint: Any) -> bool:
    """Report whether an endpoint is ready; one without the condition is."""
    return mapping(endpoint.get("conditions")).get("ready") is not False
