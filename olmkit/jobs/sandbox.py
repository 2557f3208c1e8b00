"""Restricts what a job may reach of the machine it runs on: a few paths, and the network or not. The kernel enforces it.

Controllers declare a `Sandbox`; a child process calls `enter` before it reads anything from outside (child.py). Files are
restricted by Landlock, system calls by seccomp; no new privileges, and no access by other processes. A feature that the kernel
lacks is logged once. docs/decisions/0019.
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
    """The files that a job may use in addition to those that Python needs: `reads` and `writes` are files, or directories with
    everything below them. What may be written may be read, and missing directories are created. With `network`, the files that
    resolve hosts and name certificate authorities may be read too. `executes` are programs without an interpreter that the job
    may start, which then are in the same sandbox; no other program can be started.
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    network: bool = True
    executes: tuple[Path, ...] = ()

    def file_identities(self) -> tuple[tuple[int, int] | None, ...]:
        """The current device and inode of each of `reads`: a rule is for a file, so a file that replaced it cannot be read."""
        return tuple(map(_identity, self.reads))


def enter(sandbox: Sandbox) -> None:
    """Restrict this process, as far as the kernel can. Cannot be undone. Raises OSError."""
    syscalls.set_dumpable(False)
    syscalls.set_no_new_privs()
    if abi := landlock.abi_version():
        for path in sandbox.writes:
            with suppress(OSError):  # the code that writes there reports what is wrong
                path.mkdir(parents=True, exist_ok=True)
        reads = (*python_paths(), *(network_paths() if sandbox.network else ()), *sandbox.reads)
        writes = (Path(os.devnull), *sandbox.writes)
        landlock.restrict(reads, writes, sandbox.executes, network=sandbox.network, abi=abi)
    if seccomp.is_available():
        seccomp.restrict(network=sandbox.network, executes=bool(sandbox.executes))


def restrict_files(sandbox: Sandbox) -> None:
    """Restrict this process further, after enter(), to the files of `sandbox`, and to no network. Raises OSError."""
    if abi := landlock.abi_version():
        reads, writes = (*python_paths(), *sandbox.reads), (Path(os.devnull), *sandbox.writes)
        landlock.restrict(reads, writes, sandbox.executes, network=False, abi=abi)


@functools.cache
def warn_of_missing_features() -> None:
    """Log what this kernel cannot enforce, once per process."""
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
    """The files of the interpreter and of all packages. The fork server calls it first, for its children: it takes 5 ms."""
    found = {Path(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix)}
    found.update(Path(path) for path in sys.path if path)
    for name, module in [*sys.modules.items()]:
        if "." not in name:
            found.update(map(Path, getattr(module, "__path__", ())))
    found.update(map(Path, (*LIBRARY_PATHS, *MACHINE_PATHS)))
    return tuple(path for path in sorted(found) if path.exists() and found.isdisjoint(path.parents))


@functools.cache
def network_paths() -> tuple[Path, ...]:
    """The files that resolve hosts and hold certificate authorities. Whether they exist is checked for each job."""
    known = ssl.get_default_verify_paths()
    names = (known.cafile, known.capath, known.openssl_cafile, known.openssl_capath, os.environ.get("OPENSSL_CONF"))
    return tuple(map(Path, dict.fromkeys((*NAME_RESOLUTION_PATHS, *CA_PATHS, *filter(None, names)))))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
