"""The process `olm-console` in a cluster, also as `python -m console`. `olm console` on a laptop is console.local."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence

from console.setup import make_parser, serve_in_cluster
from olmkit.errors import OlmError
from olmkit.jobs import syscalls
from olmkit.runtime import logs, tls_read_buffer

log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; returns the exit status."""
    flags = make_parser().parse_args(arguments)
    logs.configure(flags.log_level)
    syscalls.set_dumpable(False)  # other processes of this user must not read its memory: it holds tokens
    tls_read_buffer.limit_tls_read_buffers()
    try:
        asyncio.run(serve_in_cluster(flags))
    except OlmError as error:
        log.critical(error.message, extra={"reason": error.reason})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
