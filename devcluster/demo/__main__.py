"""The command behind `make demo`: sets everything up, tells one of the two stories, and stays until Ctrl-C."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from devcluster.cluster import Cluster, Wanted, start
from devcluster.demo import full_catalog, sample_catalog
from devcluster.demo.printer import Narrator
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
    narrator = Narrator()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(chosen, narrator)
    except DevclusterError as error:
        narrator.say("The story ends here:")
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        narrator.plain("\nStopped; nothing is left behind.")
        return 130


def _run(chosen: argparse.Namespace, narrator: Narrator) -> int:
    if chosen.catalog is not None:
        # Before anything is started: a folder that holds no catalog is the likeliest mistake.
        full_catalog.open_content(chosen.catalog)
    with start(Wanted.from_environment(chosen.name), narrator.say) as cluster:
        narrator.say(f"Kubernetes {cluster.server_version()} is ready, and a registry at {cluster.registry}")
        if cluster.is_own:
            narrator.say("All of it is real but the nodes, which only pretend to run pods")
        with Suite(cluster) as suite:
            suite.install()
            narrator.say("Applied config/crd and config/rbac")
            suite.start()
            narrator.say("catalogd, rukpak and operator-controller are ready, each under its own ServiceAccount")
            narrator.say("Their logs, until the demo ends:")
            narrator.quote(log_places(suite))
            try:
                code = _tell(chosen, cluster, suite, narrator)
            except DevclusterError:
                _show_logs(suite, narrator)
                raise
            if not chosen.once:
                _stay(chosen, cluster, suite, narrator)
    return code


def _tell(chosen: argparse.Namespace, cluster: Cluster, suite: Suite, narrator: Narrator) -> int:
    if chosen.catalog is not None:
        return full_catalog.tell(cluster, suite, narrator, chosen.catalog)
    code = sample_catalog.tell(cluster, narrator)
    sample_catalog.show_end(cluster, narrator)
    return code


def log_places(suite: Suite) -> str:
    """The log file of each controller, one a line."""
    return "\n".join(str(suite.log(name)) for name in suite.addresses)


def _stay(chosen: argparse.Namespace, cluster: Cluster, suite: Suite, narrator: Narrator) -> None:
    narrator.plain()
    narrator.plain("The cluster stays until Ctrl-C. In another shell, in this folder:")
    narrator.plain()
    narrator.quote(f'eval "$(.venv/bin/python -m devcluster env --name {chosen.name})"')
    narrator.quote(sample_catalog.TRY_NEXT if chosen.catalog is None else full_catalog.TRY_NEXT)
    narrator.quote(f"tail -f {suite.folder}/*.log   # what the controllers do, and why")
    try:
        cluster.wait()
    except KeyboardInterrupt:
        narrator.plain("\nStopping.")


def _show_logs(suite: Suite, narrator: Narrator) -> None:
    for name in suite.addresses:
        narrator.plain(f"The log of {name} ends:")
        narrator.quote(suite.log_tail(name, 15))


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
