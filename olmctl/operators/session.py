"""The connection of a command to a cluster: the client that its options lead to.

The work of a command is an async function; on_cluster() makes what its declaration in olmctl.cli calls.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from olmctl.commands import FAILED, CommandError
from olmctl.operators.retrying_client import RetryingClient
from olmkit.errors import NotFound, Unavailable
from olmkit.runtime.client import NO_ANSWER, Client

FIELD_MANAGER = "olm"
"""The field manager of everything that the commands apply."""
_NOT_SERVED = ("404 page not found", "the server could not find the requested resource")
"""Answers of the API server to requests for kinds that it does not know."""


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
    """The command as a function of its options and those of connection_options, which runs it with a Session."""

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

    return callback
