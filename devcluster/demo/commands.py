"""Commands of kubectl that a demo runs and shows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from devcluster.cluster import Cluster
from devcluster.demo.printer import Printer
from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY


def apply_file(cluster: Cluster, printer: Printer, path: Path) -> None:
    """Apply a file of the repository."""
    printer.log(f"$ kubectl apply -f {path.relative_to(REPOSITORY)}")
    printer.indented(cluster.kubectl("apply", "-f", str(path)))


def apply(cluster: Cluster, printer: Printer, found: Mapping[str, Any]) -> None:
    """Show an object and apply it; a refusal is shown too."""
    printer.log("$ kubectl apply -f -")
    printer.indented(yaml.safe_dump(dict(found), sort_keys=False))
    try:
        printer.indented(cluster.kubectl("apply", "-f", "-", input=json.dumps(found)))
    except DevclusterError as error:
        printer.indented(str(error).partition(": ")[2])


def show(cluster: Cluster, printer: Printer, *arguments: str) -> None:
    """Run kubectl and show what it prints."""
    printer.log(f"$ kubectl {' '.join(arguments)}")
    printer.indented(cluster.kubectl(*arguments))
