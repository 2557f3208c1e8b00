"""Landlock: restricts which files this process, and all that it starts, may read and write. The kernel enforces it.

After landlock(7) and linux/landlock.h: rights that a kernel does not know are left out, by the ABI version that it reports, so a
newer kernel restricts more. Rules only remove rights, and cannot be undone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from olmkit.jobs import syscalls

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, equal on every architecture."""
CREATE_RULESET_VERSION_FLAG = 1
RULE_PATH_BENEATH = 1

MIN_ABI_VERSION = 2
"""Version 1 (Linux 5.13) cannot allow renames between directories, which is how content is published."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
ABI_1_RIGHTS = (1 << 13) - 1
"""All rights of ABI 1: those above without the last three, and creation and removal of each kind of file."""
RIGHTS_SINCE = ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
NETWORK_SINCE, NETWORK = 4, 0b11
"""Bind and connect of TCP sockets."""
SCOPES_SINCE, SCOPES = 6, 0b11
"""Abstract unix sockets and signals to processes outside."""

READ_RIGHTS = READ_FILE | READ_DIR
SPECIAL_FILES = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12
"""Creation of character devices, sockets, pipes, block devices and symbolic links, which no job needs."""
WRITE_RIGHTS = (ABI_1_RIGHTS | REFER | TRUNCATE) & ~EXECUTE & ~SPECIAL_FILES
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that a rule for a file, rather than a directory, may have."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi_version() -> int:
    """The ABI version of the kernel; 0 if it has no Landlock, was started without it, or has one before MIN_ABI_VERSION."""
    try:
        found = syscalls.syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION_FLAG)
        return found if found >= MIN_ABI_VERSION else 0
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):  # EPERM: a container's seccomp profile
            return 0
        raise


def restrict(
    reads: Iterable[Path], writes: Iterable[Path], executes: Iterable[Path] = (), *, network: bool, abi: int
) -> None:
    """Allow to read only the files at or below `reads`, to write only those at or below `writes`, and to execute only the files
    `executes`.

    Paths that do not exist are skipped. Without `network` no TCP socket can be bound or connected, if the kernel supports that.
    `abi` is the result of abi_version(), not 0. Needs syscalls.set_no_new_privs(). Raises OSError.
    """
    handled = _handled(abi)
    sizes = 8 if abi < NETWORK_SINCE else 16 if abi < SCOPES_SINCE else 24
    wanted = _Ruleset(handled, 0 if network or abi < NETWORK_SINCE else NETWORK, SCOPES if abi >= SCOPES_SINCE else 0)
    ruleset = syscalls.syscall(CREATE_RULESET, ctypes.byref(wanted), sizes, 0)
    try:
        for path, rights in _rules(reads, writes, executes):
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                _allow(ruleset, path, rights & handled)
        syscalls.syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(abi: int) -> int:
    rights = ABI_1_RIGHTS
    for since, right in RIGHTS_SINCE:
        if abi >= since:
            rights |= right
    return rights


def _rules(reads: Iterable[Path], writes: Iterable[Path], executes: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    for path in reads:
        yield path, READ_RIGHTS
    for path in writes:
        yield path, WRITE_RIGHTS
    for path in executes:
        yield path, EXECUTE | READ_FILE


def _allow(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FILE_RIGHTS
        rule = _PathBeneath(rights, descriptor)
        syscalls.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
