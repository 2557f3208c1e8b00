"""What one scenario of OLM v1 does with the cluster: it publishes ClusterCatalogs, applies ClusterExtensions, and waits for their
conditions."""

from __future__ import annotations

import http.client
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any

import yaml

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.images import Catalog, Registry, labels_of
from devcluster.suite import Suite
from devcluster.watch import NAMESPACES, Object, condition
from tests.conditions import triple
from tests.e2e.packages import catalog_file
from tests.e2e.stage import CLUSTER_CATALOGS, CLUSTER_EXTENSIONS, Stage
from tests.e2e.v1.bundles import (
    PLAIN,
    Contents,
    Entry,
    bundle,
    bundle_name,
    installed_objects,
    package_blobs,
    versions,
)

NAME_LABEL = "olm.operatorframework.io/metadata.name"
_API = "olm.operatorframework.io/v1"
_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_ROLE_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
_RETRY_SECONDS = 0.2


class Scene(Stage):
    """A stage for objects of OLM v1. Its name is that of its ClusterExtension, its package and its namespace."""

    def __init__(self, cluster: Cluster, suite: Suite, name: str) -> None:
        """Changes nothing yet."""
        super().__init__(cluster, suite, name)
        self.package = name
        self.namespace = f"{name}-ns"
        self.catalogs: dict[str, str] = {}
        """The names of the ClusterCatalogs, by the names that the scenario has for them."""
        self._others: list[str] = []

    @property
    def objects(self) -> dict[str, str]:
        """Paths of the API, by kind, of what is installed."""
        return installed_objects(self.package, self.namespace)

    def create_namespace(self, name: str = "") -> str:
        """Create a namespace, by default the one to install into, and return its name."""
        name = name or self.namespace
        self.put(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def put(self, path: str, object_: Object) -> Object:
        """Apply an object of any kind, which the end of the scenario deletes; returns it."""
        self._others.append(f"{path}/{object_['metadata']['name']}")
        applied: Object = self.cluster.api.apply(path, object_)
        return applied

    def push(self, entries: Sequence[Entry], name: str = "test", tag: str = "v1", host: str = "") -> str:
        """Push a catalog of the package with these entries, and their bundles; return its reference. `host` is that of the
        bundles' references, the cluster's registry by default."""
        registry = Registry(self.cluster.registry)
        images: dict[str, str] = {}
        for version in versions(entries):
            (entry,) = (each for each in entries if each.version == version and each.contents is not None)
            images[version] = images.get(entry.image_of) or self._push_bundle(
                registry, version, entry.contents or PLAIN, host
            )
        made = Catalog(registry, f"catalogs/{name}-{self.name}:{tag}", self.cluster.registry)
        made.push_files(catalog_file(package_blobs(self.package, entries, images)))
        return made.reference

    def _push_bundle(self, registry: Registry, version: str, contents: Contents, host: str) -> str:
        files = bundle(self.package, version, contents)
        repository, tag = f"bundles/{self.package}", f"v{version}"
        registry.push(repository, tag, files, labels_of(files["metadata/annotations.yaml"]))
        return f"{host or self.cluster.registry}/{repository}:{tag}"

    def cluster_catalog(self, entries: Sequence[Entry], name: str = "test", host: str = "", **labels: str) -> str:
        """Push a catalog and apply a ClusterCatalog of it; return its name when it serves."""
        self.catalogs[name] = f"{name}-{self.name}"
        self.refer(self.push(entries, name, host=host), name, **labels)
        return self.serving_catalog(name)

    def refer(self, reference: str, name: str = "test", **labels: str) -> None:
        """Have the ClusterCatalog refer to another image."""
        image = {"ref": reference, "pollIntervalMinutes": 1}
        metadata = {"name": self.catalogs[name], **({"labels": labels} if labels else {})}
        source = {"type": "Image", "image": image}
        self.apply(_object("ClusterCatalog", metadata, {"source": source}))

    def serving_catalog(self, name: str = "test", seconds: float = 60.0) -> str:
        """The name of the ClusterCatalog when it serves what it refers to now."""
        wanted = self.catalogs[name]

        def serves(objects: Mapping[str, Object]) -> bool:
            found = objects.get(wanted)
            is_current = found is not None and is_reconciled(found)
            succeeded = triple(found, "Progressing")[:2] == ("True", "Succeeded")
            return is_current and succeeded and triple(found, "Serving")[:2] == ("True", "Available")

        self.until(CLUSTER_CATALOGS, f"ClusterCatalog {wanted} serves", serves, seconds)
        return wanted

    def extension(
        self, *, version: str = "", config: Object | None = None, selector: Object | None = None, **spec: Any
    ) -> Object:
        """A ClusterExtension of the package from the catalog `test`. `config` is spec.config.inline; `spec` are further fields of
        its spec, and `catalog` of spec.source.catalog."""
        selected = selector if selector is not None else {"matchLabels": {NAME_LABEL: self.catalogs["test"]}}
        source = {"packageName": self.package, "selector": selected, **spec.pop("catalog", {})}
        source |= {"version": version} if version else {}
        configured = {"config": {"configType": "Inline", "inline": config}} if config is not None else {}
        catalog = {"sourceType": "Catalog", "catalog": source}
        return _object(
            "ClusterExtension",
            {"name": self.name},
            {"namespace": self.namespace, "source": catalog, **configured, **spec},
        )

    def install(self, **spec: Any) -> Object:
        """Apply a ClusterExtension, as extension() has it, and return it when it is rolled out and available."""
        self.apply(self.extension(**spec))
        return self.rolled_out()

    def change(self, spec: Mapping[str, Any]) -> None:
        """Merge fields into the spec of the ClusterExtension."""
        self.cluster.api.call("PATCH", f"{CLUSTER_EXTENSIONS}/{self.name}", {"spec": dict(spec)}, MERGE)

    def when(self, what: str, holds: Callable[[Object], bool], seconds: float = 60.0) -> Object:
        """Wait until the ClusterExtension fulfils this for its current generation; return it."""

        def found(objects: Mapping[str, Object]) -> Object | None:
            object_ = objects.get(self.name)
            return object_ if object_ is not None and is_reconciled(object_) and holds(object_) else None

        return self.until(CLUSTER_EXTENSIONS, f"ClusterExtension {self.name}: {what}", found, seconds)

    def rolled_out(self, version: str = "", seconds: float = 60.0) -> Object:
        """Return the ClusterExtension when what spec requests is applied and healthy, and that version is installed."""
        return self.when(f"rolled out {version}", lambda found: _is_rolled_out(found, version), seconds)

    def reports(self, type_: str, status: str, reason: str, seconds: float = 60.0) -> str:
        """Return the message of a condition of the ClusterExtension when it has this status and reason."""
        return triple(
            self.when(
                f"{type_} is {status}/{reason}", lambda found: triple(found, type_)[:2] == (status, reason), seconds
            ),
            type_,
        )[2]

    def read(self, path: str) -> Object | None:
        """The object at a path of the API; None if it does not exist."""
        status, found = self.cluster.api.request("GET", path)
        assert status in (http.client.OK, http.client.NOT_FOUND), (path, found)
        return found if status == http.client.OK else None

    def found(self, path: str, what: str, holds: Callable[[Object], object] = lambda found: True) -> Object:
        """Return the object at a path of the API when it exists and fulfils this."""
        collection, _, name = path.rpartition("/")

        def answer(objects: Mapping[str, Object]) -> Object | None:
            object_ = next((each for each in objects.values() if each["metadata"]["name"] == name), None)
            return object_ if object_ is not None and holds(object_) else None

        return self.until(collection, what, answer)

    def gone(self, path: str) -> None:
        """Return when there is no object at this path of the API."""
        collection, _, name = path.rpartition("/")
        self.until(
            collection,
            f"{path} is gone",
            lambda found: name not in {each["metadata"]["name"] for each in found.values()},
        )

    def remove(self, path: str) -> str:
        """Delete an object, and return the uid that it had."""
        uid = str(self.cluster.api.call("GET", path)["metadata"]["uid"])
        self.cluster.api.call("DELETE", path)
        return uid

    def restored(self, path: str, uid: str) -> Object:
        """Return the object at a path when it is another one than that of the uid."""
        return self.found(path, f"{path} is restored", lambda found: found["metadata"]["uid"] != uid)

    def kubectl_apply(self, object_: Object, *flags: str) -> subprocess.CompletedProcess[str]:
        """What `kubectl apply` does with the object, and what it writes."""
        if "--dry-run=server" not in flags:
            self.also_delete(object_["kind"], object_["metadata"]["name"])
        return self.cluster.finished_kubectl("apply", "--filename=-", *flags, input=yaml.safe_dump(object_))

    def close(self) -> None:
        """Delete what was applied, and wait until nothing of the suite's kinds is left."""
        try:
            super().close()
        finally:
            for path in reversed(self._others):
                self.cluster.api.request("DELETE", path)


class Team:
    """A group whose members may write ClusterExtensions that a policy permits."""

    def __init__(self, scene: Scene, group: str, expression: str, message: str) -> None:
        """Create the permissions and the policy, with this rule and the message of its denials."""
        self._scene = scene
        self._flags = ("--as=alice", f"--as-group={group}", "--as-group=system:authenticated")
        self._message = message
        name = f"editors-{scene.name}"
        verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
        rule = {"apiGroups": [_API.partition("/")[0]], "resources": ["clusterextensions"], "verbs": verbs}
        scene.put(_ROLES, _rbac("ClusterRole", name, rules=[rule]))
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
        scene.put(_ROLE_BINDINGS, _rbac("ClusterRoleBinding", name, roleRef=role, subjects=[subject]))
        rules = [
            {
                "apiGroups": rule["apiGroups"],
                "apiVersions": ["v1"],
                "resources": rule["resources"],
                "operations": ["CREATE", "UPDATE"],
            }
        ]
        matching = {"name": "members", "expression": f"request.userInfo.groups.exists(each, each == '{group}')"}
        policy = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [matching],
            "validations": [{"expression": expression, "message": message}],
        }
        scene.put(_POLICIES, _admission("ValidatingAdmissionPolicy", name, policy))
        binding = {"policyName": name, "validationActions": ["Deny"]}
        scene.put(_BINDINGS, _admission("ValidatingAdmissionPolicyBinding", name, binding))

    def is_denied(self, extension: Object, seconds: float = 30.0) -> None:
        """Return when the policy denies the object: no event says that the API server has read policy and permissions."""
        retried(lambda: self.dry_run(extension).stderr, lambda printed: self._message in printed, seconds)

    def dry_run(self, extension: Object) -> subprocess.CompletedProcess[str]:
        """What it would do."""
        return self.apply(extension, "--dry-run=server")

    def apply(self, extension: Object, *flags: str) -> subprocess.CompletedProcess[str]:
        """What `kubectl apply` does with it as a member of the group."""
        return self._scene.kubectl_apply(extension, *self._flags, *flags)


