"""The namespaces in which a real node lives, so that nothing of it remains when its first process ends.

The node has its own network, mounts, processes, IPC and host name. Its bridge, packet filter rules, mounts and pods are in these
namespaces, and the kernel removes them with the namespaces' first process, which it ends with the supervisor. Only the pods'
cgroups are outside, and the interface of this machine for a moment; `remove` removes both.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from devcluster.control_plane import Component
from devcluster.errors import DevclusterError
from devcluster.nodes.network import LINK_PREFIX_LENGTH, NODE, NodeNetwork
from devcluster.processes import children

FIRST_PROCESS = NODE
"""The name of the component whose process is the parent of the node's first process."""
HIDDEN_DIRECTORIES = ("/run", "/var/lib", "/var/log")
"""Directories of this machine that the node has for itself; a cluster's files must not be below them."""

_KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""Settings that a kubelet makes for the whole machine. This one reads files that already have these values, and changes
nothing."""
# The first process ends with unshare, and all processes of the namespaces with the first one.
_CREATE = (
    *("--net", "--mount", "--pid", "--ipc", "--uts", "--mount-proc", "--propagation=private"),
    *("--fork", "--kill-child", "--"),
)
_PROCESSOR_SHARES = {"cpu.shares": 16_384, "cpu.weight": 1_600}
"""The share of the processors by file of a cgroup of version 1 or 2, sixteen times that of a process: the pods are one group, and
compete with each process of this machine."""
_INTERFACES = Path("/sys/class/net")
_SECONDS = 20.0
_POLL_SECONDS = 0.02


def check() -> None:
    """Raise DevclusterError if this process may not create the namespaces, as in a container without privileges."""
    done = subprocess.run([_tool("unshare"), *_CREATE, "/bin/true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevclusterError(
            f"A real node needs namespaces of its own, which this machine refuses: {done.stderr.strip()}. In a container "
            "start it with all privileges, or use simulated nodes."
        )


def first_process(pause: Path) -> Component:
    """The component that creates the namespaces and runs `pause` as their first process."""
    return Component(FIRST_PROCESS, (*_CREATE, str(pause)), program=_tool("unshare"))


def component(name: str, process: int, program: Path, arguments: Sequence[str]) -> Component:
    """A component that runs in the namespaces of the process, with this program, and is killed with its parent."""
    tied = (_tool("setpriv"), "--pdeathsig", "KILL", "--", str(program), *arguments)
    return Component(name, (*_enter(process), *tied), program=_tool("nsenter"))


def wait_for(parent: int, pause: Path) -> int:
    """Return the process id of the node's first process, once its namespaces are complete. Raises DevclusterError."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for child in children(parent):
            if _program_of(child) == pause.resolve():
                return child
        time.sleep(_POLL_SECONDS)
    raise DevclusterError("The namespaces of the node were not created; see the log of the node.")


def prepare(process: int, network: NodeNetwork, directory: Path, cgroup: str) -> None:
    """Connect the node with this machine, and give it its own directories, settings and cgroup. Raises DevclusterError."""
    _create_cgroup(cgroup)
    remove_link(network.link)
    ip = _tool("ip")
    _run(ip, "link", "add", network.link, "type", "veth", "peer", "name", "eth0", "netns", str(process))
    for address in (network.api_server, network.registry):
        _run(ip, "address", "add", f"{address}/{LINK_PREFIX_LENGTH}", "dev", network.link)
    _run(ip, "link", "set", network.link, "up")
    inside = (_tool("nsenter"), *_enter(process))
    for arguments in (
        ("address", "add", f"{network.node}/{LINK_PREFIX_LENGTH}", "dev", "eth0"),
        ("link", "set", "eth0", "up"),
        ("link", "set", "lo", "up"),
    ):
        _run(*inside, ip, *arguments)
    for range_ in (network.pods, network.services):
        _run(ip, "route", "replace", range_, "via", network.node)
    _run(*inside, "/bin/sh", "-ec", _inside_script(directory))


def remove(link: str, cgroup: str) -> None:
    """Wait until the processes of a node have ended, which were killed, and remove its interface and its cgroup."""
    if os.geteuid() != 0 or not link:
        return
    deadline = time.monotonic() + _SECONDS
    # The kernel removes it with the network namespace, after the last process.
    while (_INTERFACES / link).exists() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    remove_link(link)
    _remove_cgroup(cgroup, deadline)


def remove_link(link: str) -> None:
    """Remove an interface; a missing one is ignored."""
    subprocess.run([_tool("ip"), "link", "delete", link], capture_output=True, check=False)


def _inside_script(directory: Path) -> str:
    lines = [f"hostname {NODE}", "mount --make-rshared /", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
    for path in ("/var/lib", "/var/log"):
        own = directory / path.strip("/").replace("/", "-")
        own.mkdir(parents=True)
        lines.append(f"mount --bind '{own}' {path}")
    lines += ["mount -t tmpfs -o mode=755 tmpfs /run", "mkdir /run/lock /run/settings"]
    for number, (name, value) in enumerate(_KERNEL_SETTINGS.items()):
        lines += [f"echo {value} > /run/settings/{number}", f"mount --bind /run/settings/{number} /proc/sys/{name}"]
    return "\n".join(lines)


def _enter(process: int) -> tuple[str, ...]:
    return (f"--target={process}", "--net", "--mount", "--pid", "--ipc", "--uts", "--")


def _create_cgroup(name: str) -> None:
    for hierarchy in _hierarchies():
        made = hierarchy / name
        made.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):
            # In version 1 a new group has no processors and no memory to run on.
            if (made / "cgroup.clone_children").exists() and (made / file).exists():
                (made / file).write_text((hierarchy / file).read_text())
        for file, share in _PROCESSOR_SHARES.items():
            if (made / file).exists():
                (made / file).write_text(str(share))


def _remove_cgroup(name: str, deadline: float) -> None:
    while left := [each for hierarchy in _hierarchies() if (each := hierarchy / name).is_dir()]:
        for path in left:
            for directory, _, _ in os.walk(path, topdown=False):
                try:
                    os.rmdir(directory)
                except OSError:
                    # The kernel still ends processes in it.
                    continue
        if time.monotonic() > deadline:
            return
        time.sleep(_POLL_SECONDS)


def _hierarchies() -> Iterator[Path]:
    """The mounted cgroup hierarchies: one of version 2, or one for each controller of version 1."""
    found = set()
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, path, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            found.add(Path(path))
    yield from sorted(found)


def _program_of(process: int) -> Path | None:
    try:
        return Path(f"/proc/{process}/exe").readlink()
    except OSError:
        return None


def _tool(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise DevclusterError(f"A real node needs the program `{name}`: install it (on Debian: iproute2, util-linux).")
    return found


def _run(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevclusterError(f"The node could not be prepared: {' '.join(command)}: {done.stderr.strip()}")
