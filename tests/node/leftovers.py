"""What a cluster with a real node has outside its run directory, as the kernel shows it."""

from __future__ import annotations

from pathlib import Path

from devcluster.state import State


def leftovers(known: State) -> list[str]:
    """The processes, mounts, interfaces and cgroups of the cluster; packet filter rules are in its network namespace."""
    processes = [f"process {each}" for each in Path("/proc").iterdir() if each.name.isdigit() and _belongs(each, known)]
    mounts = [
        f"mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if f"/{known.name}/" in line
    ]
    interfaces = [f"interface {each}" for each in Path("/sys/class/net").glob(known.link)]
    cgroups = [f"cgroup {each}" for each in Path("/sys/fs/cgroup").rglob(known.cgroup)]
    return [*processes, *mounts, *interfaces, *cgroups]


def _belongs(process: Path, known: State) -> bool:
    """Whether a process is one of the cluster: started with a path of its run directory, or in a cgroup of its pods."""
    try:
        command = (process / "cmdline").read_bytes().decode(errors="replace")
        groups = (process / "cgroup").read_text()
    except OSError:
        return False
    return f"/clusters/{known.name}/" in command or known.cgroup in groups
