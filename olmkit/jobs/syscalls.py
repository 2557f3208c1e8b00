"""System calls of Linux that Python has no function for: prctl, and system calls by number.

Decides nothing.
"""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


def prctl(option: int, value: int, *more: object) -> None:
    """Raises OSError."""
    # Each argument is a whole word: prctl takes its arguments from registers, and an int would leave half of one undefined.
    words = [*map(_word, (value, *more)), *[ctypes.c_ulong(0)] * (3 - len(more))]
    if _LIBC.prctl(option, *words) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def syscall(number: int, *arguments: object) -> int:
    """The result of the system call. Raises OSError."""
    result = int(_LIBC.syscall(ctypes.c_long(number), *map(_word, arguments)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _word(argument: object) -> object:
    return ctypes.c_ulong(argument) if isinstance(argument, int) else argument


def die_with_parent(parent: int) -> None:
    """Have this process killed when the thread that forked it ends, at once if it has ended already. Raises OSError."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def set_child_subreaper() -> None:
    """Descendants of this process whose parent ends become its children; it has to wait for them."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def set_dumpable(dumpable: bool) -> None:
    """Set whether other processes of the same user may read this one's memory, environment and descriptors. An exec undoes it."""
    prctl(PR_SET_DUMPABLE, int(dumpable))


def set_no_new_privs() -> None:
    """No program that this process or its children start gets more privileges than it has. Cannot be undone."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def erase_environment() -> None:
    """Remove all environment variables, and overwrite their values in the memory where the kernel placed them."""
    _LIBC.getenv.restype = ctypes.c_void_p
    for name in os.environb:
        place = _LIBC.getenv(name)
        if place:
            ctypes.memset(place, 0, len(ctypes.string_at(place)))
    os.environ.clear()
