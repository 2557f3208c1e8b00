"""Start, stop and inspect local clusters.

`python -m devcluster` with the commands up, down, status, env and build. The work is done by devcluster.cluster.
"""

import argparse
import os
import select
import shlex
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from devcluster import programs, state
from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.errors import DevclusterError
from devcluster.nodes import real_node
from devcluster.processes import process_tree_memory, proportional_memory

_DOWN_SECONDS = 30.0
# The prefix of each line of an error that a detached owner sends to its parent.
_ERROR_PREFIX = "! "


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0, or 1 with a message on standard error; exits with 2 for wrong usage."""
    chosen = _parser().parse_args(arguments)
    try:
        code: int = chosen.command(chosen)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m devcluster", description=__doc__.splitlines()[0] if __doc__ else None
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(command=run)
        if name != "build":
            added.add_argument("--name", default="default", help="name of the cluster (default: default)")
        return added

    up = command("up", _up, "start a cluster and run it until Ctrl-C")
    up.add_argument("--detach", action="store_true", help="return when the cluster is ready; `down` stops it")
    up.add_argument("--nodes", type=_count, default=1, help="number of simulated nodes (default: 1)")
    up.add_argument(
        "--kubeconfig", type=Path, help="use this existing cluster and start only a registry (also: OLM_KUBECONFIG)"
    )
    command("down", _down, "stop a cluster and remove its files and routes")
    command("status", _status, "show the running clusters, or the one of --name").set_defaults(name=None)
    command(
        "env",
        _environment,
        'print shell commands that set up kubectl for a cluster: eval "$(python -m devcluster env)"',
    )
    build = command("build", _build, "build the programs of a cluster, unless they are in the cache")
    for each in (up, build):
        each.add_argument(
            "--node",
            choices=("kwok", "real"),
            default="kwok",
            help="kwok: nodes that simulate pods; real: one node that runs them (as root, with packages of Debian)",
        )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("it must be a number greater than 0")
    return int(text)


def _up(chosen: argparse.Namespace) -> int:
    if chosen.node == "real" and (chosen.nodes != 1 or chosen.kubeconfig is not None):
        raise DevclusterError(
            "A cluster has one real node, and an existing cluster none: leave out --nodes and --kubeconfig."
        )
    environment = ClusterOptions.from_environment(chosen.name)
    options = replace(environment, nodes=chosen.nodes, real_node=chosen.node == "real")
    if chosen.kubeconfig is not None:
        options = replace(options, kubeconfig=chosen.kubeconfig.absolute(), registry=os.environ.get("REGISTRY"))
    if not chosen.detach:
        return _run(options, _print_line)
    if options.kubeconfig is None:
        _find_or_build(real=options.real_node)
    return _detached(options)


def _run(options: ClusterOptions, report: Callable[[str], None], ready: Callable[[], None] = lambda: None) -> int:
    """Start a cluster, print how to use it, and run it until a signal arrives or another process stops it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    with start(options, report) as cluster:
        _print_usage(cluster, time.time() - cluster.state.started, report)
        ready()
        try:
            cluster.wait()
        except KeyboardInterrupt:
            report(f"Stopping the cluster {options.name!r} ...")
    return 0


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _print_usage(cluster: Cluster, seconds: float, report: Callable[[str], None]) -> None:
    name = "" if cluster.state.name == "default" else f" --name {cluster.state.name}"
    report(f"Kubernetes {cluster.server_version()} is ready after {seconds:.1f} s.")
    report(f"  API server   {cluster.state.server or 'as in the kubeconfig'}")
    report(f"  kubeconfig   {cluster.kubeconfig}")
    report(f"  registry     {cluster.registry} (plain HTTP)")
    report(f"  logs         {cluster.directory / 'logs'}")
    report(f'Use it:        eval "$(python -m devcluster env{name})" && kubectl get nodes')
    report(f"Stop it:       python -m devcluster down{name}, or Ctrl-C where it was started in the foreground")


