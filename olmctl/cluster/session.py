"""The connection of a command to a cluster: its options, and the client that they lead to.

Called by the commands of olmctl.cluster and by completion.py. A command is an async function; on_cluster() makes its callback.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import click

from olmctl.cluster.retrying_client import RetryingClient
from olmctl.commands import FAILED, CommandError, ObjectName, file_path, reports_errors
from olmkit.errors import NotFound, Unavailable
from olmkit.runtime.client import NO_ANSWER, Client
from olmkit.runtime.flags import Settings

FIELD_MANAGER = "olm"
"""The field manager of everything that the commands apply."""
DEFAULT_TIMEOUT_SECONDS = 300.0
_NOT_SERVED = ("404 page not found", "the server could not find the requested resource")
"""How the API server answers requests for kinds that it does not know."""


@dataclass(frozen=True)
class Session:
    """A client, which connects at its first request, and the namespace of the suite."""

    client: Client
    system_namespace: str


def client_of(options: dict[str, Any]) -> Client:
    """The client for the values of the connection options, which are taken out of `options`. The caller closes it."""
    kubeconfig = options.pop("kubeconfig", None)
    return RetryingClient(
        str(kubeconfig) if kubeconfig else None,
        context=options.pop("context", None),
        impersonate=options.pop("impersonate", None),
    )


def on_cluster(command: Callable[..., Awaitable[int]]) -> Callable[..., int]:
    """The callback of a command that uses a cluster: adds the connection options, and runs the command with a Session."""

    async def opened(options: dict[str, Any], system_namespace: str) -> int:
        try:
            async with client_of(options) as client:
                return await command(Session(client, system_namespace), **options)
        except NotFound as error:
            if error.message.startswith(_NOT_SERVED):
                raise CommandError(
                    FAILED, "the cluster does not serve the kinds of olm-suite: install it first"
                ) from error
            raise
        except Unavailable as error:
            if error.reason == NO_ANSWER:
                text = f"{error.message}: is this the cluster that you mean? (kubectl config view --minify)"
                raise CommandError(FAILED, text) from error
            raise

    @functools.wraps(command)
    def callback(*, system_namespace: str, **options: Any) -> int:
        return asyncio.run(opened(options, system_namespace))

    with_errors: Callable[..., int] = reports_errors(callback)
    for option in reversed(_CONNECTION_OPTIONS):
        with_errors = option(with_errors)
    return with_errors


_CONNECTION_OPTIONS: tuple[Callable[[Callable[..., int]], Callable[..., int]], ...] = (
    click.option("--kubeconfig", type=file_path(), metavar="FILE", help="The kubeconfig.  [default: as kubectl]"),
    click.option("--context", metavar="NAME", help="The context of the kubeconfig.  [default: its current one]"),
    click.option("--as", "impersonate", metavar="USER", help="The user to impersonate."),
    click.option(
        "--system-namespace",
        type=ObjectName(),
        metavar="NAMESPACE",
        default=Settings.system_namespace,
        help="The namespace of the suite.  [default: olm-suite-system]",
    ),
)


def timeout_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --timeout with this help; the parameter `seconds`, which is DEFAULT_TIMEOUT_SECONDS without it."""
    return click.option(
        "--timeout",
        "seconds",
        type=Duration(),
        default=f"{DEFAULT_TIMEOUT_SECONDS:.0f}s",
        metavar="DURATION",
        help=text,
    )


def wait_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --wait and --timeout, in seconds."""
    command = timeout_option("How long --wait waits, such as 90s or 10m.  [default: 5m]")(command)
    return click.option("--wait", is_flag=True, help="Wait for the outcome, with a line of progress.")(command)


class Duration(click.ParamType[float]):
    """A duration as kubectl takes it: 90s, 5m, 1h30m, or a number of seconds. The value is in seconds."""

    name = "duration"
    _units = (("h", 3600.0), ("m", 60.0), ("s", 1.0))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds. Raises BadParameter."""
        if isinstance(value, float):
            return value
        rest, seconds = str(value).strip(), 0.0
        if rest.isdecimal():
            rest += "s"
        try:
            for unit, factor in self._units:
                number, separator, after = rest.partition(unit)
                if separator:
                    seconds, rest = seconds + float(number) * factor, after
        except ValueError:
            rest = "?"
        if rest or not seconds > 0:
            self.fail(f"{value!r} is no duration such as 90s, 5m or 1h30m", param, ctx)
        return seconds
