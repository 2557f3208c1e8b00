"""Runs an operator as a process, under the ServiceAccount of its bundle. The bundle's objects stand on the cluster, without pods.

The Service of the bundle leads to the process: an EndpointSlice has an address of this machine that is not loopback.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from devcluster.allocation import free_port
from devcluster.cluster import Cluster
from devcluster.operators.content import write_bundle
from devcluster.operators.manifests import Bundle
from devcluster.process_service import machine_address
from devcluster.processes import python_environment
from devcluster.services import Services, answers
from olmkit.tls import certificate_authority
from olmkit.tls.certificate_authority import CertificateSet
from tests.load import Load

Object = dict[str, Any]
Apply = Callable[[list[Object]], None]
REQUESTS = 10
"""So many requests are made before and after each change."""

_NO_IMAGE = "registry.example.com/operators:none"


class OperatorProcess(Services):
    """The operator of a bundle in a namespace, with its certificate in the directory `certificates`."""

    def __init__(self, cluster: Cluster, bundle: Bundle, namespace: str, directory: Path) -> None:
        """Starts nothing."""
        super().__init__(directory)
        self.cluster = cluster
        self.bundle = bundle
        self.namespace = namespace
        self.certificates = directory / "certificates"
        self.certificates.mkdir()
        self._rendered: dict[tuple[str, ...], list[Object]] = {}
        self.port = free_port()
        self.host = machine_address()
        assert self.host is not None, "the API server reaches no process of a machine that has only loopback"
        self._probes = f"127.0.0.1:{free_port()}"

    def rendered(self, *watched: str) -> list[Object]:
        """The objects of the bundle as `olm bundle render` prints them, for these watched namespaces."""
        if watched not in self._rendered:
            source = self.directory / f"bundle-{len(self._rendered)}"
            write_bundle(source, self.bundle, _NO_IMAGE)
            flags = [flag for each in watched for flag in ("--watch-namespace", each)]
            command = [
                sys.executable,
                "-m",
                "olmctl",
                "bundle",
                "render",
                str(source),
                "--namespace",
                self.namespace,
                *flags,
            ]
            done = subprocess.run([*command, "--output", "json"], capture_output=True, check=True)
            self._rendered[watched] = json.loads(done.stdout)
        return deepcopy(self._rendered[watched])

    def run(self, deployment: Object) -> None:
        """Start the operator with the environment of the Deployment's container; returns when it is ready."""
        kubeconfig = self.cluster.token_kubeconfig(self.namespace, self.bundle.package)
        arguments = ["-m", f"devcluster.operators.{self.bundle.module}", "--kubeconfig", str(kubeconfig)]
        arguments += ["--health-probe-bind-address", self._probes]
        if self.bundle.webhooks or self.bundle.api_services:
            arguments += ["--bind-address", f"{self.host}:{self.port}", "--certificates", str(self.certificates)]
        name = self.bundle.package
        environment = {"OPERATOR_VERSION": self.bundle.version, **_environment(deployment)}
        self.launch(name, sys.executable, arguments, {**python_environment(), **environment})
        self.until(name, "ready", lambda: answers(self._probes, "/readyz"))

    def write_certificate(self, found: CertificateSet, certificate: str, key: str) -> None:
        """Replace the serving certificate by that of the set, in the files of these names."""
        (self.certificates / certificate).write_bytes(found.leaf.chain)
        (self.certificates / key).write_bytes(found.leaf.key)

    def objects(self, *trusted: CertificateSet) -> list[Object]:
        """The objects of the bundle without its pods: callers trust these CAs, and the Service leads to the process."""
        bundle = base64.b64encode(b"".join(each.ca.chain for each in trusted)).decode()
        found = [_trusting(each, bundle) for each in self.rendered() if each["kind"] != "Deployment"]
        (service,) = [each for each in found if each["kind"] == "Service"]
        del service["spec"]["selector"]
        return [*found, self._endpoints(service)]

    def _endpoints(self, service: Object) -> Object:
        name = service["metadata"]["name"]
        labels = {"kubernetes.io/service-name": name}
        (port,) = service["spec"]["ports"]
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self.host], "conditions": {"ready": True}}],
            "ports": [{"name": port["name"], "port": self.port}],
        }

    def until_loaded(self, found: CertificateSet) -> None:
        """Return when it serves the certificate of the set."""
        assert self.host is not None
        address = (self.host, self.port)
        expected = found.leaf.certificate.public_bytes(Encoding.DER)

        def is_served() -> bool:
            return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(address, timeout=10)) == expected

        self.until(self.bundle.package, "serving the other certificate", is_served)


