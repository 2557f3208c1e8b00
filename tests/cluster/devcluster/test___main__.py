"""`python -m devcluster` in a clean environment, and the cleanup after its owner is killed."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.processes import python_environment
from devcluster.state import State, load


@pytest.fixture
def environment(cluster: Cluster, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An empty cache for the test, and the programs of the session in KUBEBUILDER_ASSETS."""
    if not cluster.is_managed:
        pytest.skip("OLM_KUBECONFIG names a cluster: there are no programs to start another")
    chosen = {"OLM_CACHE": str(tmp_path / "cache"), "KUBEBUILDER_ASSETS": cluster.state.programs}
    yield python_environment({**os.environ, **chosen})
    for directory in (tmp_path / "cache" / "clusters").glob("*"):
        run(python_environment({**os.environ, **chosen}), "down", "--name", directory.name)


def run(
    environment: Mapping[str, str], *arguments: str, inherited: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "devcluster", *arguments]
    return subprocess.run(
        command, env=dict(environment), capture_output=True, text=True, check=False, pass_fds=inherited
    )


def run_directory(environment: Mapping[str, str], name: str) -> Path:
    return Path(environment["OLM_CACHE"]) / "clusters" / name


def processes(known: State) -> list[int]:
    return [*known.components.values(), known.supervisor, known.owner]


def assert_ends(descriptors: list[int]) -> None:
    """Wait until every process of the descriptors has ended."""
    for descriptor in descriptors:
        assert select.select([descriptor], [], [], 60)[0], "a process runs on"
        os.close(descriptor)


def known_state(environment: Mapping[str, str], name: str) -> State:
    known = load(run_directory(environment, name))
    assert known is not None
    assert known.ready
    return known


def routes() -> str:
    return Path("/proc/net/route").read_text()


def test_up_status_env_down(environment: dict[str, str]) -> None:
    reading, writing = os.pipe()
    up = run(environment, "up", "--detach", "--name", "shell", inherited=[writing])
    assert up.returncode == 0, up.stderr
    # The cluster holds nothing that the shell has open, such as a lock.
    os.close(writing)
    assert select.select([reading], [], [], 30)[0], "the cluster has the other end"
    os.close(reading)
    assert 'eval "$(python -m devcluster env --name shell)"' in up.stdout
    table = run(environment, "status").stdout
    assert [line.split()[:3] for line in table.splitlines()[1:3]] == [
        ["shell", "ready", "etcd"],
        ["shell", "ready", "kube-apiserver"],
    ]
    again = run(environment, "up", "--name", "shell")
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    assert "devcluster down --name shell" in again.stderr
    lines = run(environment, "env", "--name", "shell").stdout
    shell = subprocess.run(
        ["sh", "-c", f"{lines}kubectl get nodes --output name; echo $REGISTRY; ls $CONTAINERS_REGISTRIES_CONF"],
        capture_output=True,
        text=True,
        check=True,
    )
    known = known_state(environment, "shell")
    assert shell.stdout.split() == ["node/node-1", known.registry, known.registries_conf]
    watched = [os.pidfd_open(process) for process in processes(known)]
    assert run(environment, "down", "--name", "shell").stdout == "Stopped the cluster 'shell'.\n"
    assert_ends(watched)
    assert not run_directory(environment, "shell").exists()
    assert run(environment, "status").stdout.startswith("No cluster is running")
    named = run(environment, "status", "--name", "shell")
    assert (named.returncode, named.stdout, named.stderr) == (1, "", "No cluster named 'shell' is running.\n")


@pytest.mark.parametrize(
    ("victim", "flags"),
    [
        pytest.param("owner", [], id="a killed owner leaves no process and no file"),
        pytest.param(
            "owner", ["--detach"], id="a killed detached owner leaves no process and no file", marks=pytest.mark.crash
        ),
        pytest.param(
            "supervisor",
            [],
            id="a killed supervisor leaves no process, and its owner removes the files",
            marks=pytest.mark.crash,
        ),
        pytest.param(
            "supervisor", ["--detach"], id="a killed supervisor of a detached cluster is cleaned up after as well"
        ),
    ],
)
def test_a_killed_process_leaves_nothing_running(environment: dict[str, str], victim: str, flags: list[str]) -> None:
    before = routes()
    command = [sys.executable, "-m", "devcluster", "up", "--name", "victim", *flags]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert any(line.startswith("Stop it:") for line in started.stdout), "the cluster never became ready"
        if flags:
            assert started.wait() == 0
        known = known_state(environment, "victim")
        watched = [os.pidfd_open(process) for process in processes(known)]
        os.kill(getattr(known, victim), signal.SIGKILL)
        assert_ends(watched)
    assert list(Path(environment["OLM_CACHE"]).rglob("*")) == [Path(environment["OLM_CACHE"]) / "clusters"]
    try:
        # A cluster of another process cannot claim the ranges, and add routes of its own, while we hold the claim.
        holder = socket.create_server(("127.0.0.1", claimed_port(known)))
    except OSError:
        return  # one has claimed them already
    with holder:
        assert not [line for line in set(routes().splitlines()) - set(before.splitlines()) if known_range(line, known)]


def claimed_port(known: State) -> int:
    """The port that reserves the allocation of a cluster: the one before that of the API server."""
    return int(known.server.rpartition(":")[2]) - 1


def known_range(line: str, known: State) -> bool:
    """Whether a line of the routing table is a route of the cluster: little-endian, 10.180.0.0 is 0000B40A."""
    seconds = [int(range_.split(".")[1]) for range_ in known.ranges]
    return any(f"\t0000{second:02X}0A\t" in line for second in seconds)


@pytest.mark.crash
def test_up_after_all_processes_were_killed(environment: dict[str, str]) -> None:
    assert run(environment, "up", "--detach", "--name", "twice").returncode == 0
    known = known_state(environment, "twice")
    watched = [os.pidfd_open(process) for process in processes(known)]
    # Each cleans up after the other: the one that is killed last is stopped before.
    os.kill(known.owner, signal.SIGSTOP)
    for process in (known.supervisor, known.owner):
        os.kill(process, signal.SIGKILL)
    assert_ends(watched)
    assert "killed" in run(environment, "status").stdout
    again = run(environment, "up", "--detach", "--name", "twice")
    assert again.returncode == 0, again.stderr
    assert run(environment, "down", "--name", "twice").returncode == 0
    assert not run_directory(environment, "twice").exists()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["up"], id="up without Go and without programs"),
        pytest.param(["up", "--detach"], id="up in the background without Go and without programs"),
        pytest.param(["build"], id="build without Go"),
    ],
)
def test_without_go_the_error_is_one_sentence(tmp_path: Path, command: list[str]) -> None:
    environment = python_environment(
        {"PATH": str(tmp_path), "HOME": str(tmp_path), "OLM_CACHE": str(tmp_path / "cache")}
    )
    done = run(environment, *command)
    assert done.returncode == 1
    assert done.stderr.startswith("devcluster needs Go 1.24 or newer to build Kubernetes v1.34.4 once: install it")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_incomplete_directory_of_programs_is_reported_and_not_used(
    environment: dict[str, str], tmp_path: Path
) -> None:
    some = tmp_path / "some"
    some.mkdir()
    (some / "etcd").symlink_to(Path(environment["KUBEBUILDER_ASSETS"]) / "etcd")
    done = run({**environment, "KUBEBUILDER_ASSETS": str(some), "PATH": ""}, "build")
    assert done.returncode == 1
    assert done.stdout.startswith(f"KUBEBUILDER_ASSETS ({some}) is not used: it does not contain kube-apiserver, ")
