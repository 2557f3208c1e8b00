"""The command behind `make demo`: sets everything up, tells one of the two stories, and stays until Ctrl-C."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.demo import full_catalog, sample_catalog
from devcluster.demo.printer import Printer
from devcluster.errors import DevclusterError
from devcluster.suite import Suite

_NAME = "demo"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code of the story: 0 when it came to its end, 1 with a sentence when not."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.demo", description=main.__doc__)
    parser.add_argument("--once", action="store_true", help="end with the story instead of staying until Ctrl-C")
    parser.add_argument(
        "--catalog",
        type=Path,
        help="tell the story of every package of this folder: catalog/ and bundles/, or catalog.tar.xz and bundles.tar.xz",
    )
    parser.add_argument("--name", default=_NAME, help="name of the cluster, to tell it from others (default: demo)")
    chosen = parser.parse_args(arguments)
    printer = Printer()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(chosen, printer)
    except DevclusterError as error:
        printer.log("The story ends here:")
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        printer.plain("\nStopped; nothing is left behind.")
        return 130


def _run(chosen: argparse.Namespace, printer: Printer) -> int:
    if chosen.catalog is not None:
        # Before anything is started: a folder that holds no catalog is the likeliest mistake.
        full_catalog.open_content(chosen.catalog)
    with start(ClusterOptions.from_environment(chosen.name), printer.log) as cluster:
        printer.log(f"Kubernetes {cluster.server_version()} is ready, and a registry at {cluster.registry}")
        if cluster.is_managed:
            printer.log("All of it is real but the nodes, which only pretend to run pods")
        with Suite(cluster) as suite:
            suite.install()
            printer.log("Applied config/crd and config/rbac")
            suite.start()
            printer.log("catalogd, rukpak and operator-controller are ready, each under its own ServiceAccount")
            printer.log("Their logs, until the demo ends:")
            printer.indented(log_places(suite))
            try:
                code = _tell(chosen, cluster, suite, printer)
            except DevclusterError:
                _show_logs(suite, printer)
                raise
            if not chosen.once:
                _stay(chosen, cluster, suite, printer)
    return code


def _tell(chosen: argparse.Namespace, cluster: Cluster, suite: Suite, printer: Printer) -> int:
    if chosen.catalog is not None:
        return full_catalog.run(cluster, suite, printer, chosen.catalog)
    code = sample_catalog.run(cluster, printer)
    sample_catalog.show_end(cluster, printer)
    return code


def log_places(suite: Suite) -> str:
    """The log file of each controller, one a line."""
    return "\n".join(str(suite.log(name)) for name in suite.addresses)


def _stay(chosen: argparse.Namespace, cluster: Cluster, suite: Suite, printer: Printer) -> None:
    printer.plain()
    printer.plain("The cluster stays until Ctrl-C. In another shell, in this folder:")
    printer.plain()
    printer.indented(f'eval "$(.venv/bin/python -m devcluster env --name {chosen.name})"')
    printer.indented(sample_catalog.TRY_NEXT if chosen.catalog is None else full_catalog.TRY_NEXT)
    printer.indented(f"tail -f {suite.folder}/*.log   # what the controllers do, and why")
    try:
        cluster.wait()
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