def _trusting(found: Object, bundle: str) -> Object:
    """The object with this caBundle, if it makes the API server call a Service."""
    match found["kind"], found:
        case "APIService", {"spec": spec}:
            spec["caBundle"] = bundle
        case _, {"webhooks": [*callers]}:
            for each in callers:
                each["clientConfig"]["caBundle"] = bundle
        case _, {"spec": {"conversion": {"webhook": {"clientConfig": configuration}}}}:
            configuration["caBundle"] = bundle
    return found


def deployment_of(objects: list[Object]) -> Object:
    """The Deployment of a bundle."""
    (found,) = [each for each in objects if each["kind"] == "Deployment"]
    return found


def certificates(bundle: Bundle, namespace: str) -> CertificateSet:
    """A new CA and a certificate of it for the Service of the bundle."""
    return certificate_authority.create([f"{bundle.package}-service.{namespace}.svc"], datetime.now(UTC))


@contextmanager
def applied(cluster: Cluster, objects: list[Object]) -> Iterator[Apply]:
    """Apply the objects; the function that is returned applies others. All of them are deleted at the end, the last one first."""
    names: list[Object] = []

    def apply(more: list[Object]) -> None:
        known = [_identity(each) for each in names]
        names.extend(each for each in more if _identity(each) not in known)
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", input=_list(more))

    try:
        apply(objects)
        yield apply
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "--timeout=60s", "--filename=-", input=_list(names[::-1]))


async def rotate_and_upgrade(
    requests: Load,
    old: OperatorProcess,
    new: OperatorProcess,
    following: CertificateSet,
    files: tuple[str, str],
    apply: Apply,
) -> None:
    """Replace the certificate of the old process, then the process by the new one; some requests are made around each change."""
    await requests.after(REQUESTS)
    old.write_certificate(following, *files)
    await asyncio.to_thread(old.until_loaded, following)
    await requests.after(REQUESTS)
    # The API server makes its connections again when it trusts another CA.
    await asyncio.to_thread(apply, old.objects(following))
    await requests.after(REQUESTS)
    new.write_certificate(following, *files)
    await asyncio.to_thread(new.run, deployment_of(new.rendered()))
    await asyncio.to_thread(apply, new.objects(following))
    await requests.after(REQUESTS)
    await asyncio.to_thread(old.stop)
    await requests.after(REQUESTS)


def namespace_object(name: str) -> Object:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _identity(object_: Object) -> tuple[str, str, str]:
    return object_["kind"], object_["metadata"].get("namespace", ""), object_["metadata"]["name"]


def _list(objects: list[Object]) -> str:
    return "\n".join(json.dumps(each) for each in objects)


def _environment(deployment: Object) -> dict[str, str]:
    """The environment of the container as the kubelet makes it, for the fields that the operators use."""
    template = deployment["spec"]["template"]
    values = {"metadata.namespace": deployment["metadata"]["namespace"]}
    for name, value in template["metadata"]["annotations"].items():
        values[f"metadata.annotations['{name}']"] = value
    entries = template["spec"]["containers"][0]["env"]
    return {
        each["name"]: each["value"] if "value" in each else values[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in entries
    }
