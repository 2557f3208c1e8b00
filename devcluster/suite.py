"""The three controllers as processes on this machine, connected to a cluster.

Each uses its own ServiceAccount with the permissions of config/rbac, and catalogd serves HTTPS with its own certificate, as in a
cluster. They end with the process that started them.
"""

import http.client
import json
import ssl
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from devcluster import process_service
from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.nodes import forwarding
from devcluster.optional_programs import cached_program
from devcluster.processes import REPOSITORY, process_tree_memory, process_tree_own_memory, python_environment
from devcluster.services import Services, accepts, answers, free_address, port_of

NAMESPACE = "olm-suite-system"
WEBHOOKS = REPOSITORY / "config" / "webhook"
_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
PROCESS_NODE = "suite-processes"
"""The node of the pods that stand for the processes, and the name of its kubelet, if ports are forwarded."""
# Name of the component and of its ServiceAccount -> Python package.
COMPONENTS = {"catalogd": "catalogd", "rukpak": "rukpak", "operator-controller": "operator_controller"}

_kustomized: dict[Path, Sequence[Mapping[str, Any]]] = {}
"""The objects of the directories of config/, which do not change while a process of tests or of the demo runs."""


@dataclass(frozen=True)
class Addresses:
    """The addresses of a controller, each as "127.0.0.1:port". Restarts do not change them.

    `catalogs` is None for all but catalogd, `debug` for all but operator-controller, `webhooks` for all but rukpak.
    """

    metrics: str
    probes: str
    catalogs: str | None = None
    debug: str | None = None
    webhooks: str | None = None


