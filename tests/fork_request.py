"""A request to run `olm`, sent to the process of tests/forked_olm.py.

As a program, `python -I -S olm_request.py SOCKET ARGUMENT...`, it stands for `olm` in a shell. It imports light modules alone.
"""

import os
import socket
import sys
from collections.abc import Mapping, Sequence

STATUS_BYTES = 16


def send(address: str, arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]) -> int:
    """Run `olm` in the working directory of this process with these three streams; returns its exit status."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    request = "\0".join([os.getcwd(), str(len(arguments)), *arguments, *variables])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(address)
        socket.send_fds(connection, [request.encode()], streams)
        return int(connection.recv(STATUS_BYTES))


if __name__ == "__main__":
    sys.exit(send(sys.argv[1], sys.argv[2:], os.environ, [0, 1, 2]))
