"""OLM v0 as it leaves a cluster: its CustomResourceDefinitions, in small, and the objects of an operator that it has installed.

The controllers of OLM v0 are run by no test: their program is not available to the tests. Names, labels, annotations and owner
references are those that its documents and objects show. Two Deployments without a program stand for its controllers.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.cluster import Cluster
from olmkit.tls.certificate_authority import issue, make_ca

Object = dict[str, Any]
GROUP = "operators.coreos.com"
RBAC = "rbac.authorization.k8s.io"
LIFETIME = timedelta(days=730)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXT = {"type": "string"}
_KINDS = (
    ("v1alpha1", "Subscription", "subscriptions", ("name", "source", "sourceNamespace")),
    ("v1alpha1", "ClusterServiceVersion", "clusterserviceversions", ("displayName", "install")),
    ("v1alpha1", "CatalogSource", "catalogsources", ("sourceType",)),
    ("v1alpha1", "InstallPlan", "installplans", ("approval", "approved", "clusterServiceVersionNames")),
    ("v1", "OperatorGroup", "operatorgroups", ()),
    ("v2", "OperatorCondition", "operatorconditions", ()),
    ("v1", "Operator", "operators", ()),
)
"""Version, kind, plural, and the fields of spec that are required."""


def definitions() -> Iterator[Object]:
    """The CustomResourceDefinitions of OLM v0."""
    for version, kind, plural, required in _KINDS:
        spec: Object = {**_ANY, **({"required": list(required)} if required else {})}
        schema = {"type": "object", "properties": {"spec": spec, "status": _ANY}}
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
                "scope": "Cluster" if kind == "Operator" else "Namespaced",
                "versions": [
                    {
                        **{"name": version, "served": True, "storage": True},
                        **{"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}},
                    }
                ],
            },
        }


@dataclass
class OlmV0:
    """OLM v0 on a cluster of a test: what it has made is deleted by close()."""

    cluster: Cluster
    _made: list[str] = field(default_factory=list)

    def install(self) -> None:
        """Create its CustomResourceDefinitions, and the Deployments of its controllers, with a pod each."""
        for each in definitions():
            self.cluster.api.apply(CRDS, each)
        names = [f"crd/{each['metadata']['name']}" for each in definitions()]
        self.cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
        for version, _, plural, _ in _KINDS:
            self.cluster.kubectl("get", "--raw", f"/apis/{GROUP}/{version}/{plural}")
        self.namespace("olm")
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "system:controller:operator-lifecycle-manager"}
        rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        self.create(f"{RBAC}/v1", "clusterroles", "", _object(f"{RBAC}/v1", "ClusterRole", role["name"], rules=rules))
        account = {"kind": "ServiceAccount", "name": "olm-operator-serviceaccount", "namespace": "olm"}
        self.create("v1", "serviceaccounts", "olm", _object("v1", "ServiceAccount", account["name"], "olm"))
        binding = _object(
            f"{RBAC}/v1", "ClusterRoleBinding", "olm-operator-binding-olm", roleRef=role, subjects=[account]
        )
        self.create(f"{RBAC}/v1", "clusterrolebindings", "", binding)
        for name in ("olm-operator", "catalog-operator"):
            labels = {"app": name}
            pod = {"serviceAccountName": account["name"], "containers": [{"name": name, "image": "olm"}]}
            template = {"metadata": {"labels": labels}, "spec": pod}
            spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
            self.create(
                "apps/v1", "deployments", "olm", _object("apps/v1", "Deployment", name, spec=spec, labels=labels)
            )
        self.cluster.kubectl("-n", "olm", "wait", "--for=condition=Available", "deployment", "--all", "--timeout=60s")

    def namespace(self, name: str) -> None:
        """Create a namespace."""
        self.create("v1", "namespaces", "", _object("v1", "Namespace", name))

    def create(self, version: str, plural: str, namespace: str, body: Object, manager: str = "olm") -> Object:
        """Create an object as OLM v0, with its status; returns it."""
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        path = f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"
        status = body.get("status")
        made: Object = self.cluster.api.call("POST", f"{path}?fieldManager={manager}", body)
        self._made.append(f"{path}/{body['metadata']['name']}")
        if status is not None:
            whole = {**made, "status": status}
            made = self.cluster.api.call("PUT", f"{path}/{body['metadata']['name']}/status", whole)
        return made

    def close(self) -> None:
        """Delete everything, also what waits for a controller that does not run."""
        for path in reversed(self._made):
            status, found = self.cluster.api.request("GET", path)
            if status != 200:
                continue
            if found["metadata"].get("finalizers") and not path.startswith("/api/v1/namespaces/"):
                patch = {"metadata": {"finalizers": None}}
                self.cluster.api.request("PATCH", path, patch, "application/merge-patch+json")
            self.cluster.api.request("DELETE", path)
        for each in definitions():
            self.cluster.api.request("DELETE", f"{CRDS}/{each['metadata']['name']}")


def _object(version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    metadata: Object = {"name": name} | ({"namespace": namespace} if namespace else {})
    for each in ("labels", "annotations", "ownerReferences", "finalizers"):
        if each in rest:
            metadata[each] = rest.pop(each)
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


@dataclass(frozen=True)
class Package:
    """A package of OLM v0: the ClusterServiceVersion and the CustomResourceDefinition of its bundle, and the Subscription."""

    name: str
    version: Object
    definition: Object
    namespace: str
    catalog_image: str
    bundle_image: str = ""
    targets: tuple[str, ...] = ("",)
    config: Mapping[str, Any] = field(default_factory=dict)
    others: Sequence[Object] = ()
    copied_to: str = ""
    """A namespace with a copy of the ClusterServiceVersion."""
    source: tuple[str, str] = ("", "")
    """Namespace and name of the CatalogSource; by default it is beside the Subscription, and named for the package."""

    @property
    def catalog_source(self) -> tuple[str, str]:
        """Namespace and name of the CatalogSource."""
        return self.source if all(self.source) else (self.namespace, f"{self.name}-catalog")

    @property
    def version_name(self) -> str:
        """The name of the ClusterServiceVersion."""
        return str(self.version["metadata"]["name"])

    @property
    def component(self) -> dict[str, str]:
        """The label of its components."""
        return {f"operators.coreos.com/{self.name}.{self.namespace}": ""}

    def owner(self, uid: str) -> list[Object]:
        """The owner reference to the ClusterServiceVersion."""
        kind = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "ClusterServiceVersion",
            "name": self.version_name,
            "uid": uid,
        }
        return [{**kind, "controller": False, "blockOwnerDeletion": False}]

    @property
    def owner_labels(self) -> dict[str, str]:
        """The labels that name the ClusterServiceVersion."""
        return {
            "olm.owner": self.version_name,
            "olm.owner.kind": "ClusterServiceVersion",
            "olm.owner.namespace": self.namespace,
            "olm.managed": "true",
            **self.component,
        }


def install(olm: OlmV0, package: Package) -> str:
    """Leave what OLM v0 leaves when the package is installed; returns the uid of the ClusterServiceVersion."""
    namespace = package.namespace
    olm.namespace(namespace)
    _create_request(olm, package)
    version = _create_version(olm, package)
    uid = str(version["metadata"]["uid"])
    definition = {**package.definition, "metadata": {**package.definition["metadata"]}}
    definition["metadata"] |= {
        "labels": {"olm.managed": "true", **package.component},
        "annotations": {"operatorframework.io/installed-alongside-1a2b3c": f"{namespace}/{package.version_name}"},
    }
    olm.create("apiextensions.k8s.io/v1", "customresourcedefinitions", "", definition, "catalog")
    for other in package.others:
        labels = {**(other["metadata"].get("labels") or {}), "olm.managed": "true", **package.component}
        metadata = {
            **other["metadata"],
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": package.owner(uid),
        }
        plural = f"{other['kind'].lower()}s"
        olm.create(other["apiVersion"], plural, namespace, {**other, "metadata": metadata}, "catalog")
    _create_access(olm, package, uid)
    _create_deployments(olm, package, uid, _certificates(olm, package, uid))
    _create_condition(olm, package, uid)
    olm.create(
        f"{GROUP}/v1", "operators", "", _object(f"{GROUP}/v1", "Operator", f"{package.name}.{namespace}", spec={})
    )
    return uid


def _create_request(olm: OlmV0, package: Package) -> None:
    """CatalogSource, OperatorGroup, Subscription and InstallPlan."""
    name, namespace, v1alpha1 = package.name, package.namespace, f"{GROUP}/v1alpha1"
    source = {"sourceType": "grpc", "image": package.catalog_image, "displayName": f"Catalog of {name}", "priority": 5}
    poll = {"updateStrategy": {"registryPoll": {"interval": "10m"}}}
    inside, catalog = package.catalog_source
    made = _object(v1alpha1, "CatalogSource", catalog, inside, spec={**source, **poll})
    olm.create(v1alpha1, "catalogsources", inside, made)
    targets = {} if package.targets == ("",) else {"targetNamespaces": list(package.targets)}
    status: Object = {"namespaces": list(package.targets)}
    group = _object(f"{GROUP}/v1", "OperatorGroup", f"{name}-group", namespace, spec=targets, status=status)
    olm.create(f"{GROUP}/v1", "operatorgroups", namespace, group)
    spec: Object = {"name": name, "channel": "stable", "source": catalog, "sourceNamespace": inside}
    spec |= {"installPlanApproval": "Automatic", "startingCSV": package.version_name}
    if package.config:
        spec["config"] = dict(package.config)
    status = {"installedCSV": package.version_name, "currentCSV": package.version_name, "state": "AtLatestKnown"}
    subscription = _object(
        v1alpha1, "Subscription", name, namespace, spec=spec, status=status, labels=package.component
    )
    made = olm.create(v1alpha1, "subscriptions", namespace, subscription)
    reference = {"apiVersion": v1alpha1, "kind": "Subscription", "name": name, "uid": made["metadata"]["uid"]}
    plan = _object(
        v1alpha1,
        "InstallPlan",
        f"install-{name}",
        namespace,
        ownerReferences=[{**reference, "controller": False, "blockOwnerDeletion": False}],
        spec={"approval": "Automatic", "approved": True, "clusterServiceVersionNames": [package.version_name]},
        status={
            "phase": "Complete",
            "bundleLookups": [{"identifier": package.version_name, "path": package.bundle_image}],
        },
    )
    olm.create(v1alpha1, "installplans", namespace, plan)


def version_annotations(package: Package) -> dict[str, str]:
    """The annotations of the ClusterServiceVersion, which OLM v0 writes into the pods too."""
    value = {"packageName": package.name, "version": package.version["spec"]["version"]}
    properties = {"properties": [{"type": "olm.package", "value": value}]}
    return {
        **package.version["metadata"].get("annotations", {}),
        "olm.operatorGroup": f"{package.name}-group",
        "olm.operatorNamespace": package.namespace,
        "olm.targetNamespaces": ",".join(package.targets),
        "operatorframework.io/properties": json.dumps(properties),
    }


def _create_version(olm: OlmV0, package: Package) -> Object:
    """The ClusterServiceVersion, and its copy."""
    v1alpha1 = f"{GROUP}/v1alpha1"
    body = _object(
        v1alpha1,
        "ClusterServiceVersion",
        package.version_name,
        package.namespace,
        annotations=version_annotations(package),
        labels={"olm.managed": "true", **package.component},
        finalizers=["operators.coreos.com/csv-cleanup"],
        spec=package.version["spec"],
        status={"phase": "Succeeded", "reason": "InstallSucceeded"},
    )
    made = olm.create(v1alpha1, "clusterserviceversions", package.namespace, body)
    if package.copied_to:
        olm.namespace(package.copied_to)
        labels = {"olm.copiedFrom": package.namespace, "olm.managed": "true", **package.component}
        copy = {**body, "metadata": {**body["metadata"], "namespace": package.copied_to, "labels": labels}}
        copy["status"] = {"phase": "Succeeded", "reason": "Copied"}
        copied = olm.create(v1alpha1, "clusterserviceversions", package.copied_to, copy)
        role = _object(
            "rbac.authorization.k8s.io/v1",
            "Role",
            f"{package.version_name}-in-target",
            package.copied_to,
            labels={**package.owner_labels, "olm.owner.namespace": package.copied_to},
            ownerReferences=package.owner(copied["metadata"]["uid"]),
            rules=[],
        )
        olm.create("rbac.authorization.k8s.io/v1", "roles", package.copied_to, role)
    return made


def _create_access(olm: OlmV0, package: Package, uid: str) -> None:
    """ServiceAccounts, and the roles with the names of OLM v0."""
    rbac, namespace, install = (
        "rbac.authorization.k8s.io/v1",
        package.namespace,
        package.version["spec"]["install"]["spec"],
    )
    permissions = [*install.get("permissions", ()), *install.get("clusterPermissions", ())]
    for account in sorted({each["serviceAccountName"] for each in permissions}):
        body = _object("v1", "ServiceAccount", account, labels=package.component, ownerReferences=package.owner(uid))
        olm.create("v1", "serviceaccounts", namespace, body, "catalog")
    for number, each in enumerate(permissions):
        is_global = package.targets == ("",) or each in install.get("clusterPermissions", ())
        prefix, inside = ("Cluster", "") if is_global else ("", namespace)
        name = f"{package.version_name}-{hashlib.sha224(f'{namespace}{number}'.encode()).hexdigest()[:20]}"
        labels = {**package.owner_labels, "olm.permissions.hash": "abc"}
        references = {} if is_global else {"ownerReferences": package.owner(uid)}
        role = _object(rbac, f"{prefix}Role", name, inside, labels=labels, rules=each["rules"], **references)
        olm.create(rbac, f"{prefix.lower()}roles", inside, role)
        subject = {"kind": "ServiceAccount", "name": each["serviceAccountName"], "namespace": namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{prefix}Role", "name": name}
        binding = _object(rbac, f"{prefix}RoleBinding", name, inside, labels=package.owner_labels, **references)
        olm.create(
            rbac, f"{prefix.lower()}rolebindings", inside, {**binding, "subjects": [subject], "roleRef": reference}
        )


def _certificates(olm: OlmV0, package: Package, uid: str) -> dict[str, str]:
    """Service, Secret and webhook configurations; Deployment -> the hash of the authority of its certificate."""
    now, hashes, namespace = datetime.now(UTC), {}, package.namespace
    for hook in package.version["spec"].get("webhookdefinitions", ()):
        deployment = hook["deploymentName"]
        service = f"{deployment}-service"
        hosts = (f"{service}.{namespace}", f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local")
        authority = make_ca(now, "olm-selfsigned-1a2b", LIFETIME)
        pair = issue(authority, hosts, now, hosts[0], LIFETIME)
        bundle = authority.certificate.public_bytes(_pem())
        hashes[deployment] = hashlib.sha256(bundle).hexdigest()
        data = {"tls.crt": pair.chain, "tls.key": pair.key, "olmCAKey": bundle}
        secret = _object(
            "v1",
            "Secret",
            f"{service}-cert",
            labels={"olm.managed": "true", **package.component},
            annotations={"olmcahash": hashes[deployment]},
            ownerReferences=package.owner(uid),
            type="kubernetes.io/tls",
            data={name: base64.b64encode(value).decode() for name, value in data.items()},
        )
        olm.create("v1", "secrets", namespace, secret)
        port = hook.get("containerPort", 443)
        ports = [{"name": str(port), "port": port, "targetPort": hook.get("targetPort", port)}]
        spec = next(each["spec"] for each in _deployments(package) if each["name"] == deployment)
        of_service = {"ports": ports, "selector": spec["selector"]["matchLabels"]}
        body = _object(
            "v1", "Service", service, labels=package.component, ownerReferences=package.owner(uid), spec=of_service
        )
        olm.create("v1", "services", namespace, body)
        client: Object = {
            "service": {"name": service, "namespace": namespace, "path": hook["webhookPath"], "port": port}
        }
        client["caBundle"] = base64.b64encode(bundle).decode()
        copied = ("rules", "sideEffects", "admissionReviewVersions", "failurePolicy")
        webhook = {"name": hook["generateName"], "clientConfig": client, **{name: hook[name] for name in copied}}
        configuration = _object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            f"{hook['generateName']}-x7k2p",
            labels={**package.owner_labels, "olm.webhook-description-generate-name": hook["generateName"]},
            webhooks=[webhook],
        )
        plural = "validatingwebhookconfigurations"
        olm.create("admissionregistration.k8s.io/v1", plural, "", configuration)
    return hashes


def _pem() -> Any:
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.PEM


def _deployments(package: Package) -> list[Object]:
    found: list[Object] = package.version["spec"]["install"]["spec"]["deployments"]
    return found


def _create_deployments(olm: OlmV0, package: Package, uid: str, hashes: Mapping[str, str]) -> None:
    """As OLM v0 does: annotations of the ClusterServiceVersion first, config, certificates, and the name of the condition."""
    for each in _deployments(package):
        spec = json.loads(json.dumps(each["spec"]))
        template = spec["template"]
        annotations = {**template["metadata"].get("annotations", {}), **version_annotations(package)}
        pod = template["spec"]
        for container in pod["containers"]:
            env = container.setdefault("env", [])
            env += [dict(variable) for variable in package.config.get("env", ())]
            if "resources" in package.config:
                container["resources"] = package.config["resources"]
        if package.config.get("tolerations"):
            pod["tolerations"] = [*pod.get("tolerations", ()), *package.config["tolerations"]]
        if each["name"] in hashes:
            annotations["olmcahash"] = hashes[each["name"]]
            _mount(pod, f"{each['name']}-service-cert")
        for container in pod["containers"]:
            container["env"].append({"name": "OPERATOR_CONDITION_NAME", "value": package.version_name})
        template["metadata"]["annotations"] = annotations
        spec["revisionHistoryLimit"] = 1
        labels = {**each.get("label", {}), **package.owner_labels, "olm.deployment-spec-hash": "5kq9z"}
        body = _object(
            "apps/v1", "Deployment", each["name"], labels=labels, ownerReferences=package.owner(uid), spec=spec
        )
        olm.create("apps/v1", "deployments", package.namespace, body)


def _mount(pod: Object, secret: str) -> None:
    """Both volumes of a certificate, in the order of OLM v0."""
    for name, path, files in (
        ("apiservice-cert", "/apiserver.local.config/certificates", ("apiserver.crt", "apiserver.key")),
        ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", ("tls.crt", "tls.key")),
    ):
        chosen = [{"key": key, "path": file} for key, file in zip(("tls.crt", "tls.key"), files, strict=True)]
        pod.setdefault("volumes", []).append({"name": name, "secret": {"secretName": secret, "items": chosen}})
        for container in pod["containers"]:
            container.setdefault("volumeMounts", []).append({"name": name, "mountPath": path})


def _create_condition(olm: OlmV0, package: Package, uid: str) -> None:
    """The OperatorCondition, and the Role and RoleBinding that let the operator write it."""
    v2, rbac, namespace, name = f"{GROUP}/v2", "rbac.authorization.k8s.io/v1", package.namespace, package.version_name
    owner = [{**package.owner(uid)[0], "controller": True, "blockOwnerDeletion": True}]
    install_spec = package.version["spec"]["install"]["spec"]
    accounts = sorted({each["serviceAccountName"] for each in install_spec.get("clusterPermissions", ())})
    spec = {"deployments": [each["name"] for each in _deployments(package)], "serviceAccounts": accounts}
    body = _object(v2, "OperatorCondition", name, ownerReferences=owner, labels=package.component, spec=spec)
    made = olm.create(v2, "operatorconditions", namespace, body)
    reference = {"apiVersion": v2, "kind": "OperatorCondition", "name": name, "uid": made["metadata"]["uid"]}
    references = [{**reference, "controller": False, "blockOwnerDeletion": False}]
    verbs = {"operatorconditions": ["get", "update", "patch"], "operatorconditions/status": ["get", "update", "patch"]}
    rules = [
        {"apiGroups": [GROUP], "resources": [resource], "verbs": given, "resourceNames": [name]}
        for resource, given in verbs.items()
    ]
    olm.create(rbac, "roles", namespace, _object(rbac, "Role", name, ownerReferences=references, rules=rules))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": namespace} for account in accounts]
    binding = _object(rbac, "RoleBinding", name, ownerReferences=references, subjects=subjects, roleRef=role)
    olm.create(rbac, "rolebindings", namespace, binding)
