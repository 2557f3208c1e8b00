"""The objects that make PackageManifests an API of the cluster: the APIService, and the permissions for it.

`olm suite install --packagemanifests` and config/packagemanifests install them. Pure.
"""

from __future__ import annotations

from typing import Any

from olmkit.api.meta import Kind, Object

GROUP, VERSION, PLURAL, KIND = "packages.operators.coreos.com", "v1", "packagemanifests", "PackageManifest"
API_SERVICE = Kind("apiregistration.k8s.io", "v1", "APIService", "apiservices")
SERVICE_NAME = "catalogd-catalogserver"
"""The Service that the API server asks."""
API_SERVICE_NAME = f"{VERSION}.{GROUP}"
"""OLM v0's packageserver has an APIService of the same name."""
_RBAC = "rbac.authorization.k8s.io"
_READER, _CA_WRITER = "olm-suite-packagemanifests-viewer", "olm-suite-packagemanifests-ca"


def package_manifest_objects(namespace: str) -> list[Object]:
    """The objects, for catalogd in this namespace; the APIService is the last."""
    return [
        _role(
            _READER,
            [{"apiGroups": [GROUP], "resources": [PLURAL, f"{PLURAL}/icon"], "verbs": ["get", "list"]}],
            {f"{_RBAC}/aggregate-to-view": "true"},
        ),
        _role(
            _CA_WRITER,
            [
                {
                    "apiGroups": [API_SERVICE.group],
                    "resources": [API_SERVICE.plural],
                    "resourceNames": [API_SERVICE_NAME],
                    "verbs": ["get", "patch"],
                }
            ],
        ),
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": _metadata(_CA_WRITER),
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": _CA_WRITER},
            "subjects": [{"kind": "ServiceAccount", "name": "catalogd", "namespace": namespace}],
        },
        {
            "apiVersion": API_SERVICE.api_version,
            "kind": API_SERVICE.kind,
            "metadata": _metadata(API_SERVICE_NAME),
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 2000,
                "versionPriority": 20,
                "service": {"name": SERVICE_NAME, "namespace": namespace, "port": 443},
            },
        },
    ]


def _role(name: str, rules: list[dict[str, Any]], labels: dict[str, str] | None = None) -> Object:
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": _metadata(name, labels), "rules": rules}


def _metadata(name: str, labels: dict[str, str] | None = None) -> Object:
    common = {"app.kubernetes.io/name": "catalogd", "app.kubernetes.io/part-of": "olm-suite"}
    return {"name": name, "labels": {**common, **(labels or {})}}
