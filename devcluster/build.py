"""Builds programs with Go: those of a cluster (one multi-call program out of binaries/, and kwok), and others.

Writes to the directory that it is given and to Go's own caches.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from devcluster.errors import DevclusterError
from devcluster.processes import with_parent_death_signal

KUBERNETES_VERSION = "v1.34.4"
KUBERNETES_NAMES = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "registry",
    "devcluster-certificates",
)
"""The names of the one program of a cluster. `registry` is distribution's with the storage in files alone."""
KWOK = "sigs.k8s.io/kwok/cmd/kwok@v0.7.0"
"""A program of its own: it does not compile with the libraries of KUBERNETES_VERSION."""
NODE_NAMES = ("kubelet", "kube-proxy")
"""The programs of Kubernetes that a real node runs: programs of the same module, which no other cluster needs."""

_SOURCES = Path(__file__).resolve().parent / "binaries"
"""The Go module of the cluster; its directories with a go.mod are modules of optional programs."""
_VERSION_PACKAGE = "k8s.io/component-base/version"
# Without a gitVersion the server reports v0.0.0-master and every minKubeVersion fails.
KUBERNETES_LDFLAGS = (
    f"-s -w -X {_VERSION_PACKAGE}.gitVersion={KUBERNETES_VERSION} "
    f"-X {_VERSION_PACKAGE}.gitCommit=0 -X {_VERSION_PACKAGE}.gitTreeState=clean"
)
_FLAGS = ("-trimpath", "-gcflags=all=-dwarf=false")
"""Without debug information, which nothing here reads and which takes a sixth of the compilers' time. All builds have the same
flags, or Go would compile what they share once for each."""
_PROGRESS_SECONDS = 15.0
_MOMENT_SECONDS = 0.5
"""The time for which one process is awaited before another one is."""
_EAGER_BUILD_MIB = 6 * 1024
"""MiB of memory that have to be available for a build whose compilers collect garbage rarely."""
_RARE_COLLECTION = "400"
"""GOGC of such a build: the per cent by which a heap grows before it is collected."""


@dataclass(frozen=True)
class GoProgram:
    """A program that is built by itself, from a main package of a module.

    `version` and `go`, the oldest Go that the module accepts, are set if `go install` accepts the module. Otherwise, because its
    go.mod replaces or excludes other modules, the directory binaries/<module> has a go.mod that requires the package as a tool
    and repeats those lines, and a go.sum; the package "." is that directory itself, the module "" that of the cluster's program.
    `tags` are build constraints.
    """

    name: str
    package: str
    version: str | None = None
    go: str = field(default="", repr=False)
    module: str = ""
    ldflags: str = "-s -w"
    tags: str = ""


def recipe() -> list[bytes]:
    """Everything that the result depends on, in a fixed order: sources, versions and flags."""
    settings = (*_FLAGS, KUBERNETES_LDFLAGS, *KUBERNETES_NAMES, KWOK)
    return [*_module_files(_SOURCES), *(text.encode() for text in settings)]


def program_recipe(program: GoProgram) -> list[bytes]:
    """Everything that `build_program` depends on."""
    return [repr(program).encode(), *(() if program.version else _module_files(_SOURCES / program.module))]


def _module_files(directory: Path) -> list[bytes]:
    """The content of the files of a Go module, without the modules in its subdirectories."""
    return [path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()]


def minimum_go(program: GoProgram | None = None) -> str:
    """The oldest Go, as "1.24", that builds this program; without one: that builds the programs of a cluster."""
    if program and program.version:
        return program.go
    file = _SOURCES / (program.module if program else "") / "go.mod"
    (found,) = re.findall(r"^go (\d+\.\d+)", file.read_text(), re.MULTILINE)
    return str(found)


