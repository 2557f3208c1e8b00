"""One image registry for the session, for tests that need images but no cluster.

The fixture `local_registry` of tests/integration starts it, with the program and the configuration of the development cluster's
registry: plain HTTP, no login. tests/servers/registry.py starts registries with logins, tokens and TLS for single tests.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from devcluster import parent_death_signal
from devcluster.registry import component, configuration, registries_conf

_LISTENING = re.compile(r"listening on 127\.0\.0\.1:(\d+)")


@dataclass(frozen=True)
class LocalRegistry:
    """`address` is "127.0.0.1:port"; `registries_conf` maps every registry that catalogs name to it."""

    address: str
    registries_conf: Path


@contextmanager
def run_registry(directory: Path, programs: Path) -> Iterator[LocalRegistry]:
    """A registry that stores its images below `directory`, until the block ends or this process exits.

    `programs` is the directory with the registry program.
    """
    # The port that the kernel chose is in the log.
    (directory / "registry.yaml").write_text(
        configuration(directory, "127.0.0.1:0").replace("level: error", "level: info")
    )
    program = component(directory)
    tied = (sys.executable, parent_death_signal.__file__, str(os.getpid()), str(int(signal.SIGKILL)))
    with subprocess.Popen(
        (*tied, str(programs / program.name), *program.arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(program.environment),
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            address = f"127.0.0.1:{_port(process.stderr)}"
            threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
            conf = directory / "registries.conf"
            conf.write_text(registries_conf(address))
            yield LocalRegistry(address, conf)
        finally:
            process.kill()


def _port(output: IO[str]) -> int:
    lines = []
    for line in output:
        lines.append(line)
        if match := _LISTENING.search(line):
            return int(match.group(1))
    raise AssertionError(f"the registry ended: {''.join(lines)[-2000:]}")


def _drain(output: IO[str]) -> None:
    for _ in output:
        pass
