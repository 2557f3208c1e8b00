"""Serves the webhooks of rukpak. Called by rukpak.setup."""

from __future__ import annotations

from olmkit.admission.review import AdmissionRequest, Denial
from olmkit.admission.setup import serve_webhooks
from olmkit.api import bundledeployments
from olmkit.runtime.manager import Manager
from olmkit.runtime.probes import DISABLED_ADDRESS
from olmkit.tls.service import RUKPAK_SERVICE
from rukpak.admission.bundles import validate_bundle
from rukpak.admission.deletions import DeletionProtection
from rukpak.admission.probe import CONFIGURATION, AdmissionProbe
from rukpak.bundledeployment import transforms
from rukpak.bundledeployment.rest_mapper import API_SERVICES, CRDS, RestMapper

BUNDLE_PATH = "/validate-core-rukpak-io-v1alpha1-bundle"
BUNDLE_DEPLOYMENT_PATH = "/validate-core-rukpak-io-v1alpha1-bundledeployment"
OPERATOR_PATH = "/validate-operators-operatorframework-io-v1alpha1-operator"


def admission_probe(manager: Manager) -> AdmissionProbe | None:
    """What tells whether the API server asks the webhook of Bundles; None if webhooks are disabled."""
    is_disabled = manager.settings.webhook_bind_address == DISABLED_ADDRESS
    return None if is_disabled else AdmissionProbe(manager.client)


async def serve_admission(manager: Manager) -> None:
    """Serve the webhooks, unless they are disabled; the informers are those of the controller of BundleDeployments.

    Raises OlmError when the address cannot be used.
    """
    crds = manager.informer(CRDS, transform=transforms.crd)
    rest_mapper = RestMapper(manager.client, crds, manager.informer(API_SERVICES, transform=transforms.api_service))
    deployments = manager.informer(bundledeployments.KIND)
    protection = DeletionProtection.of(manager.client, deployments, crds, rest_mapper)
    webhooks = {
        BUNDLE_PATH: _validate_bundle,
        BUNDLE_DEPLOYMENT_PATH: protection.validate_bundle_deployment,
        OPERATOR_PATH: protection.validate_operator,
    }
    await serve_webhooks(manager, RUKPAK_SERVICE, CONFIGURATION, webhooks)


async def _validate_bundle(request: AdmissionRequest) -> Denial | None:
    return validate_bundle(request)
