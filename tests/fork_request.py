"""A request to run a program as a fork of the process of tests/forked_programs.py, and the answers: its pid, its exit status.

As a program, `python -I -S fork_request.py SOCKET MODULE ARGUMENT...`, it stands for that program in a shell. It imports light
modules alone.
"""

import os
import socket
import sys
from collections.abc import Mapping, Sequence

ANSWER_BYTES = 16


def send(
    connection: socket.socket,
    program: Sequence[str],
    environment: Mapping[str, str],
    streams: Sequence[int],
) -> None:
    """Ask for a program, its module and its arguments, in the working directory of this process with these three streams.

    The first answer is its pid with a descriptor of it, the second its exit status. The end of the connection ends the program.
    """
    variables = [f"{name}={value}" for name, value in environment.items()]
    request = "\0".join([os.getcwd(), str(len(program)), *program, *variables])
    socket.send_fds(connection, [request.encode()], streams)


def connect(address: str) -> socket.socket:
    """A connection for one program."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(address)
    return connection


if __name__ == "__main__":
    with connect(sys.argv[1]) as made:
        send(made, sys.argv[2:], os.environ, [0, 1, 2])
        made.recv(ANSWER_BYTES)
        sys.exit(int(made.recv(ANSWER_BYTES)))