def module_directory(module: str, directory: Path, environment: Mapping[str, str] = os.environ) -> tuple[Path, str]:
    """The directory of a module's files (`path@version`, or a path that the go.mod in `directory` requires) and its checksum.

    Raises DevclusterError if Go is missing or cannot download it.
    """
    go = find_go(environment)
    if go is None:
        raise DevclusterError(f"the files of {module} are downloaded with Go, which is not on PATH")
    command = [go, "mod", "download", "-json", module]
    settings = {**environment, "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(command, cwd=directory, env=settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevclusterError(f"go mod download {module}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return Path(found["Dir"]), found["Sum"]


def find_go(environment: Mapping[str, str]) -> str | None:
    """The path of `go` on the PATH of the environment; None if there is none."""
    return shutil.which("go", path=environment.get("PATH", ""))


def build_all(
    go: str, directory: Path, report: Callable[[str], None], environment: Mapping[str, str] = os.environ
) -> None:
    """Build all programs with the Go at `go` into the empty directory. Takes minutes when Go's own cache is empty.

    Raises DevclusterError with Go's output.
    """
    report(
        f"Building Kubernetes {KUBERNETES_VERSION}, the image registry and kwok with Go, once "
        "(six to fifteen minutes on two cores)."
    )
    with tempfile.TemporaryDirectory(prefix="go-", dir=directory) as work:
        base = _go_environment(environment, Path(work))
        kubernetes = [go, "build", *_FLAGS, "-ldflags", KUBERNETES_LDFLAGS, "-o", str(directory / "kubernetes"), "."]
        kwok = [go, "install", *_FLAGS, "-ldflags", "-s -w", KWOK]
        _run(
            (
                _Command(f"Kubernetes {KUBERNETES_VERSION} and the image registry", kubernetes, base),
                _Command("kwok", kwok, {**base, "GOBIN": str(directory)}),
            ),
            report,
        )
    for name in KUBERNETES_NAMES:
        (directory / name).symlink_to("kubernetes")


def build_program(
    go: str,
    directory: Path,
    program: GoProgram,
    report: Callable[[str], None],
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Build one program into the empty directory, under its name. Raises DevclusterError with Go's output."""
    flags = [*_FLAGS, "-tags", program.tags, "-ldflags", program.ldflags]
    with tempfile.TemporaryDirectory(prefix="go-", dir=directory) as work:
        settings = {**_go_environment(environment, Path(work)), "GOBIN": str(directory)}
        if program.version:
            command, work_directory = [go, "install", *flags, f"{program.package}@{program.version}"], _SOURCES
        else:
            command = [go, "build", *flags, "-o", str(directory / program.name), program.package]
            work_directory = _SOURCES / program.module
        _run((_Command(program.name, command, settings, work_directory),), report)
    if not (directory / program.name).exists():
        raise DevclusterError(f"the package {program.package} has another name than {program.name}")


def _go_environment(environment: Mapping[str, str], work: Path) -> dict[str, str]:
    # Without the user's settings of targets, workspaces and vendoring, which would build something else.
    kept = {name: value for name, value in environment.items() if name not in ("GOOS", "GOARCH", "GOBIN")}
    settings = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOTMPDIR": str(work)}
    rarely = {"GOGC": _RARE_COLLECTION} if "GOGC" not in kept and _available_mib() >= _EAGER_BUILD_MIB else {}
    return {**kept, **rarely, **settings}


def _available_mib() -> int:
    """The memory that is available on this machine; 0 if it does not say so."""
    try:
        found = re.search(r"^MemAvailable: +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) // 1024 if found else 0


@dataclass(frozen=True)
class _Command:
    """A run of Go."""

    title: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    work_directory: Path = _SOURCES


def _run(commands: Sequence[_Command], report: Callable[[str], None]) -> None:
    """Run them side by side: where one waits for the network, or links on one processor, another one compiles."""
    started = time.monotonic()
    with ExitStack() as stack:
        running = [(command, *stack.enter_context(_process(command))) for command in commands]
        while running:
            report(f"  {', '.join(command.title for command, *_ in running)}: {_elapsed(started)}")
            end = time.monotonic() + _PROGRESS_SECONDS
            while running and time.monotonic() < end:
                running = [each for each in running if not _has_ended(*each, started, report)]


@contextmanager
def _process(command: _Command) -> Iterator[tuple[subprocess.Popen[bytes], IO[str]]]:
    """A process and its output. It is interrupted at the end of the block: Go then removes its temporary files."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            with_parent_death_signal(command.arguments[0], command.arguments[1:], signal.SIGINT),
            cwd=command.work_directory,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            yield process, output
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait()


def _has_ended(
    command: _Command,
    process: subprocess.Popen[bytes],
    output: IO[str],
    started: float,
    report: Callable[[str], None],
) -> bool:
    """Wait a moment for the end of a command, and report it. Raises DevclusterError with Go's output if it failed."""
    try:
        process.wait(_MOMENT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    if process.returncode != 0:
        output.seek(0)
        lines = [line for line in output.read().splitlines() if not line.startswith("go: downloading")]
        raise DevclusterError(f"Go could not build {command.title}:\n" + "\n".join(f"  {line}" for line in lines[-12:]))
    report(f"  {command.title}: done in {_elapsed(started)}")
    return True


def _elapsed(started: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    return f"{minutes}m{seconds:02d}s" if minutes else f"{seconds}s"
