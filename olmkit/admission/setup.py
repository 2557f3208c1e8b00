"""Adds the admission webhooks of a controller to its manager: server, certificate, and the CA that the API server trusts."""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS, CaBundleWriter
from olmkit.admission.server import AdmissionServer, Validate
from olmkit.runtime.manager import Manager
from olmkit.runtime.probes import DISABLED_ADDRESS
from olmkit.tls.service import TlsService
from olmkit.tls.setup import webhook_serving


async def serve_webhooks(
    manager: Manager, service: TlsService, configuration: str, webhooks: Mapping[str, Validate]
) -> None:
    """Answer on every replica, before it is ready, unless webhooks are disabled. Raises OlmError.

    `configuration` is the name of the ValidatingWebhookConfiguration that names the paths of `webhooks`.
    """
    address = manager.settings.webhook_bind_address
    if address == DISABLED_ADDRESS:
        return
    context, certificate = webhook_serving(manager, service, address)
    informer = manager.informer(WEBHOOK_CONFIGURATIONS, field_selector=f"metadata.name={configuration}")
    writer = CaBundleWriter(manager.client, informer, configuration, service.manager, lambda: certificate.ca_bundle)
    certificate.publish_to(writer.write)
    manager.add_runnable(writer.run, every_replica=False)
    server = AdmissionServer(manager.name, webhooks)
    manager.on_close(server.close)
    await server.start(address, context)
