"""The story of the sample catalog: a Catalog, two Operators, and an update when the publisher moves the tag."""

from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.demo.printer import Narrator
from devcluster.images import Catalog, Content, Registry
from devcluster.processes import REPOSITORY
from devcluster.watch import CATALOGS, OPERATORS, Watch, is_true

SAMPLES = REPOSITORY / "config" / "samples"

_HOST = "registry.example.com"
_IMAGE = "catalogs/samples:latest"
_OPERATORS = ("hello-operator", "message-board")
_PUBLISHED_LATER = ("hello-operator.v0.2.0", "hello-operator.v0.3.0")
_SECONDS = 120.0

TRY_NEXT = """\
kubectl get operators -o wide
kubectl get packages
kubectl describe operator hello-operator
kubectl patch operator hello-operator --type=merge -p '{"spec":{"channel":"candidate"}}'   # 0.3.0
kubectl apply -f config/samples/notebook-operator.yaml
kubectl apply -f config/samples/party-operator.yaml     # needs another operator: see its message
kubectl delete operator message-board                   # and everything it brought
"""


def tell(cluster: Cluster, narrator: Narrator) -> int:
    """Tell the story on a cluster where the suite runs; returns the exit code. Raises DevclusterError where it gets stuck."""
    catalog = Catalog(Registry(cluster.registry), _IMAGE, _HOST)
    content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
    first = catalog.push(content, without=_PUBLISHED_LATER)
    narrator.say(f"Pushed {len(first.images)} bundles and {first.reference}, for which {cluster.registry} answers")
    with Watch(cluster, CATALOGS) as catalogs, Watch(cluster, OPERATORS) as operators:
        _apply(cluster, narrator, SAMPLES / "sample-catalog.yaml")
        catalogs.until(
            "the Catalog samples is Ready",
            lambda objects: is_true(objects.get("samples"), "Ready"),
            _SECONDS,
            lambda event: narrator.transitions("Catalog", event),
        )
        _show(cluster, narrator, "get", "packages")
        for name in _OPERATORS:
            _apply(cluster, narrator, SAMPLES / f"{name}.yaml")
        _await_operators(operators, narrator, "0.1.0")
        _show(cluster, narrator, "get", "operators")
        second = catalog.push(content)
        narrator.say(f"The publisher moves the tag of {second.reference}: hello-operator 0.2.0 is out in its channel")
        _await_operators(operators, narrator, "0.2.0")
    return 0


def show_end(cluster: Cluster, narrator: Narrator) -> None:
    """Show what there is at the end."""
    _show(cluster, narrator, "get", "catalogs")
    _show(cluster, narrator, "get", "operators")
    _show(cluster, narrator, "get", "bundledeployments,bundles")
    _show(cluster, narrator, "get", "deployments,pods", "--all-namespaces")


def _await_operators(operators: Watch, narrator: Narrator, version: str) -> None:
    operators.until(
        f"hello-operator {version} and message-board are Ready",
        lambda objects: (
            all(is_true(objects.get(name), "Ready") for name in _OPERATORS)
            and objects["hello-operator"]["status"]["installed"]["version"] == version
        ),
        _SECONDS,
        lambda event: narrator.transitions("Operator", event),
    )
    narrator.say(f"hello-operator {version} and message-board are installed")


def _apply(cluster: Cluster, narrator: Narrator, path: Path) -> None:
    narrator.say(f"$ kubectl apply -f {path.relative_to(REPOSITORY)}")
    narrator.quote(cluster.kubectl("apply", "-f", str(path)))


def _show(cluster: Cluster, narrator: Narrator, *arguments: str) -> None:
    narrator.say(f"$ kubectl {' '.join(arguments)}")
    narrator.quote(cluster.kubectl(*arguments))
