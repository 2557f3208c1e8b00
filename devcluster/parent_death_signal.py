"""Runs a program that ends with its parent: the kernel sends the program a signal when the parent's thread that started it ends.

Run as a script by devcluster.processes: `parent_death_signal.py PARENT SIGNAL PROGRAM ARGUMENT...`. It keeps the process id.
preexec_fn of subprocess would do the same without a script, but it is not safe in a parent with threads.
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
