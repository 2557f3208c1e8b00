"""`olm` as a process: every outcome is an exit status, none is a traceback; completion in shells."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from devcluster.processes import REPOSITORY
from olmctl.main import SHELLS

BLOB = '{"schema":"olm.package","name":"%s"}\n'


def start(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "olmctl", "catalog", *arguments]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE)


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    (tmp_path / "catalog.json").write_text("".join(BLOB % f"p{number}" for number in range(5000)))
    return str(tmp_path)


COMMANDS = [
    pytest.param(("render",), id="render"),
    pytest.param(("graph", "--package", "p1"), id="graph"),
    pytest.param(("validate", "-o", "json"), id="validate"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(catalog: str, command: Sequence[str]) -> None:
    with open("/dev/full", "wb") as full:
        ran = start(*command, catalog, stdout=full.fileno())
        _, err = ran.communicate()
    assert (ran.returncode, err) == (1, b"No space left on device\n")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("--version",), id="version"),
        pytest.param(("catalog", "render", "--help"), id="help"),
        pytest.param(("completion", "zsh"), id="completion"),
        pytest.param(("suite", "install", "--export"), id="the manifests of the suite"),
    ],
)
def test_a_full_disk_for(command: Sequence[str]) -> None:
    with open("/dev/full", "wb") as full:
        olm = [sys.executable, "-m", "olmctl", *command]
        ran = subprocess.run(olm, stdout=full, stderr=subprocess.PIPE, check=False)
        silent = subprocess.run(olm, stdout=full, stderr=full, check=False)
    assert (ran.returncode, ran.stderr) == (1, b"No space left on device\n")
    assert silent.returncode == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe(catalog: str, command: Sequence[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = start(*command, catalog, stdout=writing)
    os.close(writing)
    _, err = ran.communicate()
    assert (ran.returncode, err) == (1, b"")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("completion", "bash"), id="completion"),
        pytest.param(("--help",), id="help"),
        pytest.param(("suite", "install", "--export"), id="the manifests of the suite"),
    ],
)
def test_a_reader_that_has_ended(command: Sequence[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [sys.executable, "-m", "olmctl", *command], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(catalog: str, number: signal.Signals) -> None:
    """While it is blocked, because its output is not read."""
    ran = start("render", catalog)
    assert ran.stdout is not None
    ran.stdout.read(1)
    ran.send_signal(number)
    ran.stdout.close()
    _, err = ran.communicate()
    assert (ran.returncode in (1, 130), err) == (True, b"")


def test_a_file_that_may_not_be_read(catalog: str) -> None:
    os.symlink("/proc/self/mem", Path(catalog) / "x.json")
    ran = start("render", catalog)
    out, err = ran.communicate()
    assert (ran.returncode, out) == (1, b"")
    assert err == f'render "{catalog}": x.json: is a link that leads outside the catalog\n'.encode()


def olm(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "olmctl", *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("program", ["olm", "kubectl-olm"])
def test_the_installed_commands_print_their_version(program: str) -> None:
    installed = Path(sys.executable).with_name(program)
    ran = subprocess.run([installed, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"olm {version('olm-suite')}\n"


@pytest.mark.parametrize("arguments", [[], ["catalog"], ["bundle"], ["catalog", "x"], ["completion", "x"]])
def test_wrong_usage(arguments: list[str]) -> None:
    ran = olm(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("Usage: olm ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("olm cat", ["plain,catalog"], id="a group"),
        pytest.param("olm catalog val", ["plain,validate"], id="a command"),
        pytest.param("olm catalog init p -o y", ["plain,yaml"], id="a value of an option"),
        pytest.param("olm catalog validate x", ["dir,x"], id="a directory"),
    ],
)
def test_completion(words: str, expected: list[str]) -> None:
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert olm(_OLM_COMPLETE="bash_complete", **place).stdout.splitlines() == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_runs_the_command(shell: str) -> None:
    ran = olm("completion", shell)
    assert (ran.returncode, f"_OLM_COMPLETE={shell}_complete" in ran.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["cata"], "catalog\tWork with catalogs, without a cluster.\n:4\n", id="a command"),
        pytest.param(["graph", "x", "-o", "me"], "mermaid\n:4\n", id="a value of an option"),
        pytest.param(["catalog", "validate", ""], ":0\n", id="a directory"),
        pytest.param(["why", ""], ":4\n", id="names of a cluster that is not there"),
    ],
)
def test_completion_for_kubectl(words: list[str], expected: str, tmp_path: Path) -> None:
    code = "from olmctl.main import kubectl_completion_main; kubectl_completion_main()"
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "missing")}
    command = [sys.executable, "-c", code, *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, expected, "")


def test_the_executable_that_kubectl_calls_for_completion_is_declared() -> None:
    scripts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl_complete-olm"] == "olmctl.main:kubectl_completion_main"
