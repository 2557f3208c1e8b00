"""The demo of a full catalog: one Operator for every package of a directory, all at once."""

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster
from devcluster.corpus import open_corpus
from devcluster.demo.printer import Printer, shortened
from devcluster.errors import DevclusterError
from devcluster.images import Catalog, Content, Registry
from devcluster.processes import process_tree_cpu
from devcluster.suite import COMPONENTS, Suite
from devcluster.watch import CATALOGS, OPERATORS, Event, Object, Watch, condition, is_true

CATALOG_NAME = "catalog"

_IMAGE = "catalogs/catalog:latest"
_CATALOG_SECONDS = 300.0
_QUIET_SECONDS = 30.0
_LIMIT_SECONDS = 1800.0
_NAME_LIMIT = 45

TRY_NEXT = """\
kubectl get operators -o wide
kubectl get packages
kubectl get bundledeployments
kubectl get operator NAME -o yaml
kubectl delete operators --all
"""


@dataclass
class Outcome:
    """The outcome of the Operators. `requested` are their names in order, `refused` those that the API server refused with the
    reason, `seconds` the time from the first event of an Operator to its installation."""

    requested: list[str]
    refused: dict[str, str] = field(default_factory=dict)
    objects: Mapping[str, Object] = field(default_factory=dict)
    first_seen: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def record(self, event: Event) -> None:
        """Record the times of an event."""
        began = self.first_seen.setdefault(event.name, event.at)
        if event.name not in self.seconds and condition(event.object, "Installed")["status"] == "True":
            self.seconds[event.name] = event.at - began

    def having(self, type_: str) -> list[str]:
        """The names of those of which the condition is True."""
        return [name for name in self.requested if is_true(self.objects.get(name), type_)]

    def is_settled(self) -> bool:
        """Report whether all are Ready, Stalled or refused."""
        return all(
            name in self.refused or _is_settled(self.objects.get(name), "Ready", "Stalled") for name in self.requested
        )

    def reasons(self, type_: str = "Installed") -> dict[str, str]:
        """The reasons why the condition of the others is not True, by name: the messages of Ready."""
        having = set(self.having(type_))
        return {
            name: self.refused.get(name) or reason(self.objects.get(name))
            for name in self.requested
            if name not in having
        }


def run(cluster: Cluster, suite: Suite, printer: Printer, directory: Path) -> int:
    """Run the demo. Returns 0 if each Operator is installed or reports why not. Raises DevclusterError if a step fails."""
    content = open_content(directory)
    catalog = Catalog(Registry(cluster.registry), _IMAGE, cluster.registry)
    packages = content.packages()
    printer.log(f"{directory} contains {len(packages)} packages")
    pushed = catalog.push(
        content, report=lambda done, total: printer.progress(f"pushed {done} of {total} bundles", last=done == total)
    )
    serve(cluster, printer, pushed.reference)
    outcome = install_all(cluster, printer, packages)
    _conclude(printer, outcome, suite)
    return 0 if outcome.having("Installed") and all(outcome.reasons().values()) else 1


def open_content(directory: Path) -> Content:
    """The catalog and bundles of a directory with catalog/ and bundles/, or with archives of them."""
    opened = open_corpus(directory)
    return Content(opened / "catalog", opened / "bundles")


def serve(cluster: Cluster, printer: Printer, reference: str) -> None:
    """Apply the Catalog and wait until it is Ready."""
    with Watch(cluster, CATALOGS) as catalogs:
        cluster.kubectl("apply", "-f", "-", input=json.dumps(catalog_object(CATALOG_NAME, reference)))
        catalogs.until(
            f"the Catalog {CATALOG_NAME} is Ready",
            lambda objects: is_true(objects.get(CATALOG_NAME), "Ready"),
            _CATALOG_SECONDS,
            lambda event: printer.condition_changes("Catalog", event),
        )