def retried(attempt: Callable[[], str], holds: Callable[[str], bool], seconds: float = 30.0) -> None:
    """Repeat an attempt that no event announces until what it prints fulfils this."""
    deadline = time.monotonic() + seconds
    while not holds(printed := attempt()):
        if time.monotonic() > deadline:
            raise DevclusterError(f"After {seconds:.0f} seconds it still prints: {printed}")
        time.sleep(_RETRY_SECONDS)


def is_reconciled(object_: Object) -> bool:
    """Whether Progressing is of the current generation."""
    return bool(condition(object_, "Progressing").get("observedGeneration") == object_["metadata"]["generation"])


def installed_bundle(object_: Object) -> tuple[str, str] | None:
    """The name and the version in status.install of a ClusterExtension."""
    bundle_ = ((object_.get("status") or {}).get("install") or {}).get("bundle")
    return None if bundle_ is None else (str(bundle_["name"]), str(bundle_["version"]))


def without(object_: Object, *fields: str) -> Object:
    """The object without these fields of its spec."""
    changed = deepcopy(object_)
    for each in fields:
        del changed["spec"][each]
    return changed


def _is_rolled_out(found: Object, version: str) -> bool:
    states: Collection[tuple[str, str, str]] = (
        ("Progressing", "True", "Succeeded"),
        ("Installed", "True", "Succeeded"),
        ("Available", "True", "ProbesSucceeded"),
    )
    package = found["spec"]["source"]["catalog"]["packageName"]
    is_installed = not version or installed_bundle(found) == (bundle_name(package, version), version)
    return is_installed and all(triple(found, type_)[:2] == (status, reason) for type_, status, reason in states)


def _object(kind: str, metadata: Object, spec: Object) -> Object:
    return {"apiVersion": _API, "kind": kind, "metadata": metadata, "spec": spec}


def _rbac(kind: str, name: str, **fields: Any) -> Object:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **fields}


def _admission(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
