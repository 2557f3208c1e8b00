"""What one e2e test does with the cluster: publish catalogs, apply objects, wait for conditions, and delete everything."""

import http.client
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.errors import DevclusterError
from devcluster.images import Catalog, Content, Pushed, Registry
from devcluster.suite import Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, CATALOGS, NAMESPACES, OPERATORS, PACKAGES, Object, Watch, is_true

Answer = TypeVar("Answer")

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTER_CATALOGS = "/apis/olm.operatorframework.io/v1/clustercatalogs"
CLUSTER_EXTENSIONS = "/apis/olm.operatorframework.io/v1/clusterextensions"
POLL = "1s"

_PATHS = {
    "ClusterExtension": CLUSTER_EXTENSIONS,
    "Operator": OPERATORS,
    "ClusterCatalog": CLUSTER_CATALOGS,
    "Catalog": CATALOGS,
    "bundledeployment": BUNDLE_DEPLOYMENTS,
    "crd": CRDS,
    "namespace": NAMESPACES,
}
"""The paths of the kinds that tests ask for most: requests to them take no process of kubectl."""


class ClusterStage:
    """The objects and images of one test. `name` is their prefix, `host` that of the references of its images."""

    def __init__(self, cluster: Cluster, name: str, host: str = "") -> None:
        """Changes nothing yet. `host` is by default the cluster's registry."""
        self.cluster = cluster
        self.name = name
        self._host = host or cluster.registry
        self._watches: dict[str, Watch] = {}
        self._applied: list[tuple[str, str]] = []

    def repository(self, name: str = "") -> Catalog:
        """The catalog image of this test, to push to."""
        return Catalog(Registry(self.cluster.registry), f"catalogs/{self.name}{name}:latest", self._host)

    def publish(self, content: Content, packages: Collection[str], without: Collection[str] = ()) -> Pushed:
        """Push these packages of a catalog, without some bundles, under this test's tag; a second call moves the tag."""
        return self.repository().push(content, packages=packages, without=without)

    def catalog(self, reference: str, name: str = "", poll_interval: str = POLL) -> str:
        """Apply a Catalog and return its name. A reference by digest is not polled."""
        made = catalog_object(name or self.name, reference, poll_interval)
        if "@" in reference:
            del made["spec"]["source"]["image"]["pollInterval"]
        return self.apply(made)

    def ready_catalog(self, reference: str, name: str = "", seconds: float = 60.0) -> str:
        """Apply a Catalog and return its name when it is Ready, within these seconds."""
        made = self.catalog(reference, name)
        self.until(CATALOGS, f"Catalog {made} is Ready", lambda objects: is_true(objects.get(made), "Ready"), seconds)
        return made

    def operator(self, package: str, name: str = "", **spec: Any) -> str:
        """Apply an Operator and return its name; `spec` are further fields of its spec."""
        return self.apply(operator_object(package, name or self.name, **spec))

    def apply(self, object_: Object) -> str:
        """Apply a Catalog or an Operator, ours or of OLM v1, which the end of the test deletes; returns its name."""
        name = str(object_["metadata"]["name"])
        self.cluster.api.apply(_PATHS[object_["kind"]], object_)
        self.also_delete(object_["kind"], name)
        return name

    def also_delete(self, kind: str, name: str) -> None:
        """The end of the test deletes this object too, which a controller has created."""
        if (kind, name) not in self._applied:
            self._applied.append((kind, name))

    def patch_operator(self, name: str, spec: Mapping[str, Any]) -> None:
        """Change the spec of an Operator."""
        self._patch("Operator", name, spec)

    def patch_catalog(self, name: str, spec: Mapping[str, Any]) -> None:
        """Change the spec of a Catalog."""
        self._patch("Catalog", name, spec)

    def _patch(self, kind: str, name: str, spec: Mapping[str, Any]) -> None:
        self.cluster.api.call("PATCH", f"{_PATHS[kind]}/{name}", {"spec": dict(spec)}, MERGE)

    def get(self, kind: str, name: str) -> Object:
        """The object as it is."""
        if kind in _PATHS:
            found: Object = self.cluster.api.call("GET", f"{_PATHS[kind]}/{name}")
            return found
        other: Object = json.loads(self.cluster.kubectl("get", kind, name, "-o", "json"))
        return other

    def watch(self, path: str) -> Watch:
        """The watch of this test on a path."""
        if path not in self._watches:
            self._watches[path] = Watch(self.cluster, path)
        return self._watches[path]

    def until(
        self,
        path: str,
        what: str,
        answer: Callable[[Mapping[str, Object]], Answer | None],
        seconds: float = 60.0,
    ) -> Answer:
        """Take events of a path until `answer` returns a true value."""
        return self.watch(path).until(what, answer, seconds)

    def operator_when(self, name: str, what: str, holds: Callable[[Object], bool], seconds: float = 60.0) -> Object:
        """Wait until the Operator fulfils this for its current generation; returns it."""

        def found(objects: Mapping[str, Object]) -> Object | None:
            object_ = objects.get(name)
            return object_ if object_ is not None and is_observed(object_) and holds(object_) else None

        return self.until(OPERATORS, f"Operator {name}: {what}", found, seconds)

    def catalog_when(self, name: str, what: str, holds: Callable[[Object], bool], seconds: float = 60.0) -> Object:
        """Wait until the Catalog fulfils this for its current generation; returns it."""

        def found(objects: Mapping[str, Object]) -> Object | None:
            object_ = objects.get(name)
            return object_ if object_ is not None and is_observed(object_) and holds(object_) else None

        return self.until(CATALOGS, f"Catalog {name}: {what}", found, seconds)

    def ready_operator(self, name: str, version: str, seconds: float = 60.0) -> Object:
        """Wait until that version is installed and the Operator is Ready; returns it."""
        return self.operator_when(
            name, f"Ready with {version}", lambda o: is_true(o, "Ready") and installed_version(o) == version, seconds
        )

    def delete(self, kind: str, name: str) -> None:
        """Delete the object, and wait until it is gone."""
        self.request_deletion(kind, name)
        self._applied = [entry for entry in self._applied if entry != (kind, name)]
        self._until_gone(kind, {name}, 90)

    def request_deletion(self, kind: str, name: str) -> None:
        """Delete the object, without waiting until it is gone."""
        self.cluster.api.call("DELETE", f"{_PATHS[kind]}/{name}")

    def _until_gone(self, kind: str, names: Collection[str], seconds: float) -> None:
        what = f"{kind} {', '.join(sorted(names))} is deleted"
        self.until(_PATHS[kind], what, lambda objects: not objects.keys() & set(names), seconds)

    def exists(self, *names: str) -> bool:
        """Whether there is this object ("namespace", "x")."""
        kind, name = names[:2]
        if kind in _PATHS and len(names) == 2:
            status, _ = self.cluster.api.request("GET", f"{_PATHS[kind]}/{name}")
            assert status in (http.client.OK, http.client.NOT_FOUND)
            return status == http.client.OK
        try:
            self.cluster.kubectl("get", *names)
        except DevclusterError as error:
            if "NotFound" not in str(error):
                raise
            return False
        return True

    def close(self) -> None:
        """Delete what was applied, what is installed first, and wait until nothing of it is left."""
        try:
            for kind in ("ClusterExtension", "Operator", "ClusterCatalog", "Catalog"):
                names = {name for applied, name in self._applied if applied == kind}
                for name in names:
                    self.cluster.api.request("DELETE", f"{_PATHS[kind]}/{name}")
                if names:
                    self._until_gone(kind, names, 120)
            operators = {name for kind, name in self._applied if kind == "Operator"}
            catalogs = {name for kind, name in self._applied if kind == "Catalog"}
            self.until(BUNDLE_DEPLOYMENTS, "the BundleDeployments are gone", lambda o: not operators & o.keys(), 120)
            self.until(PACKAGES, "the Packages are gone", lambda o: not _of_catalogs(o, catalogs), 120)
        finally:
            for watch in self._watches.values():
                watch.close()


class Stage(ClusterStage):
    """A stage on which the controllers are processes of this machine."""

    def __init__(self, cluster: Cluster, suite: Suite, name: str) -> None:
        """Changes nothing yet."""
        super().__init__(cluster, name)
        self.suite = suite


def is_observed(object_: Object) -> bool:
    """Whether the status is of the current generation."""
    status = object_.get("status") or {}
    return bool(status.get("observedGeneration") == object_["metadata"]["generation"])


def installed_version(object_: Object) -> str | None:
    """The version in status.installed of an Operator."""
    installed = (object_.get("status") or {}).get("installed") or {}
    version = installed.get("version")
    return None if version is None else str(version)


def _of_catalogs(packages: Mapping[str, Object], catalogs: set[str]) -> list[str]:
    return [name for name, package in packages.items() if package["spec"]["catalog"]["name"] in catalogs]
