"""The work of `olm console`: the console on this machine, with a kubeconfig, in the browser.

The link that opens the session is printed once and is used up by the browser: nobody else on the machine can open another session
with it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path

from console.setup import LocalSettings, check, serve_locally


def run(
    *,
    port: int,
    no_open: bool,
    kubeconfig: Path | None,
    context: str | None,
    impersonate: str | None,
    system_namespace: str | None,
) -> int:
    """Serve until Ctrl+C; returns the exit status."""
    settings = LocalSettings(str(kubeconfig) if kubeconfig else None, context, impersonate, port=port)
    asyncio.run(_serve(settings, system_namespace, is_opened=not no_open))
    return 0


async def _serve(settings: LocalSettings, system_namespace: str | None, *, is_opened: bool) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    found = await check(settings)
    if found.is_assumed and system_namespace is None:
        print(f"warning: the suite is assumed to be in {found.text}", file=sys.stderr, flush=True)
    async with serve_locally(replace(settings, system_namespace=system_namespace or found.name)) as url:
        print(f"The console is at {url}", flush=True)
        print("The link opens one session, within a minute. Ctrl+C ends the console.", file=sys.stderr, flush=True)
        if is_opened:
            # Some browsers run until they are closed: Ctrl+C does not wait for them.
            threading.Thread(target=_open, args=(url,), daemon=True).start()
        await stopping.wait()


def _open(url: str) -> None:
    if not webbrowser.open(url):
        print("No browser could be opened: open the link yourself.", file=sys.stderr, flush=True)
