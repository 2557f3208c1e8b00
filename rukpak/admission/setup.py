"""Serves the webhooks of rukpak."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.admission.server import serve_webhooks
from olmkit.api import bundledeployments, bundles
from olmkit.api.label_policy import BINDINGS, POLICIES
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager
from olmkit.runtime.probes import DISABLED_ADDRESS
from olmkit.tls.peers import Peers
from olmkit.tls.service import RUKPAK_SERVICE
from rukpak.admission.config_maps import ConfigMapWebhooks
from rukpak.admission.deletions import DeletionProtection
from rukpak.admission.label_policy import SELECTOR, LabelPolicy
from rukpak.admission.probe import CONFIGURATION, AdmissionProbe
from rukpak.admission.service_accounts import ServiceAccountGuard
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, RestMapper

BUNDLE_PATH = "/validate-core-rukpak-io-v1alpha1-bundle"
CONFIG_MAP_PATH = "/validate-core-v1-configmap"
BUNDLE_DEPLOYMENT_PATH = "/validate-core-rukpak-io-v1alpha1-bundledeployment"
DEFINITION_PATH = "/validate-apiextensions-k8s-io-v1-customresourcedefinition"
NAMESPACE_PATH = "/validate-v1-namespace"
OPERATOR_PATH = "/validate-operators-operatorframework-io-v1alpha1-operator"
SERVICE_ACCOUNT_PATH = "/validate-service-account"


def admission_probe(manager: Manager) -> AdmissionProbe | None:
    """Return the probe that checks whether the API server asks the webhooks; None if they are disabled."""
    return AdmissionProbe(manager.client, _configurations(manager)) if is_serving(manager) else None


def _configurations(manager: Manager) -> Informer:
    """The configuration of the webhooks."""
    return manager.informer(WEBHOOK_CONFIGURATIONS, field_selector=f"metadata.name={CONFIGURATION}")


def is_serving(manager: Manager) -> bool:
    """Report whether this process serves anything: webhooks may be disabled."""
    return manager.settings.webhook_bind_address != DISABLED_ADDRESS


async def serve_admission(manager: Manager, mount: Callable[[web.Application, Peers], None]) -> None:
    """Serve the webhooks, and the routes that `mount` adds, unless they are disabled; the informers are those of the controller
    of BundleDeployments.

    Raises OlmError when the address cannot be used.
    """
    crds = manager.informer(CRDS, transform=transforms.crd)
    rest_mapper = RestMapper(manager.client, crds, manager.informer(API_SERVICES, transform=transforms.api_service))
    deployments = manager.informer(bundledeployments.KIND)
    protection = DeletionProtection.of(manager.client, deployments, crds, rest_mapper)
    config_maps = ConfigMapWebhooks(manager.client, manager.informer(bundles.KIND), manager.settings.system_namespace)
    webhooks = {
        BUNDLE_PATH: config_maps.validate_bundle,
        CONFIG_MAP_PATH: config_maps.validate_config_map,
        BUNDLE_DEPLOYMENT_PATH: protection.validate_bundle_deployment,
        DEFINITION_PATH: protection.validate_definition,
        NAMESPACE_PATH: protection.validate_namespace,
        OPERATOR_PATH: protection.validate_operator,
        SERVICE_ACCOUNT_PATH: ServiceAccountGuard(manager.client, manager.settings.system_namespace).validate,
    }
    await serve_webhooks(manager, RUKPAK_SERVICE, CONFIGURATION, webhooks, mount)
    if is_serving(manager):
        _guard_labels(manager)


def _guard_labels(manager: Manager) -> None:
    """Have the leader apply the policy that guards labels."""
    selected = {"label_selector": SELECTOR, "absent_is_empty": True}
    policy = LabelPolicy(
        manager.client,
        CONFIGURATION,
        _configurations(manager),
        manager.informer(POLICIES, **selected),
        manager.informer(BINDINGS, **selected),
    )
    manager.add_runnable(policy.run, every_replica=False)
