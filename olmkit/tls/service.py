"""The host names of a Service of the suite, and where its certificate and CA are stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from olmkit.api.meta import Kind
from olmkit.api.package_manifests import SERVICE_NAME

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
CA_KEY = "ca.crt"
"""The key of the ConfigMap, with PEM of every CA to trust."""
V1_SERVICE, V1_CA_SECRET, V1_NAMESPACE = "catalogd-service", "catalogd-service-ca", "olmv1-system"
"""Names that clients of OLM v1 know: the Service of catalogd, a Secret with its CA, and the namespace of both by default."""


@dataclass(frozen=True)
class TlsService:
    """A Service, with the ConfigMap of its CA in the same namespace, the Secret of its certificate in the namespace of the
    suite's own keys, and the field manager that writes them."""

    name: str
    secret: str
    config_map: str
    manager: str
    labels: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    """Names of further Services that lead to the same pods."""

    def host(self, namespace: str) -> str:
        """The host name that pods use."""
        return f"{self.name}.{namespace}.svc"

    def names(self, namespace: str, *addresses: str) -> tuple[str, ...]:
        """The names of its certificate, sorted: those of the Services, of localhost, and the hosts of `addresses`."""
        domains = ("", f".{namespace}", f".{namespace}.svc", f".{namespace}.svc.cluster.local")
        own = {f"{name}{domain}" for name in (self.name, *self.aliases) for domain in domains}
        return tuple(sorted({*own, "localhost", "127.0.0.1", "::1", *filter(None, map(host_of, addresses))}))


def host_of(address: str) -> str:
    """The host of `host[:port]` or `[v6][:port]`."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    host, _, port = address.rpartition(":")
    return host if port.isdecimal() and ":" not in host else address


def netloc(address: str) -> str:
    """`host:port` for a URL. An IPv6 address gets brackets if it has none, such as that of $(POD_IP):8443."""
    host, colon, port = address.rpartition(":")
    return f"[{host}]{colon}{port}" if ":" in host and not host.startswith("[") else address


def local_address(address: str, port: int | None = None) -> str:
    """`host:port` at which this machine reaches a server that listens on `address`, at `port` if that is another one."""
    host, _, number = address.rpartition(":")
    return f"{host if host not in ('', '0.0.0.0', '[::]') else 'localhost'}:{number if port is None else port}"


CATALOG_SERVICE = TlsService(
    name=SERVICE_NAME,
    secret="catalogd-serving-cert",
    config_map="catalogd-ca",
    manager="catalogd",
    labels={"app.kubernetes.io/name": "catalogd", "app.kubernetes.io/part-of": "olm-suite"},
    aliases=(V1_SERVICE,),
)
"""The Service of catalogd."""
OPERATOR_SERVICE = TlsService(
    name="operator-controller",
    secret="operator-controller-serving-cert",
    config_map="operator-controller-ca",
    manager="operator-controller",
    labels={"app.kubernetes.io/name": "operator-controller", "app.kubernetes.io/part-of": "olm-suite"},
)
"""The Service of operator-controller's debug server."""
RUKPAK_SERVICE = TlsService(
    name="rukpak",
    secret="rukpak-serving-cert",
    config_map="rukpak-ca",
    manager="rukpak",
    labels={"app.kubernetes.io/name": "rukpak", "app.kubernetes.io/part-of": "olm-suite"},
)
"""The Service of rukpak's webhooks."""
TLS_SERVICES = (CATALOG_SERVICE, OPERATOR_SERVICE, RUKPAK_SERVICE)
"""All of them: their Secrets and ConfigMaps are what the controllers make in the namespaces of the suite."""
