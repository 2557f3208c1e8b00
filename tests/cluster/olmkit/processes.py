"""Runs the example controller as real processes and sends them requests; used by the tests of manager and election."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from olmkit.runtime.client import Client
from tests.cluster.olmkit.conftest import CONFIG_MAP, Object, View, config_map

ROOT = Path(__file__).parents[3]


@dataclass
class Process:
    """One running example process."""

    who: str
    child: asyncio.subprocess.Process
    lines: list[Object] = field(default_factory=list)
    """Log lines so far; a line that is not JSON fails the reader."""
    _logged: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> None:
        assert self.child.stderr is not None
        async for line in self.child.stderr:
            self.lines.append(json.loads(line))
            self._logged.set()

    async def logged(self, message: str, *, within: float = 30.0, **facts: object) -> Object:
        """Wait for the first log line with this msg and these fields."""
        async with asyncio.timeout(within):
            while True:
                for line in self.lines:
                    if line["msg"] == message and all(line.get(key) == value for key, value in facts.items()):
                        return line
                self._logged.clear()
                await self._logged.wait()

    async def get(self, server: str, path: str) -> tuple[int, str]:
        """Status and text of a GET to its "probes" or "metrics" server."""
        address = (await self.logged("listening", server=server))["address"]
        async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}") as answer:
            return answer.status, await answer.text()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.child.send_signal(number)

    async def ended(self, within: float = 30.0) -> int:
        """Wait for its exit status."""
        return await asyncio.wait_for(self.child.wait(), within)


@contextlib.asynccontextmanager
async def example(
    kubeconfig: Path, namespace: str, who: str, *flags: str, prepare: Callable[[], None] | None = None
) -> AsyncIterator[Process]:
    """An example process, killed at the end if it still runs. `prepare` is called in it before exec."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.cluster.olmkit.example", "--who", who, "--kubeconfig", str(kubeconfig)),
        *("--system-namespace", namespace, "--metrics-bind-address=127.0.0.1:0"),
        *("--health-probe-bind-address=127.0.0.1:0", *flags),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=asyncio.subprocess.PIPE,
        limit=2**20,
        preexec_fn=prepare,
    )
    process = Process(who, child)
    reader = asyncio.create_task(process.read())
    try:
        yield process
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
        await reader


class Asker:
    """Sends requests as ConfigMaps and reads which process answered."""

    def __init__(self, client: Client, namespace: str, view: View) -> None:
        self._client = client
        self._namespace = namespace
        self._view = view
        self._count = 0

    async def ask(self, name: str = "question", **data: str) -> str:
        """Send a request; returns its value of `data.asked`."""
        self._count += 1
        asked = f"{name}-{self._count}"
        await self._client.apply(CONFIG_MAP, config_map(self._namespace, name, asked=asked, **data), "asker")
        return asked

    async def answered(self, asked: str, *, within: float = 30.0) -> str:
        """Wait for the answer; returns which process gave it."""
        name = asked.rpartition("-")[0]

        def is_answered() -> bool:
            return self._data(name).get("answered") == asked

        await self._view.until(is_answered, f"{asked} is answered", within=within)
        return str(self._data(name)["by"])

    async def until_answer_of(self, who: str) -> None:
        """Send requests until `who` answers. A process that ends may still answer earlier requests."""
        async with asyncio.timeout(60):
            while await self.answered(await self.ask(), within=60) != who:
                pass

    def _data(self, name: str) -> dict[str, Any]:
        data: dict[str, Any] = self._view.objects.get(name, {}).get("data", {})
        return data
