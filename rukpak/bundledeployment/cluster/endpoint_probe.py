"""Checks whether the API server can call the endpoints of a bundle: a pod is ready, and completes a TLS handshake.

Whether a handshake can be tried at all is not known: this process may be outside the network of the pods. So an address to which
there is no route, or that does not answer in time, counts as able by the readiness of its pod; one that refuses the connection
does so after a while. A server with a certificate that its clients do not trust is never able. Never writes.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.api_server_addresses import ENDPOINT_SLICES
from olmkit.runtime.client import Client
from olmkit.stored_times import has_passed
from rukpak.bundledeployment.cluster.webhook_endpoints import SERVICE_LABEL, is_ready
from rukpak.bundledeployment.health.workload_health import replica_failure
from rukpak.certificates.serving_certificate import ServingCertificate
from rukpak.format.objects import mapping, mappings
from rukpak.render.endpoints import Endpoint

DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
HANDSHAKE_TIMEOUT_SECONDS = 2.0
REFUSAL_PATIENCE = timedelta(minutes=1)
"""The time for which connections may be refused by an endpoint that is ready, before it counts as able to be called."""
MAX_ADDRESSES = 3
"""Addresses of one endpoint that are tried."""


class EndpointState(NamedTuple):
    """The result of a check whether an endpoint can be called."""

    problem: str
    """The reason why it cannot; empty: it can."""
    refused_since: datetime | None = None
    """Since when it has refused connections; None: it does not."""


@dataclass(frozen=True)
class EndpointProbe:
    """Asks the endpoints of all BundleDeployments. Keeps nothing."""

    client: Client

    async def state(
        self, endpoint: Endpoint, certificate: ServingCertificate | None, refused_since: datetime | None, now: datetime
    ) -> EndpointState:
        """Check whether the endpoint can be called. Without a certificate any one is accepted: another issues it.
        `refused_since`: that of the state before."""
        try:
            selector = f"{SERVICE_LABEL}={endpoint.service}"
            slices, _ = await self.client.list(ENDPOINT_SLICES, endpoint.namespace, selector)
        except ApiError as error:
            text = f"the endpoints of Service {endpoint.service} cannot be read: {error.message}"
            return EndpointState(text, refused_since)
        state = await state_of(slices, endpoint, certificate, refused_since, now)
        if state.problem != _no_pod(endpoint):
            return state
        return EndpointState(state.problem + await self._why_no_pod(endpoint))

    async def _why_no_pod(self, endpoint: Endpoint) -> str:
        try:
            live = await self.client.get(DEPLOYMENTS, endpoint.deployment, endpoint.namespace)
        except ApiError:
            return ""
        failure = replica_failure(mapping(live.get("status")))
        return f": it {failure}" if failure else ""


async def state_of(
    slices: list[Object],
    endpoint: Endpoint,
    certificate: ServingCertificate | None,
    refused_since: datetime | None,
    now: datetime,
) -> EndpointState:
    """The same for these EndpointSlices."""
    addresses = list(dict.fromkeys(_addresses(slices, endpoint)))[:MAX_ADDRESSES]
    if not addresses:
        return EndpointState(_no_pod(endpoint))
    context = _context(certificate)
    results = await asyncio.gather(*(_handshake(*address, endpoint, context) for address in addresses))
    if not all(results):
        return EndpointState("")
    untrusted = [result for result in results if isinstance(result, ssl.SSLError)]
    if untrusted:
        text = (
            f"the certificate that Deployment {endpoint.deployment} serves is not the one of Secret {endpoint.certificate} "
            f"({_reason(untrusted[0])}): if it brings its own, set certificates to None"
        )
        return EndpointState(text, refused_since)
    since = refused_since or now
    is_patient = not has_passed(since, REFUSAL_PATIENCE, now)
    return EndpointState(f"Deployment {endpoint.deployment} refuses connections" if is_patient else "", since)


def _no_pod(endpoint: Endpoint) -> str:
    return f"no pod of Deployment {endpoint.deployment} is ready"


def _addresses(slices: list[Object], endpoint: Endpoint) -> Iterator[tuple[str, int]]:
    """Addresses of ready pods with the target ports, if their numbers are known, else with all ports of the Service."""
    targets = {port.target for port in endpoint.ports}
    for each in slices:
        ports = [port["port"] for port in mappings(each.get("ports")) if port.get("port")]
        chosen = [port for port in ports if port in targets] or ports
        for entry in mappings(each.get("endpoints")):
            if is_ready(entry):
                yield from ((address, port) for address in entry.get("addresses") or () for port in chosen)


def _context(certificate: ServingCertificate | None) -> ssl.SSLContext:
    if certificate is not None and certificate.authorities:
        return ssl.create_default_context(cadata=certificate.authorities)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the default one reads all certificates of the system
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def _handshake(address: str, port: int, endpoint: Endpoint, context: ssl.SSLContext) -> Exception | None:
    """Return the error of the handshake; None if it succeeded, or if there is no way to the address."""
    try:
        async with asyncio.timeout(HANDSHAKE_TIMEOUT_SECONDS):
            name = f"{endpoint.common_name}.svc"
            _, writer = await asyncio.open_connection(address, port, ssl=context, server_hostname=name)
    except (ssl.SSLError, ConnectionError) as error:
        return error
    except OSError:  # a timeout is one too
        return None
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(HANDSHAKE_TIMEOUT_SECONDS):
            await writer.wait_closed()
    return None


def _reason(error: ssl.SSLError) -> str:
    return getattr(error, "verify_message", "") or (error.reason or "").lower().replace("_", " ") or "no handshake"
