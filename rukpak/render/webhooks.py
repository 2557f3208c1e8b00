"""Renders the webhook definitions of a bundle: configurations, and the conversion of CustomResourceDefinitions.

The rules are upstream's. A bundle without webhooks does not change. What the webhooks are served with is in
rukpak.render.serving. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rukpak.format.bundle import Body, RegistryBundle
from rukpak.format.errors import BUNDLE_LOAD_FAILED, BadBundle
from rukpak.format.validators import CONVERSION
from rukpak.render.endpoints import (
    ADMISSION_GROUP,
    CONFIGURATION_KINDS,
    DEFAULT_PORT,
    Endpoint,
    configuration_name,
)
from rukpak.render.serving import injection_annotations

_COPIED = (
    "rules", "failurePolicy", "matchPolicy", "objectSelector", "sideEffects", "timeoutSeconds", "admissionReviewVersions",
)  # fmt: skip


def conversions(bundle: RegistryBundle) -> Mapping[str, Body]:
    """Name of a CRD -> the first webhook that converts its objects."""
    found: dict[str, Body] = {}
    for hook in bundle.webhooks:
        for crd in (hook.get("conversionCRDs") or ()) if hook["type"] == CONVERSION else ():
            found.setdefault(crd, hook)
    return found


def with_conversion(crd: Body, hook: Body | None, endpoints: Mapping[str, Endpoint]) -> Body:
    """The CRD with its conversion webhook, if it has one. Raises BadBundle for a CRD that cannot be converted."""
    if hook is None:
        return crd
    spec = crd.get("spec") or {}
    if spec.get("preserveUnknownFields"):
        raise BadBundle(
            BUNDLE_LOAD_FAILED,
            f"custom resource definition '{crd['metadata']['name']}' must have .spec.preserveUnknownFields set to false to let "
            "API Server call webhook to do the conversion",
        )
    endpoint = endpoints[hook["deploymentName"]]
    service = {
        "namespace": endpoint.namespace,
        "name": endpoint.service,
        "path": hook.get("webhookPath", "/"),
        "port": hook.get("containerPort") or DEFAULT_PORT,
    }
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": hook["admissionReviewVersions"]},
    }
    annotations = {**(crd["metadata"].get("annotations") or {}), **injection_annotations(endpoint)}
    metadata = {**crd["metadata"], **({"annotations": annotations} if annotations else {})}
    return {**crd, "metadata": metadata, "spec": {**spec, "conversion": conversion}}


def configurations(bundle: RegistryBundle, endpoints: Mapping[str, Endpoint], targets: Sequence[str]) -> Iterator[Body]:
    """The webhook configurations: validating, then mutating ones. `targets` are the namespaces that the operator watches."""
    for webhook_type, kind in CONFIGURATION_KINDS.items():
        for hook in bundle.webhooks:
            if hook["type"] == webhook_type:
                yield _configuration(hook, kind, endpoints[hook["deploymentName"]], targets)


def _configuration(hook: Body, kind: str, endpoint: Endpoint, targets: Sequence[str]) -> Body:
    name = configuration_name(hook)
    service = {"namespace": endpoint.namespace, "name": endpoint.service}
    if hook.get("webhookPath") is not None:
        service["path"] = hook["webhookPath"]
    copied = {field: hook[field] for field in _COPIED if hook.get(field) is not None}
    webhook: dict[str, Any] = {
        "name": name,
        "clientConfig": {"service": {**service, "port": hook.get("containerPort") or DEFAULT_PORT}},
        "sideEffects": None,
        "admissionReviewVersions": None,
        **copied,
    }
    if kind.startswith("Mutating") and hook.get("reinvocationPolicy") is not None:
        webhook["reinvocationPolicy"] = hook["reinvocationPolicy"]
    if any(targets):
        expression = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(targets)}
        webhook["namespaceSelector"] = {"matchExpressions": [expression]}
    annotations = injection_annotations(endpoint)
    metadata = {
        "name": name,
        "namespace": endpoint.namespace,
        **({"annotations": annotations} if annotations else {}),
    }
    return {
        "kind": kind,
        "apiVersion": f"{ADMISSION_GROUP}/v1",
        "metadata": metadata,
        "webhooks": [webhook],
    }
