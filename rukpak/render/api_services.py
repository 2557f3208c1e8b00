"""Renders the API services that a bundle owns: APIServices, and what their servers need to authenticate clients (formats 2.10).

Called by rukpak.render.renderer, never with `upstream`: upstream refuses such bundles. The Service, and the certificate in the
pods, are in rukpak.render.serving. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rukpak.format.bundle import Body, RegistryBundle
from rukpak.format.errors import BUNDLE_LOAD_FAILED, BadBundle
from rukpak.format.objects import mapping
from rukpak.render.endpoints import API_SERVICE, DEFAULT_PORT, CertificateMode, Endpoint, api_service_name
from rukpak.render.rbac import RBAC_GROUP
from rukpak.render.serving import injection_annotations

AUTHENTICATION_NAMESPACE = "kube-system"
AUTHENTICATION_ROLE = "extension-apiserver-authentication-reader"
"""A Role of Kubernetes that permits to read with which certificate authority the API server authenticates itself."""
DELEGATION_ROLE = "system:auth-delegator"
"""A ClusterRole of Kubernetes that permits to delegate authentication and authorization to the API server."""
GROUP_PRIORITY = 2000
"""groupPriorityMinimum, as OLM v0 sets it: above 1000, which the API server gives to groups of CustomResourceDefinitions."""
VERSION_PRIORITY = 15


def api_service_objects(bundle: RegistryBundle, endpoints: Mapping[str, Endpoint]) -> Iterator[Body]:
    """The APIServices, then the roles and bindings of each Deployment that serves one. Raises BadBundle."""
    owned: dict[str, Body] = {}
    for item in bundle.owned_api_services:
        name = api_service_name(item)
        first = owned.setdefault(name, item)
        if _server(first) != _server(item):
            text = f"API service {name} is defined twice, with different Deployments or ports"
            raise BadBundle(BUNDLE_LOAD_FAILED, text)
        if item.get("deploymentName") not in endpoints:
            text = f"API service {name} references non-existent deployment '{item.get('deploymentName') or ''}'"
            raise BadBundle(BUNDLE_LOAD_FAILED, text)
    for name, item in sorted(owned.items()):
        yield _api_service(name, item, endpoints[item["deploymentName"]])
    serving = {item["deploymentName"] for item in owned.values()}
    for deployment in bundle.install_spec.get("deployments") or ():
        if deployment["name"] in serving:
            pod = mapping(mapping(deployment["spec"].get("template")).get("spec"))
            yield from _access(endpoints[deployment["name"]], pod.get("serviceAccountName") or "default")


def _server(item: Body) -> tuple[str, int]:
    return item.get("deploymentName") or "", item.get("containerPort") or DEFAULT_PORT


def _api_service(name: str, item: Body, endpoint: Endpoint) -> Body:
    annotations = injection_annotations(endpoint)
    service = {"namespace": endpoint.namespace, "name": endpoint.service, "port": _server(item)[1]}
    return {
        "apiVersion": f"{API_SERVICE[0]}/v1",
        "kind": API_SERVICE[1],
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "spec": {
            "group": item["group"],
            "version": item["version"],
            "groupPriorityMinimum": GROUP_PRIORITY,
            "versionPriority": VERSION_PRIORITY,
            "service": service,
        },
    }


def _access(endpoint: Endpoint, account: str) -> Iterator[Body]:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": endpoint.namespace}
    if endpoint.certificates is not CertificateMode.NONE:
        rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [endpoint.certificate]}
        metadata = {"name": endpoint.certificate, "namespace": endpoint.namespace}
        yield {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]}
        yield _binding(endpoint.certificate, endpoint.namespace, "Role", endpoint.certificate, subject)
    yield _binding(f"{endpoint.service}-{DELEGATION_ROLE}", "", "ClusterRole", DELEGATION_ROLE, subject)
    name = f"{endpoint.service}-auth-reader"
    yield _binding(name, AUTHENTICATION_NAMESPACE, "Role", AUTHENTICATION_ROLE, subject)


def _binding(name: str, namespace: str, role_kind: str, role: str, subject: Body) -> Body:
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": role_kind, "name": role},
        "subjects": [subject],
    }