class Suite(Services):
    """The three controllers. `directory` contains their logs and caches (default: a directory that is removed with the
    cluster)."""

    def __init__(
        self,
        cluster: Cluster,
        directory: Path | None = None,
        arguments: Mapping[str, Sequence[str]] | None = None,
        *,
        forwards_ports: bool = False,
        namespace: str = NAMESPACE,
    ) -> None:
        """`arguments` are additional flags by name of the controller. `forwards_ports`: `kubectl port-forward` and `olm` reach
        catalogd and rukpak through their pods. `namespace` is that of the controllers: into another one `olm suite install`
        installs, and publish() follows it in the place of install(). Starts nothing."""
        super().__init__(directory or cluster.directory / "suite")
        self._cluster = cluster
        self.namespace = namespace
        self._more = dict(arguments or {})
        self._components = {name: name for name in COMPONENTS}
        self.addresses = {name: _addresses(name) for name in COMPONENTS}
        self._machine_address = process_service.machine_address()
        self._forwards_ports = forwards_ports

    def install(self) -> None:
        """Apply namespace, CRDs, RBAC and the kinds of OLM v1 from config/, wait until the CRDs are served, and publish()."""
        self._cluster.api.apply(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        )
        objects = [each for name in ("crd", "rbac", "v1") for each in self._objects(REPOSITORY / "config" / name)]
        definitions = [each for each in objects if each["kind"] == "CustomResourceDefinition"]
        for each in objects:
            self._cluster.api.apply(_collection_path(each), each)
        if not all(map(self._is_established, definitions)):
            crds = (f"crd/{each['metadata']['name']}" for each in definitions)
            self._cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *crds)
        self.publish()

    def publish(self) -> None:
        """Have the Services of catalogd and rukpak lead to the processes, on a cluster of devcluster and if this machine has
        another address than loopback."""
        if self._cluster.is_managed and self._machine_address is not None:
            served = {"catalogd": self.addresses["catalogd"].catalogs, "rukpak": self.addresses["rukpak"].webhooks}
            ports = {name: int(port_of(address or "")) for name, address in served.items()}
            node = self._forwarding_node(ports) if self._forwards_ports else self._first_node()
            for name, port in ports.items():
                process_service.apply(self._cluster, self.namespace, name, self._machine_address, port, node)

    def _first_node(self) -> str:
        return str(self._cluster.api.call("GET", "/api/v1/nodes?limit=1")["items"][0]["metadata"]["name"])

    def _forwarding_node(self, ports: Mapping[str, int]) -> str:
        """Have kwok forward the ports of the pods that stand for controllers; returns the name of their node."""
        cluster, port = self._cluster, int(port_of(free_address()))
        config, keys = self.directory / "forwarding.yaml", cluster.directory / "keys"
        pods = {process_service.pod_name(name, each): each for name, each in ports.items()}
        config.write_text(forwarding.configuration(self.namespace, pods))
        certificate = keys / "kube-apiserver.crt", keys / "kube-apiserver.key"
        flags = forwarding.arguments(PROCESS_NODE, cluster.kubeconfig, config, *certificate, port)
        environment = {"HOME": str(self.directory), "KWOK_WORKDIR": str(self.directory / "kwok")}
        self.launch(PROCESS_NODE, Path(cluster.state.programs) / "kwok", flags, environment)
        node = forwarding.node(PROCESS_NODE, port)
        status, _ = cluster.api.request("POST", "/api/v1/nodes", node)
        if status == http.client.CONFLICT:  # of an earlier process of this cluster, with its port
            cluster.api.call("PATCH", f"/api/v1/nodes/{PROCESS_NODE}/status", {"status": node["status"]}, MERGE)
        self.until(PROCESS_NODE, "ready", lambda: accepts(f"127.0.0.1:{port}"))
        return PROCESS_NODE

    def start(self, *names: str) -> None:
        """Start the controllers of these names (default: all) and return when each answers its readiness probe."""
        if "rukpak" in (names or COMPONENTS):
            self._apply_webhooks()
        for name in names or COMPONENTS:
            if not self.is_running(name):
                self._run(name)
        for name in names or COMPONENTS:
            address = self.addresses[name].probes
            self.until(name, "ready", lambda address=address: answers(address, "/readyz"))  # type: ignore[misc]

    def delete_webhooks(self) -> None:
        """Have the API server ask nobody, when the cluster is used without rukpak."""
        if self._cluster.is_managed:
            self._cluster.api.request("DELETE", f"{_CONFIGURATIONS}/{self._webhooks()['metadata']['name']}")

    def start_replica(self, component: str) -> str:
        """Start another process of a controller and return its name, such as "catalogd-2", when it is ready.

        It has the controller's account and flags, and its own addresses, cache directory and log. All methods accept its name.
        """
        count = sum(each == component for each in self._components.values())
        name = f"{component}-{count + 1}"
        self._components[name] = component
        self.addresses[name] = _addresses(component)
        self.start(name)
        return name

    @contextmanager
    def with_flags(self, component: str, *flags: str) -> Iterator[None]:
        """A controller runs with these flags in addition, in a process of its own."""
        before = self._more.get(component, ())
        try:
            self._restart(component, (*before, *flags))
            yield
        finally:
            self._restart(component, before)

    def _restart(self, component: str, flags: Sequence[str]) -> None:
        self.stop(component)
        self._more[component] = flags
        self.start(component)

    def tls_context(self) -> ssl.SSLContext:
        """Return a TLS context for clients of catalogd that trusts the CA that catalogd has published.

        For urllib.request.urlopen(..., context=...) and aiohttp's `ssl=`. catalogd must have been ready once.
        """
        found = self._cluster.kubectl(
            "get", "configmap", "catalogd-ca", f"--namespace={self.namespace}", "--output=json"
        )
        return ssl.create_default_context(cadata=json.loads(found)["data"]["ca.crt"])

    def memory(self, name: str) -> int:
        """Bytes of memory of the controller and its children; pages they share count once."""
        return process_tree_memory(self.pid(name))

    def own_memory(self, name: str) -> int | None:
        """The same without the files that they map, which processes of others share; None if a child starts or ends meanwhile."""
        return process_tree_own_memory(self.pid(name))

    def _run(self, name: str) -> None:
        """Start the process of a controller. Tests of the image and of Tilt override it."""
        arguments = ["-m", COMPONENTS[self._components[name]], *self._flags(name, self.directory / f"{name}-cache")]
        self.launch(name, sys.executable, arguments, python_environment())

    def _flags(self, name: str, cache: Path) -> list[str]:
        addresses, component = self.addresses[name], self._components[name]
        arguments = [
            *("--kubeconfig", str(self._cluster.token_kubeconfig(self.namespace, component))),
            *("--system-namespace", self.namespace),
            *("--cache-dir", str(cache)),
            *("--registries-conf", str(self._cluster.registries_conf)),
            # The registry and catalogd are on this machine.
            *("--allow-source-cidr", "127.0.0.0/8"),
            *("--metrics-bind-address", addresses.metrics),
            *("--health-probe-bind-address", addresses.probes),
        ]
        if addresses.catalogs is not None:
            arguments += [
                "--catalogs-server-addr",
                self._listening_address(name, addresses.catalogs),
                "--external-address",
                addresses.catalogs,
                "--replica-address",
                addresses.catalogs,
                "--v1-address",
                f"catalogd-service.{self.namespace}.svc",
            ]
        if addresses.debug is not None:
            arguments += ["--debug-bind-address", addresses.debug]
        if component == "rukpak" and (helm := cached_program("helm")) is not None:
            arguments += ["--helm", str(helm)]
        if addresses.webhooks is not None:
            webhooks = self._listening_address(name, addresses.webhooks) if self._cluster.is_managed else "0"
            arguments += ["--webhook-bind-address", webhooks, "--replica-address", addresses.webhooks]
        return [*arguments, *self._more.get(component, ())]

    def _listening_address(self, name: str, served: str) -> str:
        """The address where a controller serves: for the proxy of its Service the first replica listens on all addresses of this
        machine."""
        is_proxied = name in COMPONENTS and self._cluster.is_managed and self._machine_address is not None
        return f":{port_of(served)}" if is_proxied else served

    def _apply_webhooks(self) -> None:
        """Have the API server ask the process, by its address on this machine. That of a cluster elsewhere cannot reach it.

        The caBundle that an earlier process wrote stays, so that another one has nothing to write.
        """
        if self._cluster.is_managed:
            wanted = self._webhooks()
            status, found = self._cluster.api.request("GET", f"{_CONFIGURATIONS}/{wanted['metadata']['name']}")
            if status == http.client.OK and any("service" in each["clientConfig"] for each in found["webhooks"]):
                self.delete_webhooks()  # those of manifests may not name a URL in addition
            self._cluster.api.apply(_CONFIGURATIONS, wanted)

    def _webhooks(self) -> dict[str, Any]:
        """The configuration of config/webhook for the namespace, with URLs in the place of the Service."""
        text = (WEBHOOKS / "rukpak.yaml").read_text().replace(NAMESPACE, self.namespace)
        found: dict[str, Any] = yaml.safe_load(text)
        for webhook in found["webhooks"]:
            service = webhook["clientConfig"].pop("service")
            webhook["clientConfig"]["url"] = f"https://{self.addresses['rukpak'].webhooks}{service['path']}"
        return found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self.delete_webhooks()

    def _apply(self, manifests: str) -> None:
        self._cluster.kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", input=manifests)

    def _objects(self, directory: Path) -> Sequence[Mapping[str, Any]]:
        """The objects of a directory of config/, as kustomize renders them."""
        if directory not in _kustomized:
            text = self._cluster.kubectl("kustomize", str(directory))
            _kustomized[directory] = tuple(yaml.load_all(text, yaml.CSafeLoader))
        return _kustomized[directory]

    def _is_established(self, definition: Mapping[str, Any]) -> bool:
        found = self._cluster.api.call("GET", f"{_collection_path(definition)}/{definition['metadata']['name']}")
        conditions = found.get("status", {}).get("conditions", ())
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _collection_path(object_: Mapping[str, Any]) -> str:
    """The path of the objects of its kind, whose plural has a mere s, or ies for y."""
    version, metadata, kind = object_["apiVersion"], object_["metadata"], object_["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    within = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}{within}/{plural}"


def _addresses(name: str) -> Addresses:
    catalogs = free_address() if name == "catalogd" else None
    debug = free_address() if name == "operator-controller" else None
    webhooks = free_address() if name == "rukpak" else None
    return Addresses(free_address(), free_address(), catalogs, debug, webhooks)
