"""seccomp: restricts which system calls this process, and all that it starts, may make. The kernel enforces it.

After seccomp(2) and linux/filter.h. What no job needs fails with EPERM: to start programs, unless the job has one that it may
start; to inspect, signal or change other processes; System V IPC; namespaces and mounts; and without `network`, every socket that
could reach another process. System calls of another architecture kill the process.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Final

from olmkit.jobs import syscalls

PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
SECCOMP, GET_ACTION_AVAILABLE = (317, 277), 2
KILL_PROCESS, FAIL, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
"""The values that a filter returns; the number of an error is added to FAIL."""
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
"""Instructions: load a word of the call, jump when it is a number, is not less, has a bit; mask it; end."""
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""The places of the call's words, in bytes."""

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000
"""The bit in the numbers of the x32 system calls of x86_64 (pointers of 32 bits), which count as the same architecture."""
ABSENT = -1
"""The number of a system call that an architecture does not have."""
DENIED_CALLS: Final = {  # by name: number on x86_64, on aarch64
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "execve": (59, 221),
    "execveat": (322, 281),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "delete_module": (176, 106),
    "open_tree_attr": (467, 467),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    # Shared memory, message queues and semaphores, which processes of the same user reach by number or name.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # The processes of a job are one group, which ends with the job (fork_server.py).
    "setsid": (112, 157),
    "setpgid": (109, 154),
    # Signals and settings whose arguments do not show whether they are for the own process.
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "process_mrelease": (448, 448),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
EXECVE = "execve"
DENIED_WITHOUT_NETWORK: Final = {
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    # The end of the parser's channel comes from the fork server (fork_server.py), so nothing else may shut it down.
    "shutdown": (48, 210),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # Landlock does not protect the modes, owners, attributes and times of files.
    "chmod": (90, ABSENT),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, ABSENT),
    "fchown": (93, 55),
    "lchown": (94, ABSENT),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "utime": (132, ABSENT),
    "utimes": (235, ABSENT),
    "futimesat": (261, ABSENT),
    "utimensat": (280, 88),
}
OWN_PROCESS_CALLS: Final = {  # by name: numbers, and the index of the argument that is the process ID
    "prlimit64": ((302, 261), 0),
    "sched_setscheduler": ((144, 119), 0),
    "sched_setparam": ((142, 118), 0),
    "sched_setattr": ((314, 274), 0),
    "sched_setaffinity": ((203, 122), 0),
    "setpriority": ((141, 140), 1),
    "ioprio_set": ((251, 30), 1),
}
"""Allowed for the process ID 0, which is the caller; denied for any other number, the caller's included."""
PROCESS_ID_KINDS: Final = {"setpriority": 0, "ioprio_set": 1}
"""The first argument that makes the ID that of one process, not of a group or a user."""
KILL_CALL, TGKILL, FCNTL, IOCTL = (62, 129), (234, 131), (72, 25), (16, 29)
DENIED_FCNTL_COMMANDS = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: a descriptor that sends signals to another process."""
DENIED_IOCTL_REQUESTS = (0x8901, 0x8902, 0x5412, 0x541C)
"""FIOSETOWN and SIOCSPGRP, which equal F_SETOWN; TIOCSTI and TIOCLINUX, which write into the input of a terminal."""
SOCKET, SOCKETPAIR, CLONE, CLONE3 = (41, 198), (53, 199), (56, 220), (435, 435)
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
"""Socket families that are allowed with `network`; getaddrinfo reads the addresses of the machine over netlink."""
STREAM_TYPE_BITS = 0xF
NEW_NAMESPACE_FLAGS = 0x7E020000
"""The flags of clone that create namespaces."""


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


@functools.cache
def is_available() -> bool:
    """Report whether the kernel supports filters, and the numbers of the system calls of this machine are in the tables here."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        return False
    try:
        action = ctypes.byref(ctypes.c_uint32(KILL_PROCESS))
        syscalls.syscall(SECCOMP[[*ARCHITECTURES].index(machine)], GET_ACTION_AVAILABLE, 0, action)
    except OSError:  # not built in, or forbidden by a container runtime
        return False
    return True


def restrict(*, network: bool, executes: bool = False) -> None:
    """Install the filter, which cannot be removed. The caller may signal itself and its group; the processes that it starts may
    signal the caller and the group. With `executes` they may start programs, which landlock.py limits to some files. Needs
    syscalls.set_no_new_privs() and is_available(). Raises OSError.
    """
    program = b"".join(_program(os.uname().machine, network, executes))
    what = _Filter(len(program) // 8, program)
    syscalls.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(what))


