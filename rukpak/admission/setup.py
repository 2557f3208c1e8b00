"""Serves the webhooks of rukpak. Called by rukpak.setup."""

from __future__ import annotations

from olmkit.admission.review import AdmissionRequest, Denial
from olmkit.admission.setup import serve_webhooks
from olmkit.runtime.manager import Manager
from olmkit.tls.service import RUKPAK_SERVICE
from rukpak.admission.bundles import validate_bundle
from rukpak.admission.probe import CONFIGURATION, AdmissionProbe

BUNDLE_PATH = "/validate-core-rukpak-io-v1alpha1-bundle"


async def serve_admission(manager: Manager) -> AdmissionProbe | None:
    """Serve them, unless they are disabled; returns what tells whether they are asked, None if they are disabled.

    Raises OlmError when the address cannot be used.
    """
    port = await serve_webhooks(manager, RUKPAK_SERVICE, CONFIGURATION, {BUNDLE_PATH: _validate_bundle})
    return AdmissionProbe(manager.client) if port is not None else None


async def _validate_bundle(request: AdmissionRequest) -> Denial | None:
    return validate_bundle(request)
