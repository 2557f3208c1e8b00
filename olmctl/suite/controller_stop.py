"""Stops controllers of the suite before anything is done in their place."""

from __future__ import annotations

from contextlib import suppress

from olmctl.commands import FAILED, TIMED_OUT, CommandError
from olmctl.suite.controllers import NEVER, Controllers, now
from olmctl.suite.objects import DEPLOYMENT, resource_name
from olmctl.suite.watched import Watched
from olmctl.terminal_output import ProgressLine, say
from olmkit.errors import NotFound
from olmkit.runtime.client import Client

STRAGGLING_SECONDS = 1.0
"""Two watches may report what ended together one after the other."""


async def stop(client: Client, controllers: Controllers, watched: Watched, name: str, until: float) -> None:
    """Delete the Deployment of the controller, and wait until nothing of it runs. Raises CommandError and names what does."""
    line, ended_at = ProgressLine(), NEVER
    try:
        await _delete(client, controllers, name)
        while running := controllers.running(name) or await controllers.read(name):
            ended_at = NEVER if controllers.workloads(name) else min(ended_at, now())
            if controllers.is_renewed_since(name, ended_at + STRAGGLING_SECONDS) or now() >= until:
                text = (
                    f"{name} still runs, and its finalizers stay: {', '.join(running)}. End it, and repeat this command"
                )
                raise CommandError(TIMED_OUT, text)
            line.show(f"waiting for the end of {name}: {', '.join(running)}")
            await watched.change(min(until, controllers.expires_at(name)))
    finally:
        line.end()


async def _delete(client: Client, controllers: Controllers, name: str) -> None:
    found = controllers.deployment(name)
    if found is not None:
        metadata = found["metadata"]
        with suppress(NotFound):
            await client.delete(DEPLOYMENT, name, metadata["namespace"], uid=metadata["uid"])
        say(f"{resource_name(DEPLOYMENT, found)} deleted", flush=True)


async def check_stopped(controllers: Controllers, name: str) -> None:
    """Raises CommandError if something of a controller runs that was stopped: somebody has started it again."""
    if running := await controllers.read(name):
        text = f"{name} was started again while its finalizers were removed: {', '.join(running)}"
        raise CommandError(FAILED, f"{text}. Stop what applies it, such as Argo CD or Flux, and repeat this command")
