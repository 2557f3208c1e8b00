"""The demo of a real node: the suite as pods of its image, and operators that are real pods.

The operators are those of devcluster.operators: one reconciles a custom resource, one has webhooks, one serves an aggregated API.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.demo.commands import apply, show
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.demo.printer import Printer
from devcluster.images import Catalog, Registry
from devcluster.operators.content import write_content
from devcluster.operators.images import push_images
from devcluster.operators.manifests import NEW, OLD
from devcluster.pod_suite import PodSuite
from devcluster.suite import NAMESPACE
from devcluster.watch import CATALOGS, OPERATORS, Event, Object, Watch, is_true
from olmctl.authoring.images.layout import read as read_image
from release import image

_HOST = "registry.example.com"
_CATALOG = "operators"
_GREETINGS = "/apis/greeter.example.com/v1alpha1/greetings"
_SECONDS = 240.0

TRY_NEXT = f"""\
kubectl get pods --all-namespaces
kubectl logs --namespace {NAMESPACE} deployment/rukpak
kubectl exec --namespace {NAMESPACE} deployment/rukpak -- olm --version
olm list
kubectl delete operator reservations                    # with all its objects
"""


def run(name: str, printer: Printer, stay: Callable[[Cluster], None]) -> int:
    """Start a cluster and the suite, run the demo, call `stay`. Returns the exit code. Raises DevclusterError."""
    with (
        start(ClusterOptions(name, real_node=True), printer.log) as cluster,
        tempfile.TemporaryDirectory() as directory,
    ):
        printer.log(f"Kubernetes {cluster.server_version()} is ready, with a node that runs containers")
        built = image.build(Path(directory) / "image", printer.log)
        printer.log("Built the image of the suite")
        suite = PodSuite(cluster)
        suite.install(built.archive)
        printer.log("Imported it into the node, and applied config/crd and config/default")
        suite.wait_until_available()
        show(cluster, printer, "get", "pods", f"--namespace={NAMESPACE}")
        _publish(cluster, printer, built.archive, Path(directory) / "content")
        with Watch(cluster, CATALOGS) as catalogs, Watch(cluster, OPERATORS) as operators:
            apply(cluster, printer, catalog_object(_CATALOG, f"{_HOST}/catalogs/{_CATALOG}:latest"))
            _await(catalogs, printer, "Catalog", _CATALOG, lambda found: is_true(found, "Ready"))
            _greeter(cluster, printer, operators)
            _reservations(cluster, printer, operators)
            _library(cluster, printer, operators)
        show(cluster, printer, "get", "operators")
        show(cluster, printer, "get", "pods", "--all-namespaces")
        stay(cluster)
    return 0


def _publish(cluster: Cluster, printer: Printer, archive: Path, directory: Path) -> None:
    registry = Registry(cluster.registry)
    content = write_content(directory, push_images(registry, _HOST, read_image(archive)))
    pushed = Catalog(registry, f"catalogs/{_CATALOG}:latest", _HOST).push(content)
    printer.log(f"Pushed the images of the operators, {len(pushed.images)} bundles and {pushed.reference}")


def _greeter(cluster: Cluster, printer: Printer, operators: Watch) -> None:
    """An operator reconciles a custom resource, and is upgraded."""
    _install(cluster, printer, operators, "greeter", OLD)
    show(cluster, printer, "get", "pods", "--namespace=greeter-system")
    with Watch(cluster, _GREETINGS) as greetings:
        apply(cluster, printer, _custom_resource("greeter.example.com/v1alpha1", "Greeting", {"name": "world"}))
        for version in (OLD, NEW):
            if version == NEW:
                _install(cluster, printer, operators, "greeter", version)
            greetings.until(
                f"version {version} greets",
                lambda objects, version=version: (  # type: ignore[misc]
                    (objects.get("default/demo", {}).get("status") or {}).get("greetedBy") == version
                ),
                _SECONDS,
            )
            printer.log(f"The pod of version {version} has reconciled it:")
            show(cluster, printer, "get", "greeting", "demo", "--output=jsonpath={.status}")
    show(cluster, printer, "get", "configmap", "demo-greeting", "--output=jsonpath={.data}")


def _reservations(cluster: Cluster, printer: Printer, operators: Watch) -> None:
    """Webhooks refuse, default and convert."""
    _install(cluster, printer, operators, "reservations", NEW)
    guest = {"givenName": "Ada", "familyName": "Lovelace"}
    for nights in (100, 3):
        spec = {"guest": guest, "nights": nights}
        apply(cluster, printer, _custom_resource("reservations.example.com/v2", "Reservation", spec))
    show(cluster, printer, "get", "reservations.v2.reservations.example.com", "demo", "--output=jsonpath={.spec}")
    show(cluster, printer, "get", "reservations.v1.reservations.example.com", "demo", "--output=jsonpath={.spec}")


def _library(cluster: Cluster, printer: Printer, operators: Watch) -> None:
    """An aggregated API."""
    _install(cluster, printer, operators, "library", OLD)
    show(cluster, printer, "get", "apiservice", "v1alpha1.library.example.com")
    book = _custom_resource("library.example.com/v1alpha1", "Book", {"title": "Notes"})
    path = "/apis/library.example.com/v1alpha1/namespaces/default/books"
    printer.log(f"$ kubectl create --raw {path} -f -")
    printer.indented(cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(book)))
    show(cluster, printer, "get", "--raw", path)


def _install(cluster: Cluster, printer: Printer, operators: Watch, package: str, version: str) -> None:
    def is_installed(found: Object | None) -> bool:
        installed = ((found or {}).get("status") or {}).get("installed") or {}
        return is_true(found, "Ready") and installed.get("version") == version

    apply(cluster, printer, operator_object(package, version=version))
    _await(operators, printer, "Operator", package, is_installed)


def _await(watch: Watch, printer: Printer, kind: str, name: str, holds: Callable[[Object | None], bool]) -> None:
    def changes(event: Event) -> None:
        if event.name == name:
            printer.condition_changes(kind, event)

    watch.until(f"the {kind} {name} is Ready", lambda objects: holds(objects.get(name)), _SECONDS, changes)


def _custom_resource(api_version: str, kind: str, spec: dict[str, Any]) -> Object:
    metadata = {"name": "demo", "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
