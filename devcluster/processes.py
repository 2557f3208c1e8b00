"""Child processes that end with the process that started them, and their memory and CPU. Called throughout devcluster."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

_PARENT_DEATH_SIGNAL = Path(__file__).resolve().parent / "parent_death_signal.py"
# The signal is sent when the thread that started a program ends, so one thread of the life of this process starts them all.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="devcluster-starter")


def with_parent_death_signal(
    program: Path | str, arguments: Sequence[str], signal_number: int = signal.SIGKILL
) -> list[str]:
    """Return the command that runs `program` (a path) so that the kernel sends it the signal when the thread that starts it ends.

    Linux only; elsewhere it is the plain command, and only an orderly end of the parent ends its children.
    """
    plain = [str(program), *arguments]
    if sys.platform != "linux":
        return plain
    return [sys.executable, "-I", "-S", str(_PARENT_DEATH_SIGNAL), str(os.getpid()), str(int(signal_number)), *plain]


def start_logged(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a command whose output is appended to a file, from the one thread that lives as long as this process."""

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(environment)
            )

    return _starter.submit(start).result()


def python_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment in which `python -m` finds the packages of this repository from any working directory."""
    path = [str(REPOSITORY), *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(path)}


def proportional_memory(pid: int, fields: tuple[str, ...] = ("Pss:",)) -> int:
    """Bytes of memory of the process; a page shared by n processes counts 1/n (PSS). 0 if the value is not available."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(fields))


def process_tree_memory(pid: int) -> int:
    """Bytes of memory of the process and all its descendants; pages they share count once."""
    return sum(proportional_memory(member) for member in (pid, *_descendants(pid)))


def process_tree_own_memory(pid: int) -> int | None:
    """The same without the files that they map: how many other processes on the machine map them too changes at any time.

    None if a process started or ended meanwhile: what it shares with the others would count twice, or not at all.
    """
    members = _descendants(pid)
    size = sum(proportional_memory(member, ("Pss_Anon:", "Pss_Shmem:")) for member in (pid, *members))
    return size if members == _descendants(pid) else None


def process_tree_cpu(pid: int) -> float:
    """Seconds of CPU of the process and its descendants, including those that have ended and were waited for."""
    ticks = 0
    for member in (pid, *_descendants(pid)):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(value) for value in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def age(pid: int) -> float:
    """Seconds since the process was started, to a hundredth. Raises OSError if it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """The processes that this one started and has not waited for; none if it is gone."""
    tasks = Path(f"/proc/{pid}/task")
    found: list[int] = []
    for task in _names(tasks):
        try:
            found += [int(word) for word in (tasks / task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for child in children(pid):
        found += [child, *_descendants(child)]
    return found


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
