"""The demo of the sample catalog: a Catalog, two Operators, an update when the tag moves, a dependency."""

from devcluster.cluster import Cluster
from devcluster.demo.commands import apply_file, show
from devcluster.demo.printer import Printer
from devcluster.images import Catalog, Content, Registry
from devcluster.processes import REPOSITORY
from devcluster.watch import CATALOGS, OPERATORS, Event, Watch, is_true

SAMPLES = REPOSITORY / "config" / "samples"

_HOST = "registry.example.com"
_IMAGE = "catalogs/samples:latest"
_OPERATORS = ("hello-operator", "message-board")
_DEPENDANT, _DEPENDENCY = "party-operator", "hello-operator"
_DEPENDENCY_LABEL = "operators.operatorframework.io/installed-for"
_RESOURCE = "operators.operators.operatorframework.io"
_PUBLISHED_LATER = ("hello-operator.v0.2.0", "hello-operator.v0.3.0")
_SECONDS = 120.0
_REMOVAL_SECONDS = 180.0
"""A dependency is deleted after a count of its custom resources, of which rukpak makes at most one per minute."""

TRY_NEXT = """\
kubectl get operators -o wide
kubectl get packages
kubectl apply -f config/samples/hello-operator.yaml
kubectl describe operator hello-operator
kubectl patch operator hello-operator --type=merge -p '{"spec":{"channel":"candidate"}}'   # 0.3.0
kubectl apply -f config/samples/notebook-operator.yaml
kubectl apply -f config/samples/party-operator.yaml     # requires hello-operator 0.2.0 or newer
kubectl delete operator message-board                   # with all its objects
"""


def run(cluster: Cluster, printer: Printer) -> int:
    """Run the demo on a cluster with the suite; returns the exit code. Raises DevclusterError if a step does not succeed."""
    catalog = Catalog(Registry(cluster.registry), _IMAGE, _HOST)
    content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
    first = catalog.push(content, without=_PUBLISHED_LATER)
    printer.log(f"Pushed {len(first.images)} bundles and {first.reference}, for which {cluster.registry} answers")
    with Watch(cluster, CATALOGS) as catalogs, Watch(cluster, OPERATORS) as operators:
        apply_file(cluster, printer, SAMPLES / "sample-catalog.yaml")
        catalogs.until(
            "the Catalog samples is Ready",
            lambda objects: is_true(objects.get("samples"), "Ready"),
            _SECONDS,
            lambda event: printer.condition_changes("Catalog", event),
        )
        show(cluster, printer, "get", "packages")
        for name in _OPERATORS:
            apply_file(cluster, printer, SAMPLES / f"{name}.yaml")
        _await_operators(operators, printer, "0.1.0")
        show(cluster, printer, "get", "operators")
        second = catalog.push(content)
        printer.log(f"The publisher moves the tag of {second.reference}: its channel now has hello-operator 0.2.0")
        _await_operators(operators, printer, "0.2.0")
        _show_dependency(cluster, printer, operators)
    return 0


def show_end(cluster: Cluster, printer: Printer) -> None:
    """Print the objects at the end."""
    show(cluster, printer, "get", "catalogs")
    show(cluster, printer, "get", "operators")
    show(cluster, printer, "get", "bundledeployments,bundles")
    show(cluster, printer, "get", "deployments,pods", "--all-namespaces")


def _show_dependency(cluster: Cluster, printer: Printer, operators: Watch) -> None:
    """party-operator brings hello-operator, which it requires, and takes it away again."""

    def changes(event: Event) -> None:
        printer.condition_changes("Operator", event)

    show(cluster, printer, "delete", _RESOURCE, _DEPENDENCY)
    operators.until(f"{_DEPENDENCY} is deleted", lambda objects: _DEPENDENCY not in objects, _SECONDS)
    apply_file(cluster, printer, SAMPLES / f"{_DEPENDANT}.yaml")
    operators.until(
        f"{_DEPENDANT} is Ready", lambda objects: is_true(objects.get(_DEPENDANT), "Ready"), _SECONDS, changes
    )
    printer.log(f"{_DEPENDANT} is installed, and before it {_DEPENDENCY}, which nobody had applied")
    show(cluster, printer, "get", "operators", "-l", _DEPENDENCY_LABEL)
    show(cluster, printer, "delete", _RESOURCE, _DEPENDANT)
    operators.until(f"{_DEPENDENCY} is deleted", lambda objects: _DEPENDENCY not in objects, _REMOVAL_SECONDS, changes)
    printer.log(f"Nothing requires {_DEPENDENCY} any more: it is deleted too")


def _await_operators(operators: Watch, printer: Printer, version: str) -> None:
    operators.until(
        f"hello-operator {version} and message-board are Ready",
        lambda objects: (
            all(is_true(objects.get(name), "Ready") for name in _OPERATORS)
            and objects["hello-operator"]["status"]["installed"]["version"] == version
        ),
        _SECONDS,
        lambda event: printer.condition_changes("Operator", event),
    )
    printer.log(f"hello-operator {version} and message-board are installed")
