"""The endpoints of a registry+v1 bundle: Deployments that the API server calls, because they serve webhooks or API services.

Each has a Service and, unless the bundle brings its own, a serving certificate. Names are those of upstream (formats 2.8, 2.9,
2.10). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rukpak.format.bundle import Body, RegistryBundle
from rukpak.format.objects import ObjectKey
from rukpak.format.validators import CONVERSION

MAX_NAME_CHARACTERS = 63
DEFAULT_PORT = 443
CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
API_SERVICE = ("apiregistration.k8s.io", "APIService")
ADMISSION_GROUP = "admissionregistration.k8s.io"
CONFIGURATION_KINDS = {
    "ValidatingAdmissionWebhook": "ValidatingWebhookConfiguration",
    "MutatingAdmissionWebhook": "MutatingWebhookConfiguration",
}
"""Type of a webhook in a CSV -> the kind that configures it, in the order of the output."""


class CertificateMode(StrEnum):
    """The issuers of the serving certificates of a bundle."""

    SELF = "Self"
    """rukpak: it makes the Secrets, and writes the certificate authorities into the objects."""
    CERT_MANAGER = "CertManager"
    """cert-manager, from objects of its kinds."""
    NONE = "None"
    """Nobody: the bundle brings its own, and what it mounts stays as it is."""


@dataclass(frozen=True)
class Port:
    """A port of a Service."""

    number: int
    target: int | str

    @property
    def order(self) -> tuple[int, int, str]:
        """By the number, then the target as a number, then as it is written."""
        return self.number, _number(self.target), repr(self.target)

    @property
    def body(self) -> Body:
        """As a Service has it."""
        return {"name": str(self.number), "port": self.number, "targetPort": self.target}


@dataclass(frozen=True)
class Endpoint:
    """A Deployment of a bundle that the API server calls through a Service."""

    deployment: str
    namespace: str
    certificates: CertificateMode
    ports: tuple[Port, ...]
    clients: frozenset[ObjectKey]
    """The webhook configurations, CustomResourceDefinitions and APIServices that name the Service."""

    @property
    def is_awaited(self) -> bool:
        """True if its clients are applied when it can be called: not if the bundle brings certificates of its own, because its
        operator may need the clients to make them."""
        return self.certificates is not CertificateMode.NONE

    @property
    def service(self) -> str:
        """The name of the Service."""
        return name_with_suffix(self.deployment.replace(".", "-"), "service")

    @property
    def certificate(self) -> str:
        """The name of the Secret with the certificate, and of cert-manager's Certificate."""
        return name_with_suffix(self.service, "cert")

    @property
    def secret_key(self) -> ObjectKey:
        """The key of the Secret."""
        return ObjectKey("", "Secret", self.namespace, self.certificate)

    @property
    def deployment_key(self) -> ObjectKey:
        """The key of the Deployment."""
        return ObjectKey("apps", "Deployment", self.namespace, self.deployment)

    @property
    def common_name(self) -> str:
        """The host name of the Service without the domain of the cluster."""
        return f"{self.service}.{self.namespace}"

    @property
    def host_names(self) -> tuple[str, ...]:
        """All host names of the Service."""
        return (self.common_name, f"{self.common_name}.svc", f"{self.common_name}.svc.cluster.local")


def name_with_suffix(base: str, suffix: str) -> str:
    """`<base>-<suffix>`, the base truncated to a name of at most 63 characters. As upstream does, 64 characters are kept."""
    if len(base) + len(suffix) > MAX_NAME_CHARACTERS:
        base = base[: MAX_NAME_CHARACTERS - len(suffix) - 1]
    return f"{base}-{suffix}"


def endpoints_of(
    bundle: RegistryBundle, namespace: str, certificates: CertificateMode, *, with_api_services: bool = True
) -> Mapping[str, Endpoint]:
    """The endpoints of a bundle by the name of the Deployment, in the order of the CSV.

    An endpoint of a Deployment that the CSV does not have is not among them. Upstream renders no API services.
    """
    uses = list(_webhook_uses(bundle)) + (list(_api_service_uses(bundle)) if with_api_services else [])
    found: dict[str, Endpoint] = {}
    for deployment in bundle.install_spec.get("deployments") or ():
        name = deployment["name"]
        ours = [(port, clients) for user, port, clients in uses if user == name]
        if ours:
            ports = tuple(sorted({port for port, _ in ours}, key=lambda port: port.order))
            clients = frozenset(key for _, keys in ours for key in keys)
            found[name] = Endpoint(name, namespace, certificates, ports, clients)
    return found


def _webhook_uses(bundle: RegistryBundle) -> Iterator[tuple[str, Port, tuple[ObjectKey, ...]]]:
    for hook in bundle.webhooks:
        number = hook.get("containerPort") or DEFAULT_PORT
        if hook["type"] == CONVERSION:
            clients = tuple(ObjectKey(*CRD, "", name) for name in hook.get("conversionCRDs") or ())
        else:
            kind = CONFIGURATION_KINDS.get(hook["type"], "")
            clients = (ObjectKey(ADMISSION_GROUP, kind, "", configuration_name(hook)),)
        yield hook.get("deploymentName", ""), Port(number, hook.get("targetPort", number)), clients


def _api_service_uses(bundle: RegistryBundle) -> Iterator[tuple[str, Port, tuple[ObjectKey, ...]]]:
    for item in bundle.owned_api_services:
        number = item.get("containerPort") or DEFAULT_PORT
        clients = (ObjectKey(*API_SERVICE, "", api_service_name(item)),)
        yield item.get("deploymentName") or "", Port(number, number), clients


def configuration_name(hook: Body) -> str:
    """The name of the configuration of a webhook, and of the webhook in it."""
    name: str = hook["generateName"]
    return name.removesuffix("-")


def api_service_name(item: Body) -> str:
    """The name of the APIService of an owned API service."""
    return f"{item.get('version', '')}.{item.get('group', '')}"


def _number(port: int | str) -> int:
    """The number of a port, by which ports are sorted; 0 for a name."""
    if isinstance(port, int):
        return port
    return int(port) if re.fullmatch(r"[-+]?[0-9]{1,9}", port) else 0
