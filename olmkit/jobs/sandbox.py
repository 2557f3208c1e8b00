"""What a job may reach of the machine it runs on: a few paths, and the network or not. The kernel keeps it there.

`Sandbox` is what controllers say, `enter` is called by a job's process (child.py) before it reads anything from outside. Files by
Landlock, system calls by seccomp, no new privileges, no eyes of other processes. What the kernel lacks is said once (`warn`).
"""

from __future__ import annotations

import functools
import logging
import os
import ssl
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from olmkit.jobs import landlock, seccomp, syscalls

log = logging.getLogger(__name__)

LIBRARY_PATHS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
MACHINE_PATHS = ("/dev/urandom", "/etc/localtime", "/usr/share/zoneinfo")
NAME_RESOLUTION_PATHS = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
)
CA_PATHS = (
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
    "/etc/crypto-policies",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
)


@dataclass(frozen=True)
class Sandbox:
    """Beside what Python needs: `reads` and `writes` are files, or folders with all that is below them; those that are written
    may be read, and folders that are not there are made. With `network` also what names hosts and authorities is read.
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    network: bool = True

    def file_identities(self) -> tuple[tuple[int, int] | None, ...]:
        """Which files `reads` are now: a rule is about a file, so one that was replaced is not what a process may read."""
        return tuple(map(_identity, self.reads))


def enter(sandbox: Sandbox) -> None:
    """Stay in there for ever, as far as the kernel can see to it. Raises OSError."""
    syscalls.set_dumpable(False)
    syscalls.set_no_new_privs()
    if abi := landlock.abi_version():
        for path in sandbox.writes:
            with suppress(OSError):  # whoever writes there says what is wrong
                path.mkdir(parents=True, exist_ok=True)
        reads = (*python_paths(), *(network_paths() if sandbox.network else ()), *sandbox.reads)
        landlock.restrict(reads, (Path(os.devnull), *sandbox.writes), network=sandbox.network, abi=abi)
    if seccomp.is_available():
        seccomp.restrict(network=sandbox.network)


def restrict_writes(writes: tuple[Path, ...]) -> None:
    """From now on less of what enter() allowed: to write those only. Raises OSError."""
    if abi := landlock.abi_version():
        landlock.restrict(python_paths(), (Path(os.devnull), *writes), network=False, abi=abi)


@functools.cache
def warn_of_missing_features() -> None:
    """Say what this kernel cannot do, once per process."""
    if not landlock.abi_version():
        log.warning(
            "jobs may read and write all files that this process may: the kernel has no Landlock, or none that can be used"
        )
    if not seccomp.is_available():
        log.warning(
            "jobs may make all system calls: the kernel has no seccomp for them, or not for %s", os.uname().machine
        )


@functools.cache
def python_paths() -> tuple[Path, ...]:
    """The interpreter's own files, and packages wherever they were found. For the fork server to ask first: it takes 5 ms."""
    found = {Path(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix)}
    found.update(Path(path) for path in sys.path if path)
    for name, module in [*sys.modules.items()]:
        if "." not in name:
            found.update(map(Path, getattr(module, "__path__", ())))
    found.update(map(Path, (*LIBRARY_PATHS, *MACHINE_PATHS)))
    return tuple(path for path in sorted(found) if path.exists() and found.isdisjoint(path.parents))


@functools.cache
def network_paths() -> tuple[Path, ...]:
    """What names hosts, and whose certificates are believed. Whether a file is there now is asked for each job."""
    known = ssl.get_default_verify_paths()
    names = (known.cafile, known.capath, known.openssl_cafile, known.openssl_capath, os.environ.get("OPENSSL_CONF"))
    return tuple(map(Path, dict.fromkeys((*NAME_RESOLUTION_PATHS, *CA_PATHS, *filter(None, names)))))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
