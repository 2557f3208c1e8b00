"""Renders the webhook definitions of a bundle: configurations, Services, certificates, conversion stanzas and volumes.

Called by rukpak.render.renderer. The rules are upstream's, with certificates by cert-manager. A bundle without webhooks does not
change. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rukpak.format.bundle import Body, RegistryBundle
from rukpak.format.errors import BUNDLE_LOAD_FAILED, BadBundle
from rukpak.format.validators import CONVERSION

MAX_NAME_CHARACTERS = 63
DEFAULT_PORT = 443
INJECT_CA = "cert-manager.io/inject-ca-from"
_CONFIGURATIONS = (
    ("ValidatingAdmissionWebhook", "ValidatingWebhookConfiguration"),
    ("MutatingAdmissionWebhook", "MutatingWebhookConfiguration"),
)
_COPIED = (
    "rules", "failurePolicy", "matchPolicy", "objectSelector", "sideEffects", "timeoutSeconds", "admissionReviewVersions",
)  # fmt: skip
_VOLUMES = {
    "webhook-cert": ("/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"),
    "apiservice-cert": ("/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"),
}
"""Volume -> its mount path, and the file names of certificate and key."""
_MOUNT_PATHS = frozenset(path for path, *_ in _VOLUMES.values())


@dataclass(frozen=True)
class BundleWebhooks:
    """The webhooks of a bundle, and the namespaces they are rendered for."""

    bundle: RegistryBundle
    namespace: str
    targets: Sequence[str]
    by_deployment: Mapping[str, Sequence[Body]]
    """Name of a deployment -> the webhooks that it serves."""
    conversions: Mapping[str, Body]
    """Name of a CRD -> the first webhook that converts its objects."""

    def service_name(self, deployment: str) -> str:
        """The name of the Service of a deployment."""
        return name_with_suffix(deployment.replace(".", "-"), "service")

    def certificate_name(self, deployment: str) -> str:
        """The name of the Certificate of a deployment, and of its Secret."""
        return name_with_suffix(self.service_name(deployment), "cert")

    def injection_annotation(self, deployment: str) -> Mapping[str, str]:
        """The annotation at which cert-manager injects the CA."""
        return {INJECT_CA: f"{self.namespace}/{self.certificate_name(deployment)}"}


def webhooks_of(bundle: RegistryBundle, namespace: str, targets: Sequence[str]) -> BundleWebhooks:
    """The webhooks of a bundle that is installed into the namespace and watches the targets."""
    by_deployment: dict[str, list[Body]] = {}
    conversions: dict[str, Body] = {}
    for hook in bundle.webhooks:
        by_deployment.setdefault(hook.get("deploymentName", ""), []).append(hook)
        for crd in (hook.get("conversionCRDs") or ()) if hook["type"] == CONVERSION else ():
            conversions.setdefault(crd, hook)
    return BundleWebhooks(bundle, namespace, targets, by_deployment, conversions)


def name_with_suffix(base: str, suffix: str) -> str:
    """`<base>-<suffix>`, the base truncated to a name of at most 63 characters. As upstream does, 64 characters are kept."""
    if len(base) + len(suffix) > MAX_NAME_CHARACTERS:
        base = base[: MAX_NAME_CHARACTERS - len(suffix) - 1]
    return f"{base}-{suffix}"


def with_conversion(crd: Body, hooks: BundleWebhooks) -> Body:
    """The CRD with its conversion webhook, if it has one. Raises BadBundle for a CRD that cannot be converted."""
    name = crd["metadata"]["name"]
    hook = hooks.conversions.get(name)
    if hook is None:
        return crd
    spec = crd.get("spec") or {}
    if spec.get("preserveUnknownFields"):
        raise BadBundle(
            BUNDLE_LOAD_FAILED,
            f"custom resource definition '{name}' must have .spec.preserveUnknownFields set to false to let API Server call "
            "webhook to do the conversion",
        )
    deployment = hook["deploymentName"]
    service = {
        "namespace": hooks.namespace,
        "name": hooks.service_name(deployment),
        "path": hook.get("webhookPath", "/"),
        "port": hook.get("containerPort") or DEFAULT_PORT,
    }
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": hook["admissionReviewVersions"]},
    }
    annotations = {**(crd["metadata"].get("annotations") or {}), **hooks.injection_annotation(deployment)}
    return {
        **crd,
        "metadata": {**crd["metadata"], "annotations": annotations},
        "spec": {**spec, "conversion": conversion},
    }


def with_certificate(deployment: Body, hooks: BundleWebhooks) -> Body:
    """The Deployment with the certificate mounted in every container, if it serves webhooks."""
    name = deployment["metadata"]["name"]
    if name not in hooks.by_deployment:
        return deployment
    template = deployment["spec"]["template"]
    pod = template["spec"]
    replaced = set(_VOLUMES) | {
        mount["name"]
        for container in pod.get("containers") or ()
        for mount in container.get("volumeMounts") or ()
        if mount.get("mountPath") in _MOUNT_PATHS
    }
    secret = hooks.certificate_name(name)
    volumes = [volume for volume in pod.get("volumes") or () if volume["name"] not in replaced]
    volumes += [
        {
            "name": volume,
            "secret": {"secretName": secret, "items": [_item("tls.crt", certificate), _item("tls.key", key)]},
        }
        for volume, (_, certificate, key) in _VOLUMES.items()
    ]
    containers = [_with_mounts(container, replaced) for container in pod.get("containers") or ()]
    pod = {**pod, "volumes": volumes, "containers": containers}
    return {**deployment, "spec": {**deployment["spec"], "template": {**template, "spec": pod}}}


def _item(key: str, path: str) -> Body:
    return {"key": key, "path": path}


def _with_mounts(container: Body, replaced: set[str]) -> Body:
    mounts = [
        mount
        for mount in container.get("volumeMounts") or ()
        if mount["name"] not in replaced and mount.get("mountPath") not in _MOUNT_PATHS
    ]
    mounts += [{"name": volume, "mountPath": path} for volume, (path, *_) in _VOLUMES.items()]
    return {**container, "volumeMounts": mounts}


def webhook_objects(hooks: BundleWebhooks) -> Iterator[Body]:
    """Configurations, then Services, then Issuers and Certificates."""
    for webhook_type, kind in _CONFIGURATIONS:
        for hook in hooks.bundle.webhooks:
            if hook["type"] == webhook_type:
                yield _configuration(hook, kind, hooks)
    serving = [
        deployment
        for deployment in hooks.bundle.install_spec.get("deployments") or ()
        if deployment["name"] in hooks.by_deployment
    ]
    for deployment in serving:
        yield _service(deployment, hooks)
    for deployment in serving:
        yield from _certificates(deployment["name"], hooks)


def _configuration(hook: Body, kind: str, hooks: BundleWebhooks) -> Body:
    name = hook["generateName"].removesuffix("-")
    deployment = hook["deploymentName"]
    service = {"namespace": hooks.namespace, "name": hooks.service_name(deployment)}
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
    if any(hooks.targets):
        expression = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(hooks.targets)}
        webhook["namespaceSelector"] = {"matchExpressions": [expression]}
    metadata = {"name": name, "namespace": hooks.namespace, "annotations": hooks.injection_annotation(deployment)}
    return {
        "kind": kind,
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": metadata,
        "webhooks": [webhook],
    }


def _service(deployment: Body, hooks: BundleWebhooks) -> Body:
    ports: dict[tuple[int, int, str], Body] = {}
    for hook in hooks.by_deployment[deployment["name"]]:
        port = hook.get("containerPort") or DEFAULT_PORT
        target = hook.get("targetPort", port)
        ports[port, _number(target), repr(target)] = {"name": str(port), "port": port, "targetPort": target}
    selector = ((deployment["spec"].get("selector") or {}).get("matchLabels")) or {}
    spec: dict[str, Any] = {"ports": [ports[key] for key in sorted(ports)]} | (
        {"selector": selector} if selector else {}
    )
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": hooks.service_name(deployment["name"]), "namespace": hooks.namespace},
        "spec": spec,
        "status": {"loadBalancer": {}},
    }


def _number(port: int | str) -> int:
    """The number of a port, by which ports are sorted; 0 for a name."""
    if isinstance(port, int):
        return port
    return int(port) if re.fullmatch(r"[-+]?[0-9]{1,9}", port) else 0


def _certificates(deployment: str, hooks: BundleWebhooks) -> Iterator[Body]:
    certificate = hooks.certificate_name(deployment)
    issuer = name_with_suffix(certificate, "selfsigned-issuer")
    host = f"{hooks.service_name(deployment)}.{hooks.namespace}"
    yield {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": {"name": issuer, "namespace": hooks.namespace},
        "spec": {"selfSigned": {}},
        "status": {},
    }
    yield {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": certificate, "namespace": hooks.namespace},
        "spec": {
            "secretName": certificate,
            "commonName": host,
            "usages": ["server auth"],
            "dnsNames": [host, f"{host}.svc", f"{host}.svc.cluster.local"],
            "duration": "17520h0m0s",
            "renewBefore": "24h0m0s",
            "issuerRef": {"name": issuer},
        },
        "status": {},
    }
