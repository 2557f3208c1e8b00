"""The connection of a command to a cluster: the client that its options lead to.

The work of a command is an async function; on_cluster() makes what its declaration in olmctl.cli calls.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Awaitable, Callable
from typing import Any

from olmctl.commands import FAILED, TIMED_OUT, CommandError
from olmctl.operators.retrying_client import RetryingClient
from olmctl.questions.session import Session, TimeLimit
from olmkit.errors import ApiError, NotFound, OlmError, Unavailable
from olmkit.runtime.client import NO_ANSWER

_NOT_SERVED = ("404 page not found", "the server could not find the requested resource")
"""Answers of the API server to requests for kinds that it does not know."""


def client_of(options: dict[str, Any]) -> RetryingClient:
    """The client for the values of the connection options, which are taken out of `options`. The caller closes it."""
    kubeconfig = options.pop("kubeconfig", None)
    return RetryingClient(
        str(kubeconfig) if kubeconfig else None,
        context=options.pop("context", None),
        impersonate=options.pop("impersonate", None),
    )


def on_cluster(command: Callable[..., Awaitable[int]]) -> Callable[..., int]:
    """The command as a function of its options and those of connection_options, which runs it with a Session.

    A command that waits, which is one with --timeout and not without --wait, ends when that time is over.
    """

    async def opened(options: dict[str, Any], system_namespace: str | None) -> int:
        asyncio.get_running_loop().set_exception_handler(_report_unknown)
        client = client_of(options)
        time = TimeLimit(options["seconds"] if "seconds" in options and options.get("wait", True) else math.inf)
        try:
            async with client, time.limits:
                time.begin()
                return await command(Session(client, system_namespace, time), **options)
        except TimeoutError:
            if not time.limits.expired():
                raise
            raise _late(time.seconds, is_unanswered=client.unanswered > 0) from None
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
    def callback(*, system_namespace: str | None, **options: Any) -> int:
        return asyncio.run(opened(options, system_namespace))

    return callback


def _report_unknown(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Leave out the error of a request beside the one whose error ends the command: one cause is said once."""
    if not isinstance(context.get("exception"), OlmError | ApiError | CommandError):
        loop.default_exception_handler(context)


def _late(seconds: float, *, is_unanswered: bool) -> CommandError:
    """The error of a command whose time is over. `is_unanswered`: it waits for the API server."""
    text = "the API server does not answer" if is_unanswered else "the command has not finished"
    return CommandError(TIMED_OUT, f"not within {seconds:g} seconds: {text}")