def _detached(options: ClusterOptions) -> int:
    """Start a child that owns the cluster; forward its output until the cluster is ready or has failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        os._exit(_detached_owner(options, writing))
    os.close(writing)
    with os.fdopen(reading) as lines:
        for line in lines:
            if line == "ready\n":
                return 0
            print(
                line.removeprefix(_ERROR_PREFIX),
                end="",
                file=sys.stderr if line.startswith(_ERROR_PREFIX) else sys.stdout,
                flush=True,
            )
    return 1


def _detached_owner(options: ClusterOptions, writing: int) -> int:
    """Run the child. It detaches from the terminal, and from the parent once the cluster is ready."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    # Such as the lock of a script, which would be held as long as the cluster runs.
    for first, end in ((3, writing), (writing + 1, os.sysconf("SC_OPEN_MAX"))):
        os.closerange(first, end)
    pipe = os.fdopen(writing, "w", buffering=1)

    def ready() -> None:
        pipe.write("ready\n")
        pipe.close()

    try:
        return _run(options, lambda line: None if pipe.closed else print(line, file=pipe), ready)
    except DevclusterError as error:
        print(textwrap.indent(str(error), _ERROR_PREFIX), file=pipe)
        return 1


def _down(chosen: argparse.Namespace) -> int:
    directory = state.run_directory(chosen.name)
    if not directory.is_dir():
        print(f"No cluster named {chosen.name!r} is running.")
        return 0
    known = state.load(directory)
    if known is None or not state.is_locked(directory):
        state.remove(directory)
        print(f"Removed the files and routes of the killed cluster {chosen.name!r}.")
        return 0
    _end(known.supervisor)
    print(f"Stopped the cluster {chosen.name!r}.")
    return 0


def _end(process: int) -> None:
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        if not select.select([descriptor], [], [], _DOWN_SECONDS)[0]:
            raise DevclusterError(
                f"The cluster's supervisor (process {process}) did not end in {_DOWN_SECONDS:.0f} seconds; kill it."
            )
    finally:
        os.close(descriptor)


def _status(chosen: argparse.Namespace) -> int:
    if chosen.name is None:
        directories = sorted(directory for directory in state.clusters_directory().glob("*") if directory.is_dir())
    else:
        directory = state.run_directory(chosen.name)
        if not directory.is_dir():
            raise DevclusterError(f"No cluster named {chosen.name!r} is running.")
        directories = [directory]
    rows: list[tuple[str, ...]] = [("CLUSTER", "STATE", "COMPONENT", "PROCESS", "MEMORY", "ADDRESS")]
    for directory in directories:
        rows += _rows(directory)
    if len(rows) == 1:
        print("No cluster is running; start one with `python -m devcluster up`.")
        return 0
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _rows(directory: Path) -> list[tuple[str, ...]]:
    known = state.load(directory)
    if known is None or not state.is_locked(directory):
        return [(directory.name, "killed", "", "", "", "`down` removes its files")]
    phase = "ready" if known.ready else "starting"
    addresses = {"kube-apiserver": known.server, "registry": known.registry}
    # A component of a real node is the child of a program that entered its namespaces.
    processes = [(name, process, process_tree_memory) for name, process in known.components.items()]
    processes.append(("supervisor", known.supervisor, proportional_memory))
    return [
        (
            directory.name,
            phase,
            name,
            str(process),
            f"{memory(process) / 2**20:.0f} MiB",
            addresses.get(name, ""),
        )
        for name, process, memory in processes
    ]


def _environment(chosen: argparse.Namespace) -> int:
    known = state.load(state.run_directory(chosen.name))
    if known is None or not known.ready:
        raise DevclusterError(
            f"No cluster named {chosen.name!r} is ready; start it with `python -m devcluster up --name {chosen.name}`."
        )
    directory = state.run_directory(chosen.name)
    variables = {
        "KUBECONFIG": known.kubeconfig,
        # kubectl caches the discovery of a server by its address, and addresses are reused.
        "KUBECACHEDIR": str(directory / "kubectl"),
        "REGISTRY": known.registry,
        # `olm` pushes to the registry of the cluster, whatever the name of an image, and reads from it.
        "CONTAINERS_REGISTRIES_CONF": known.registries_conf,
        "OLM_ALLOW_SOURCE_CIDR": "127.0.0.0/8",
    }
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
    if not programs.missing(Path(known.programs), ["kubectl"]):
        print(f'export PATH={shlex.quote(known.programs)}:"$PATH"')
    return 0


def _build(chosen: argparse.Namespace) -> int:
    print(f"The programs are in {_find_or_build(real=chosen.node == 'real')}.")
    return 0


def _find_or_build(*, real: bool) -> Path:
    """The directory of the programs; what a real node needs beside them is there too."""
    directory = programs.find_or_build(_print_line)
    if real:
        real_node.find_programs(_print_line)
    return directory


def _print_line(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
