"""Renders what the endpoints of a bundle need: the certificate in the pods, the Service, and cert-manager's objects.

A bundle without endpoints does not change. The certificates that rukpak issues itself are not rendered: rukpak.bundledeployment
makes their Secrets. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rukpak.certificates.serving_certificate import common_name
from rukpak.format.bundle import Body
from rukpak.format.errors import BUNDLE_LOAD_FAILED, BadBundle
from rukpak.format.objects import mapping, mappings
from rukpak.render.endpoints import CertificateMode, Endpoint, Port, name_with_suffix

INJECT_CA = "cert-manager.io/inject-ca-from"
_VOLUMES = {
    "webhook-cert": ("/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"),
    "apiservice-cert": ("/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"),
}
"""Volume -> its mount path, and the file names of certificate and key."""
_MOUNT_PATHS = frozenset(path for path, *_ in _VOLUMES.values())


def injection_annotations(endpoint: Endpoint) -> dict[str, str]:
    """The annotation at which cert-manager injects the CA; none in another mode."""
    if endpoint.certificates is not CertificateMode.CERT_MANAGER:
        return {}
    return {INJECT_CA: f"{endpoint.namespace}/{endpoint.certificate}"}


def with_certificate(deployment: Body, endpoints: Mapping[str, Endpoint], *, upstream: bool) -> Body:
    """The Deployment with the certificate mounted in every container, if it is an endpoint and the bundle brings none.

    A container that mounts one of its volumes itself reads it there: as in OLM v0, its mount is kept. Upstream replaces it.
    """
    endpoint = endpoints.get(deployment["metadata"]["name"])
    if endpoint is None or endpoint.certificates is CertificateMode.NONE:
        return deployment
    template = deployment["spec"]["template"]
    pod = template["spec"]
    replaced = set(_VOLUMES) | {
        mount["name"]
        for container in pod.get("containers") or ()
        for mount in container.get("volumeMounts") or ()
        if mount.get("mountPath") in _MOUNT_PATHS
    }
    volumes = [volume for volume in pod.get("volumes") or () if volume["name"] not in replaced]
    volumes += [
        {
            "name": volume,
            "secret": {
                "secretName": endpoint.certificate,
                "items": [_item("tls.crt", certificate), _item("tls.key", key)],
            },
        }
        for volume, (_, certificate, key) in _VOLUMES.items()
    ]
    replaced_mounts = replaced if upstream else replaced - set(_VOLUMES)
    containers = [_with_mounts(container, replaced_mounts) for container in pod.get("containers") or ()]
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
    kept = {mount["name"] for mount in mounts}
    mounts += [{"name": volume, "mountPath": path} for volume, (path, *_) in _VOLUMES.items() if volume not in kept]
    return {**container, "volumeMounts": mounts}


def services(endpoints: Iterable[Endpoint], deployments: Iterable[Body], given: Iterable[Body]) -> Iterator[Body]:
    """The Services of the endpoints. One that is among the `given` objects of the bundle is not rendered again.

    Raises BadBundle for a given one that does not lead to the Deployment. `deployments` are those of the CSV.
    """
    by_name = {deployment["name"]: deployment["spec"] for deployment in deployments}
    own = {body["metadata"]["name"]: body for body in given if (body["apiVersion"], body["kind"]) == ("v1", "Service")}
    for endpoint in endpoints:
        spec, shipped = by_name[endpoint.deployment], own.get(endpoint.service)
        if shipped is None:
            yield _service(endpoint, spec)
        elif problem := _problem(mapping(shipped.get("spec")), endpoint, spec):
            raise BadBundle(
                BUNDLE_LOAD_FAILED,
                f"the bundle contains a Service {endpoint.service}, the name of the Service through which Deployment "
                f"{endpoint.deployment} is called, and {problem}: rename it, or let it lead to the Deployment",
            )


def check_secrets(endpoints: Iterable[Endpoint], given: Iterable[Body]) -> None:
    """Raises BadBundle if one of the `given` objects of the bundle is the Secret of a certificate that rukpak issues."""
    names = {body["metadata"]["name"] for body in given if (body["apiVersion"], body["kind"]) == ("v1", "Secret")}
    for endpoint in endpoints:
        if endpoint.certificates is CertificateMode.SELF and endpoint.certificate in names:
            raise BadBundle(
                BUNDLE_LOAD_FAILED,
                f"the bundle contains the Secret {endpoint.certificate}, in which the serving certificate of Deployment "
                f"{endpoint.deployment} is issued: rename it, or set certificates to None if it is that certificate",
            )


def _service(endpoint: Endpoint, deployment: Body) -> Body:
    selector = _match_labels(deployment)
    ports = [port.body for port in endpoint.ports]
    spec: dict[str, Any] = {"ports": ports} | ({"selector": selector} if selector else {})
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": endpoint.service, "namespace": endpoint.namespace},
        "spec": spec,
        "status": {"loadBalancer": {}},
    }


def _match_labels(deployment: Body) -> Mapping[str, str]:
    return ((deployment.get("selector") or {}).get("matchLabels")) or {}


def _problem(service: Mapping[str, Any], endpoint: Endpoint, deployment: Body) -> str:
    """Explain why the Service of a bundle does not lead to the Deployment; empty if it does."""
    template = mapping(deployment.get("template"))
    labels, selector = mapping(mapping(template.get("metadata")).get("labels")), mapping(service.get("selector"))
    if service.get("type") == "ExternalName" or service.get("clusterIP") == "None":
        return "it has no address of its own, which the API server needs"
    if not selector or any(labels.get(name) != value for name, value in selector.items()):
        return "its selector does not match the pods"
    names = _port_names(template)
    there = {(port.get("port"), _target(port.get("targetPort", port.get("port")), names)) for port in _ports(service)}
    missing = [port for port in endpoint.ports if (port.number, _target(port.target, names)) not in there]
    return f"it does not have {_describe(missing[0])}" if missing else ""


def _ports(service: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (port for port in mappings(service.get("ports")) if port.get("protocol", "TCP") == "TCP")


def _describe(port: Port) -> str:
    return f"port {port.number} with the target port {port.target}"


def _port_names(template: Mapping[str, Any]) -> dict[str, Any]:
    containers = mappings(mapping(template.get("spec")).get("containers"))
    ports = [port for container in containers for port in mappings(container.get("ports"))]
    return {str(port["name"]): port.get("containerPort") for port in ports if port.get("name")}


def _target(target: Any, names: Mapping[str, Any]) -> Any:
    return names.get(target, target) if isinstance(target, str) else target


def certificate_objects(endpoints: Iterable[Endpoint], *, upstream: bool) -> Iterator[Body]:
    """cert-manager's Issuers and Certificates of the endpoints; none in another mode.

    With `upstream`, the common name is the whole host name, which cert-manager may refuse.
    """
    for endpoint in endpoints:
        if endpoint.certificates is CertificateMode.CERT_MANAGER:
            name = endpoint.common_name if upstream else common_name(endpoint.common_name)
            yield from _certificates(endpoint, name)


def _certificates(endpoint: Endpoint, name: str) -> Iterator[Body]:
    issuer = name_with_suffix(endpoint.certificate, "selfsigned-issuer")
    yield {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": {"name": issuer, "namespace": endpoint.namespace},
        "spec": {"selfSigned": {}},
        "status": {},
    }
    yield {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": endpoint.certificate, "namespace": endpoint.namespace},
        "spec": {
            "secretName": endpoint.certificate,
            "commonName": name,
            "usages": ["server auth"],
            "dnsNames": list(endpoint.host_names),
            "duration": "17520h0m0s",
            "renewBefore": "24h0m0s",
            "issuerRef": {"name": issuer},
        },
        "status": {},
    }
