"""Becomes the program that is given to it, tied to its parent: when the parent's thread that started it ends, the kernel ends it.

Run as a script by processes.tethered: `tether.py PARENT SIGNAL PROGRAM ARGUMENT...`. The process id stays what it was.
Python's preexec_fn would do the same without a script, but not safely in a parent with threads.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie, then replace this process; does not return."""
    parent, signal_number, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal_number))
    if os.getppid() != int(parent):
        # The parent ended before the tie was made: no signal will come any more.
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
