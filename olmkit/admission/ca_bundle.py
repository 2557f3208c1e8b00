"""Keeps the caBundle of a ValidatingWebhookConfiguration up to date: the CAs that the API server trusts for our webhooks.

The configuration itself comes with the manifests of the suite, without a caBundle. The leader writes the field when the CA
changes, and when somebody else has written the configuration. olmkit.tls.certificate_rotator calls `write` before a certificate
of another CA is served, so that a rotation refuses no request. Never creates or deletes a configuration, nor changes another
field of it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Iterator

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Unavailable
from olmkit.runtime.client import NO_ANSWER, Client
from olmkit.runtime.informer import Change, Informer

WEBHOOK_CONFIGURATIONS = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
)
RETRY_SECONDS = 5.0
FRESHNESS_SECONDS = 5.0
"""Seconds for which the informer is waited for while it is stale."""

log = logging.getLogger(__name__)


class CaBundleWriter:
    """For the configuration `name`, which `informer` follows; `field_manager` is that of the field, `ca_bundle` returns the PEM
    of the CAs to trust, empty while they are not known."""

    def __init__(
        self, client: Client, informer: Informer, name: str, field_manager: str, ca_bundle: Callable[[], bytes]
    ) -> None:
        self._client = client
        self._informer = informer
        self._name = name
        self._field_manager = field_manager
        self._ca_bundle = ca_bundle
        self._changed = asyncio.Event()
        informer.subscribe(self._notice)

    def _notice(self, _: Change) -> None:
        self._changed.set()

    async def run(self) -> None:
        """Write when the configuration has changed, until cancelled. Runs on the leader."""
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.write(self._ca_bundle())
            except ApiError as error:
                facts = {"configuration": self._name, "error": error.message}
                log.warning("the CA of the webhooks cannot be written, which is retried", extra=facts)
                await asyncio.sleep(RETRY_SECONDS)
                self._changed.set()

    async def write(self, ca_bundle: bytes) -> None:
        """Make the API server trust these CAs (PEM); does nothing if there is no configuration, or it has them.

        Raises ApiError, also while the configuration cannot be read.
        """
        try:
            async with asyncio.timeout(FRESHNESS_SECONDS):
                await self._informer.fresh.wait()
        except TimeoutError:
            raise Unavailable(0, NO_ANSWER, "the webhook configuration cannot be read now") from None
        found = self._informer.get(self._name)
        encoded = base64.b64encode(ca_bundle).decode()
        if found is None or not ca_bundle or all(each.get("caBundle") == encoded for each in _client_configs(found)):
            return
        names = [each["name"] for each in found["webhooks"]]
        body = {
            "apiVersion": WEBHOOK_CONFIGURATIONS.api_version,
            "kind": WEBHOOK_CONFIGURATIONS.kind,
            "metadata": {"name": self._name, "uid": found["metadata"]["uid"]},
            "webhooks": [{"name": name, "clientConfig": {"caBundle": encoded}} for name in names],
        }
        self._informer.record_write(await self._client.apply(WEBHOOK_CONFIGURATIONS, body, self._field_manager))
        log.info("the API server trusts the CA of the webhooks", extra={"configuration": self._name})


def _client_configs(configuration: Object) -> Iterator[Object]:
    return (each["clientConfig"] for each in configuration.get("webhooks") or ())
