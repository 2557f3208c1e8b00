"""The body of each operator: flags, a client, probes, and an orderly end after SIGTERM.

In a pod the client uses the ServiceAccount; tests run the same programs as processes with a kubeconfig.
"""

import argparse
import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from olmkit.runtime import logs
from olmkit.runtime.client import Client
from olmkit.runtime.probes import serve_health

AddFlags = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True)
class Program:
    """The objects that an operator works with until `stopping` is set."""

    client: Client
    arguments: argparse.Namespace
    started: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


Body = Callable[[Program], Awaitable[None]]


def run(body: Body, add_flags: AddFlags = lambda parser: None, arguments: Sequence[str] | None = None) -> int:
    """Run `body`, which sets `started`, and returns once `stopping` is set. Returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", help="the cluster (default: that of the pod)")
    parser.add_argument("--health-probe-bind-address", default=":8081", metavar="ADDRESS", help="/healthz and /readyz")
    add_flags(parser)
    logs.configure()
    asyncio.run(_run(body, parser.parse_args(arguments)))
    return 0


async def _run(body: Body, arguments: argparse.Namespace) -> None:
    async with Client(arguments.kubeconfig) as client:
        program = Program(client, arguments)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, program.stopping.set)

        def results() -> dict[str, bool]:
            return {"started": program.started.is_set(), "running": not program.stopping.is_set()}

        async with serve_health(arguments.health_probe_bind_address, results):
            await body(program)