def _program(machine: str, network: bool, executes: bool) -> Iterator[bytes]:
    """The instructions of the filter. Each jump skips one return, so that no jump has to be counted."""
    column = [*ARCHITECTURES].index(machine)
    yield _instruction(LOAD, ARCHITECTURE)
    yield from _unless_equal(ARCHITECTURES[machine], KILL_PROCESS)
    yield _instruction(LOAD, NUMBER)
    if machine == "x86_64":
        yield _instruction(AT_LEAST, X32, 0, 1)
        yield _instruction(RETURN, KILL_PROCESS)
    denied = {**DENIED_CALLS, **({} if network else DENIED_WITHOUT_NETWORK)}
    if executes:
        del denied[EXECVE]
    for numbers in denied.values():
        if numbers[column] != ABSENT:
            yield from _if_equal(numbers[column], FAIL | errno.EPERM)
    # A filter cannot read its flags; without it, C libraries fall back to clone.
    yield from _if_equal(CLONE3[column], FAIL | errno.ENOSYS)
    yield from _of_call(CLONE[column], _no_namespace())
    yield from _own_process_only(column)
    if network:
        yield from _of_call(SOCKET[column], _one_of(FAMILIES))
    else:
        # A datagram socket could send to any other socket of the machine.
        yield from _of_call(SOCKETPAIR[column], _streams_only())
    yield _instruction(RETURN, ALLOW)


def _of_call(number: int, check: Iterable[bytes]) -> Iterator[bytes]:
    """A check for one system call, which ends the filter."""
    body = b"".join(check)
    yield _instruction(EQUAL, number, 0, len(body) // 8)
    yield body


def _no_namespace() -> Iterator[bytes]:
    yield _instruction(LOAD, ARGUMENTS)
    yield _instruction(ANY_BIT, NEW_NAMESPACE_FLAGS, 0, 1)
    yield _instruction(RETURN, FAIL | errno.EPERM)
    yield _instruction(RETURN, ALLOW)


def _own_process_only(column: int) -> Iterator[bytes]:
    """Signals and settings for the caller only; signal target 0 is the process group, which belongs to one job."""
    for name, (numbers, which) in OWN_PROCESS_CALLS.items():
        kind = [PROCESS_ID_KINDS[name]] if name in PROCESS_ID_KINDS else []
        yield from _of_call(numbers[column], [*_must_be(0, kind), *_one_of((0,), which)])
    me = os.getpid()
    yield from _of_call(KILL_CALL[column], _one_of((me, 0)))
    yield from _of_call(TGKILL[column], _one_of((me,)))  # raise() and abort()
    yield from _of_call(FCNTL[column], _none_of(DENIED_FCNTL_COMMANDS))
    yield from _of_call(IOCTL[column], _none_of(DENIED_IOCTL_REQUESTS))


def _must_be(which: int, values: Iterable[int]) -> Iterator[bytes]:
    for value in values:
        yield _instruction(LOAD, ARGUMENTS + 8 * which)
        yield from _unless_equal(value, FAIL | errno.EPERM)


def _one_of(values: Iterable[int], which: int = 0) -> Iterator[bytes]:
    yield _instruction(LOAD, ARGUMENTS + 8 * which)
    for value in values:
        yield from _if_equal(value, ALLOW)
    yield _instruction(RETURN, FAIL | errno.EPERM)


def _none_of(values: Iterable[int]) -> Iterator[bytes]:
    yield _instruction(LOAD, ARGUMENTS + 8)
    for value in values:
        yield from _if_equal(value, FAIL | errno.EPERM)
    yield _instruction(RETURN, ALLOW)


def _streams_only() -> Iterator[bytes]:
    yield _instruction(LOAD, ARGUMENTS + 8)
    yield _instruction(AND, STREAM_TYPE_BITS)
    yield from _unless_equal(socket.SOCK_STREAM, FAIL | errno.EPERM)
    yield _instruction(RETURN, ALLOW)


def _if_equal(value: int, answer: int) -> Iterator[bytes]:
    yield _instruction(EQUAL, value, 0, 1)
    yield _instruction(RETURN, answer)


def _unless_equal(value: int, answer: int) -> Iterator[bytes]:
    yield _instruction(EQUAL, value, 1, 0)
    yield _instruction(RETURN, answer)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
