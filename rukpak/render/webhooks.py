"""What a bundle's webhook definitions become: configurations, Services, certificates, conversion stanzas and volumes. Called by
rukpak.render.renderer. Pure. Upstream's rules with certificates by cert-manager; a bundle without webhooks passes unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rukpak.format.bundle import Body, RegistryBundle
from rukpak.format.errors import BadBundle
from rukpak.format.validators import CONVERSION

NAME_LIMIT = 63
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
"""Volume -> where it is mounted, and what certificate and key are called there."""
_MOUNT_PATHS = frozenset(path for path, *_ in _VOLUMES.values())


@dataclass(frozen=True)
class Hooks:
    """A bundle's webhooks, and where they are going to live."""

    bundle: RegistryBundle
    namespace: str
    targets: Sequence[str]
    by_deployment: Mapping[str, Sequence[Body]]
    """Name of a deployment -> the webhooks it serves."""
    conversions: Mapping[str, Body]
    """Name of a CRD -> the first webhook that converts its objects."""

    def service(self, deployment: str) -> str:
        """Name of the Service in front of a deployment."""
        return fitted(deployment.replace(".", "-"), "service")

    def certificate(self, deployment: str) -> str:
        """Name of the Certificate, and of the Secret it fills."""
        return fitted(self.service(deployment), "cert")

    def injection(self, deployment: str) -> Mapping[str, str]:
        """The annotation that asks for the CA."""
        return {INJECT_CA: f"{self.namespace}/{self.certificate(deployment)}"}


def plan(bundle: RegistryBundle, namespace: str, targets: Sequence[str]) -> Hooks:
    """The webhooks of a bundle that is installed into the namespace and watches the targets."""
    by_deployment: dict[str, list[Body]] = {}
    conversions: dict[str, Body] = {}
    for hook in bundle.webhooks:
        by_deployment.setdefault(hook.get("deploymentName", ""), []).append(hook)
        for crd in (hook.get("conversionCRDs") or ()) if hook["type"] == CONVERSION else ():
            conversions.setdefault(crd, hook)
    return Hooks(bundle, namespace, targets, by_deployment, conversions)


def fitted(base: str, suffix: str) -> str:
    """`<base>-<suffix>`; base is cut so that it fits into 63, except that 64 is let through, as upstream does."""
    if len(base) + len(suffix) > NAME_LIMIT:
        base = base[: NAME_LIMIT - len(suffix) - 1]
    return f"{base}-{suffix}"


def converted(crd: Body, hooks: Hooks) -> Body:
    """The CRD with its conversion webhook, if it has one. Raises BadBundle when it cannot have it."""
    name = crd["metadata"]["name"]
    hook = hooks.conversions.get(name)
    if hook is None:
        return crd
    spec = crd.get("spec") or {}
    if spec.get("preserveUnknownFields"):
        raise BadBundle(
            "BundleLoadFailed",
            f"custom resource definition '{name}' must have .spec.preserveUnknownFields set to false to let API Server call "
            "webhook to do the conversion",
        )
    deployment = hook["deploymentName"]
    service = {
        "namespace": hooks.namespace,
        "name": hooks.service(deployment),
        "path": hook.get("webhookPath", "/"),
        "port": hook.get("containerPort") or DEFAULT_PORT,
    }
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": hook["admissionReviewVersions"]},
    }
    annotations = {**(crd["metadata"].get("annotations") or {}), **hooks.injection(deployment)}
    return {
        **crd,
        "metadata": {**crd["metadata"], "annotations": annotations},
        "spec": {**spec, "conversion": conversion},
    }


def mounted(deployment: Body, hooks: Hooks) -> Body:
    """The Deployment with the certificate in every container, if it serves webhooks."""
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
    secret = hooks.certificate(name)
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


def objects(hooks: Hooks) -> Iterator[Body]:
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


def _configuration(hook: Body, kind: str, hooks: Hooks) -> Body:
    name = hook["generateName"].removesuffix("-")
    deployment = hook["deploymentName"]
    service = {"namespace": hooks.namespace, "name": hooks.service(deployment)}
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
    metadata = {"name": name, "namespace": hooks.namespace, "annotations": hooks.injection(deployment)}
    return {
        "kind": kind,
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": metadata,
        "webhooks": [webhook],
    }


def _service(deployment: Body, hooks: Hooks) -> Body:
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
        "metadata": {"name": hooks.service(deployment["name"]), "namespace": hooks.namespace},
        "spec": spec,
        "status": {"loadBalancer": {}},
    }


def _number(port: int | str) -> int:
    """What a port is sorted by: its number; 0 for a name."""
    if isinstance(port, int):
        return port
    return int(port) if re.fullmatch(r"[-+]?[0-9]{1,9}", port) else 0


def _certificates(deployment: str, hooks: Hooks) -> Iterator[Body]:
    certificate = hooks.certificate(deployment)
    issuer = fitted(certificate, "selfsigned-issuer")
    host = f"{hooks.service(deployment)}.{hooks.namespace}"
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
