"""The command of `make demo`: starts a cluster and the suite, runs one of the two demos, and waits for Ctrl-C."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.demo import full_catalog, real_operators, sample_catalog
from devcluster.demo.printer import Printer
from devcluster.errors import DevclusterError
from devcluster.services import Services
from devcluster.suite import Suite

_NAME = "demo"
_WATCH_SECONDS = 2.0
"""Seconds between two looks at whether the controllers run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.demo", description=main.__doc__)
    parser.add_argument("--once", action="store_true", help="end after the demo instead of waiting for Ctrl-C")
    parser.add_argument(
        "--catalog",
        type=Path,
        help="install every package of this directory: catalog/ and bundles/, or catalog.tar.xz and bundles.tar.xz",
    )
    parser.add_argument(
        "--node",
        choices=("kwok", "real"),
        default="kwok",
        help="real: run the suite and operators as pods, on a node that runs containers (as root)",
    )
    parser.add_argument("--name", default=_NAME, help="name of the cluster (default: demo)")
    chosen = parser.parse_args(arguments)
    printer = Printer()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(chosen, printer)
    except DevclusterError as error:
        printer.log("The demo failed:")
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        printer.plain("\nStopped; the cluster is removed.")
        return 130


def _run(chosen: argparse.Namespace, printer: Printer) -> int:
    if chosen.node == "real":
        if chosen.catalog is not None:
            raise DevclusterError(
                "The images of a catalog's operators do not exist here: leave out --catalog or --node."
            )
        return real_operators.run(chosen.name, printer, lambda cluster: _stay_with_pods(chosen, cluster, printer))
    if chosen.catalog is not None:
        # Checked before anything is started: a directory without a catalog is the most likely mistake.
        full_catalog.open_content(chosen.catalog)
    with start(ClusterOptions.from_environment(chosen.name), printer.log) as cluster:
        printer.log(f"Kubernetes {cluster.server_version()} is ready, and a registry at {cluster.registry}")
        if cluster.is_managed:
            printer.log("Its components are real, except the nodes: they only simulate pods")
        with Suite(cluster, forwards_ports=True) as suite:
            suite.install()
            printer.log("Applied config/crd and config/rbac")
            suite.start()
            printer.log("catalogd, rukpak and operator-controller are ready, each under its own ServiceAccount")
            printer.log("Their logs, until the demo ends:")
            printer.indented(log_places(suite))
            try:
                code = _run_demo(chosen, cluster, suite, printer)
            except DevclusterError:
                _show_logs(suite, printer)
                raise
            if not chosen.once:
                _stay(chosen, cluster, suite, printer)
    return code


def _run_demo(chosen: argparse.Namespace, cluster: Cluster, suite: Suite, printer: Printer) -> int:
    if chosen.catalog is not None:
        return full_catalog.run(cluster, suite, printer, chosen.catalog)
    code = sample_catalog.run(cluster, printer)
    sample_catalog.show_end(cluster, printer)
    return code


def log_places(suite: Suite) -> str:
    """The log file of each controller, one per line."""
    return "\n".join(str(suite.log(name)) for name in suite.addresses)


def _stay(chosen: argparse.Namespace, cluster: Cluster, suite: Suite, printer: Printer) -> None:
    text = sample_catalog.TRY_NEXT if chosen.catalog is None else full_catalog.TRY_NEXT
    commands = f"{text}tail -f {suite.directory}/*.log   # what the controllers do, and why"
    _wait(chosen, cluster, printer, commands, lambda: keep_running(suite, tuple(suite.addresses), suite.start, printer))


def _stay_with_pods(chosen: argparse.Namespace, cluster: Cluster, printer: Printer) -> None:
    if not chosen.once:
        _wait(chosen, cluster, printer, real_operators.TRY_NEXT)


def keep_running(suite: Services, names: Sequence[str], start: Callable[[str], None], printer: Printer) -> None:
    """Start each of the controllers again that has ended, as a kubelet would, and say so."""
    for name in names:
        if not suite.is_running(name):
            log = suite.log(name)
            printer.log(f"{name} has ended with exit code {suite.exit_code(name)}, and is started again: see {log}")
            try:
                start(name)
            except DevclusterError as error:
                printer.log(str(error).partition("\n")[0])


def _wait(
    chosen: argparse.Namespace,
    cluster: Cluster,
    printer: Printer,
    commands: str,
    watch: Callable[[], None] = lambda: None,
) -> None:
    printer.plain()
    printer.plain("The cluster runs until Ctrl-C. In another shell, in this directory:")
    printer.plain()
    printer.indented(f'eval "$(.venv/bin/python -m devcluster env --name {chosen.name})"')
    printer.indented(commands)
    try:
        while not cluster.wait(_WATCH_SECONDS):
            watch()
    except KeyboardInterrupt:
        printer.plain("\nStopping.")


def _show_logs(suite: Suite, printer: Printer) -> None:
    for name in suite.addresses:
        printer.plain(f"The log of {name} ends:")
        printer.indented(suite.log_tail(name, 15))


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
