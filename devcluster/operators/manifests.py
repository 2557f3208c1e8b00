"""The registry+v1 bundles of the operators: ClusterServiceVersions and CRDs as values. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devcluster.operators import greeter, library, reservations

Body = dict[str, Any]

OLD, NEW = "1.0.0", "2.0.0"
MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
CHANNEL = "stable"
HTTPS_PORT = 9443

_PROBES_PORT = 8081
_ALL_VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"]
_WEBHOOK_TYPES = {
    "validate": "ValidatingAdmissionWebhook",
    "mutate": "MutatingAdmissionWebhook",
    "convert": "ConversionWebhook",
}


@dataclass(frozen=True)
class Bundle:
    """One version of a package. `module` is the program in its image; None for an image that does not exist."""

    package: str
    version: str
    module: str | None
    replaces: str | None = None
    modes: Sequence[str] = ("AllNamespaces",)
    environment: Sequence[Body] = ()
    rules: Sequence[Body] = ()
    """Permissions of its ServiceAccount in the namespaces that it watches."""
    crds: Sequence[Body] = ()
    webhooks: Sequence[Body] = ()
    api_services: Sequence[Body] = ()
    deployment: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the Deployment's spec."""
    workload: str = ""
    """The name of the Deployment, and of the label of its pods; empty: the name of the package."""

    @property
    def name(self) -> str:
        """The name of the ClusterServiceVersion."""
        return f"{self.package}.v{self.version}"

    def provided(self) -> list[Body]:
        """The kinds that it provides, as values of the property olm.gvk."""
        kinds = [
            {"group": crd["spec"]["group"], "kind": crd["spec"]["names"]["kind"], "version": version["name"]}
            for crd in self.crds
            for version in crd["spec"]["versions"]
        ]
        return kinds + [{key: each[key] for key in ("group", "kind", "version")} for each in self.api_services]

    def csv(self, image: str) -> Body:
        """Its ClusterServiceVersion, whose container runs the image."""
        owned = [
            {"name": crd["metadata"]["name"], "version": version["name"], "kind": crd["spec"]["names"]["kind"]}
            for crd in self.crds
            for version in crd["spec"]["versions"]
        ]
        permissions = [{"serviceAccountName": self.package, "rules": list(self.rules)}]
        spec: Body = {
            "displayName": self.package.capitalize(),
            "description": f"The operator {self.package} of the tests on a real node.",
            "version": self.version,
            "minKubeVersion": "1.25.0",
            "provider": {"name": "olm-suite"},
            "installModes": [{"type": mode, "supported": mode in self.modes} for mode in MODES],
            "install": {
                "strategy": "deployment",
                "spec": {"permissions": permissions, "deployments": [self._deployment(image)]},
            },
            "customresourcedefinitions": {"owned": owned},
            "apiservicedefinitions": {"owned": list(self.api_services)},
            "webhookdefinitions": list(self.webhooks),
        }
        if self.replaces:
            spec["replaces"] = self.replaces
        return {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {"name": self.name, "annotations": {"capabilities": "Basic Install"}},
            "spec": spec,
        }

    def _deployment(self, image: str) -> Body:
        name = self.workload or self.package
        labels = {"app.kubernetes.io/name": name}
        pod = {
            "serviceAccountName": self.package,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [self._container(image)],
        }
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template, **self.deployment}
        return {"name": name, "label": labels, "spec": spec}

    def _container(self, image: str) -> Body:
        return {
            "name": "operator",
            "image": image,
            "env": [
                {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                *self.environment,
            ],
            "ports": [{"name": "probes", "containerPort": _PROBES_PORT}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": "probes"}, "timeoutSeconds": 5},
            "readinessProbe": {
                "httpGet": {"path": "/readyz", "port": "probes"},
                "periodSeconds": 1,
                "timeoutSeconds": 5,
            },
            "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
        }


def bundles() -> list[Bundle]:
    """All of them, each package with its oldest version first."""
    return [
        *(_greeter(version) for version in (OLD, NEW)),
        *(_reservations(version) for version in (OLD, NEW)),
        *(_library(version) for version in (OLD, NEW)),
        Bundle("crashing", OLD, "crashing"),
        Bundle("unpullable", OLD, None),
    ]


def _replaced(package: str, version: str) -> str | None:
    return f"{package}.v{OLD}" if version == NEW else None


def _greeter(version: str) -> Bundle:
    target_namespaces = {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}
    spec = {"name": {"type": "string"}, **({"salutation": {"type": "string"}} if version == NEW else {})}
    status = {
        "greeting": {"type": "string"},
        "greetedBy": {"type": "string"},
        "observedGeneration": {"type": "integer", "format": "int64"},
    }
    kind = greeter.GREETING
    return Bundle(
        package="greeter",
        version=version,
        module="greeter",
        replaces=_replaced("greeter", version),
        modes=MODES,
        environment=[{"name": "WATCH_NAMESPACE", "valueFrom": target_namespaces}],
        rules=[
            {"apiGroups": [kind.group], "resources": [kind.plural, f"{kind.plural}/status"], "verbs": _ALL_VERBS},
            {"apiGroups": [kind.group], "resources": [f"{kind.plural}/finalizers"], "verbs": ["update"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": _ALL_VERBS},
        ],
        crds=[_crd(kind.group, kind.kind, kind.plural, [_version(kind.version, spec, ["name"], status)])],
        # Two operators of different versions would overwrite each other's status.
        deployment={"strategy": {"type": "Recreate"}},
    )


def conversion_steps() -> list[Bundle]:
    """Versions of an operator of Reservations of which each has its conversion webhook elsewhere: in no place, in one, at another
    path of the same Service, and at another Service."""
    return [
        _step(1, "desk", "", "v1"),
        _step(2, "desk", "/convert", "v1", "v2"),
        _step(3, "desk", "/v2/convert", "v1", "v2"),
        _step(4, "counter", "/v2/convert", "v1", "v2"),
    ]


def _step(number: int, workload: str, path: str, *names: str) -> Bundle:
    versions = [_reservation_version(each, storage=each == names[-1]) for each in names]
    # The first one has a webhook that is never asked: it brings the certificate that its program serves.
    hook = {
        **_webhook("convert" if path else "validate"),
        "deploymentName": workload,
        "webhookPath": path or "/validate",
    }
    return Bundle(
        package="frontdesk",
        version=f"{number}.0.0",
        module="reservations",
        environment=[{"name": "CONVERSION_PATH", "value": path or "/convert"}],
        crds=[_crd(reservations.GROUP, "Reservation", "reservations", versions)],
        webhooks=[hook],
        workload=workload,
    )


def _reservation_version(name: str, *, storage: bool) -> Body:
    """v1 has the name of the guest in one piece, v2 in two."""
    text = {"type": "string"}
    names = {"type": "object", "properties": {"givenName": text, "familyName": text}}
    fields = {"guest": text if name == "v1" else names, "nights": {"type": "integer"}, "room": text}
    return _version(name, fields, ["guest", "nights"], storage=storage)


def _reservations(version: str) -> Bundle:
    stored = "v1" if version == OLD else "v2"
    versions = [_reservation_version(each, storage=each == stored) for each in ("v1", "v2")]
    return Bundle(
        package="reservations",
        version=version,
        module="reservations",
        replaces=_replaced("reservations", version),
        environment=[{"name": "MAXIMUM_NIGHTS", "value": "30" if version == OLD else "60"}],
        crds=[_crd(reservations.GROUP, "Reservation", "reservations", versions)],
        webhooks=[_webhook(path) for path in _WEBHOOK_TYPES],
    )


def _webhook(path: str) -> Body:
    found: Body = {
        "type": _WEBHOOK_TYPES[path],
        "generateName": f"{path}.{reservations.GROUP}",
        "deploymentName": "reservations",
        "containerPort": 443,
        "targetPort": HTTPS_PORT,
        "webhookPath": f"/{path}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    if path == "convert":
        return {**found, "conversionCRDs": [f"reservations.{reservations.GROUP}"]}
    rule = {
        "apiGroups": [reservations.GROUP],
        "apiVersions": ["v2"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["reservations"],
    }
    return {**found, "failurePolicy": "Fail", "rules": [rule]}


def _library(version: str) -> Bundle:
    versions = ["v1alpha1"] if version == OLD else ["v1alpha1", "v1beta1"]
    return Bundle(
        package="library",
        version=version,
        module="library",
        replaces=_replaced("library", version),
        environment=[{"name": "LIBRARY_VERSIONS", "value": ",".join(versions)}],
        rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": _ALL_VERBS}],
        api_services=[
            {
                "name": library.RESOURCE,
                "group": library.GROUP,
                "version": each,
                "kind": library.KIND,
                "deploymentName": "library",
                "containerPort": HTTPS_PORT,
            }
            for each in versions
        ],
    )


def _crd(group: str, kind: str, plural: str, versions: Sequence[Body]) -> Body:
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": list(versions)},
    }


def _version(
    name: str, spec: Body, required: Sequence[str], status: Body | None = None, *, storage: bool = True
) -> Body:
    """A version of a CRD with these properties of spec and, if there are any, of status."""
    properties: Body = {"spec": {"type": "object", "required": list(required), "properties": spec}}
    if status:
        properties["status"] = {"type": "object", "properties": status}
    schema = {"type": "object", "required": ["spec"], "properties": properties}
    version: Body = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    return {**version, "subresources": {"status": {}}} if status else version