def install_all(
    cluster: Cluster, printer: Printer, packages: list[str], quiet_seconds: float = _QUIET_SECONDS
) -> Outcome:
    """Apply Operators for all packages at once. Returns when all are settled, or nothing has changed for `quiet_seconds`."""
    outcome = Outcome([operator_name(package) for package in packages])
    with Watch(cluster, OPERATORS) as operators:
        outcome.objects = operators.objects
        printer.log(f"Applying {len(packages)} Operators")
        listed = {"apiVersion": "v1", "kind": "List", "items": [operator_object(package) for package in packages]}
        try:
            cluster.kubectl(
                "apply", "--server-side", "-f", "-", input=json.dumps(listed)
            )  # one may exist as a dependency
        except DevclusterError as error:
            outcome.refused = _refusals(str(error), outcome.requested)
        _settle(operators, outcome, printer, quiet_seconds)
        outcome.objects = dict(operators.objects)
    return outcome


def _settle(operators: Watch, outcome: Outcome, printer: Printer, quiet_seconds: float) -> None:
    deadline = time.monotonic() + _LIMIT_SECONDS
    quiet_since = time.monotonic()
    known: dict[str, str] = {}
    while not outcome.is_settled() and time.monotonic() < min(deadline, quiet_since + quiet_seconds):
        event = operators.next(1.0)
        if event is None:
            printer.progress(_progress(outcome))
            continue
        outcome.record(event)
        message = reason(event.object)
        if known.get(event.name) != message:
            known[event.name] = message
            quiet_since = time.monotonic()
        printer.progress(_progress(outcome))
    printer.progress(_progress(outcome), last=True)


def _progress(outcome: Outcome) -> str:
    stalled = sum(is_true(found, "Stalled") for found in outcome.objects.values()) + len(outcome.refused)
    return f"{len(outcome.having('Installed'))} of {len(outcome.requested)} Operators Installed, {stalled} failed"


def _conclude(printer: Printer, outcome: Outcome, suite: Suite) -> None:
    installed = outcome.having("Installed")
    printer.plain()
    printer.plain(f"{len(installed)} of {len(outcome.requested)} Operators Installed")
    for name, why in sorted(outcome.reasons().items()):
        printer.plain(f"  {name}: {shortened(why, 300)}")
    printer.plain()
    if outcome.seconds:
        taken = sorted(outcome.seconds.values())
        printer.plain(f"Time to Installed: median {statistics.median(taken):.1f} s, last {taken[-1]:.1f} s")
    for name in COMPONENTS:
        printer.plain(
            f"{name}: {suite.memory(name) / 2**20:.0f} MiB of memory, {process_tree_cpu(suite.pid(name)):.1f} s of CPU"
        )


def reason(object_: Object | None) -> str:
    """The message of an Operator's condition Ready, or why there is none."""
    if object_ is None:
        return "it does not exist"
    found = condition(object_, "Ready")
    return str(found["message"]) or "waiting for operator-controller"


def catalog_object(name: str, reference: str, poll_interval: str = "10m") -> Object:
    """A Catalog of type image."""
    image = {"ref": reference, "pollInterval": poll_interval}
    return {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": name},
        "spec": {"source": {"type": "image", "image": image}},
    }


def operator_object(package: str, name: str | None = None, **spec: Any) -> Object:
    """An Operator for a package; `spec` are further fields."""
    return {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": name or operator_name(package)},
        "spec": {"packageName": package, **spec},
    }


def operator_name(package: str) -> str:
    """The name of the Operator for a package: the package's name, cut to the limit of Operators."""
    return package[:_NAME_LIMIT].rstrip("-.")


def _is_settled(object_: Object | None, *types: str) -> bool:
    return any(is_true(object_, type_) for type_ in types)


def _refusals(output: str, requested: list[str]) -> dict[str, str]:
    """The errors of the API server by Operator, from the output of kubectl, which quotes the names."""
    found = {}
    for line in output.splitlines():
        for name in requested:
            if f'"{name}"' in line:
                found[name] = line.strip()
    return found
