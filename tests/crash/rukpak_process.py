"""The process rukpak, which is killed at the points of a run and started again each time. Only its cache directory remains."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import aiohttp

from devcluster.allocation import free_port
from devcluster.cluster import Cluster
from devcluster.processes import with_parent_death_signal
from tests.controller_metrics import is_idle
from tests.crash.killing_proxy import KillingProxy, KillPoint

POLL_SECONDS = 0.2


class RukpakProcess:
    """Keeps one process running until stop()."""

    def __init__(self, cluster: Cluster, proxy: KillingProxy, directory: Path) -> None:
        self.kills = 0
        self._proxy = proxy
        self._log = directory / "rukpak.log"
        self._metrics, self._probes = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self._arguments = [
            "-m",
            "rukpak",
            f"--kubeconfig={proxy.kubeconfig}",
            f"--cache-dir={directory / 'cache'}",
            f"--registries-conf={cluster.registries_conf}",
            f"--metrics-bind-address={self._metrics}",
            f"--health-probe-bind-address={self._probes}",
            "--webhook-bind-address=0",
            "--no-leader-elect",
        ]
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._points: list[KillPoint] = []
        self._is_killed = False
        proxy.kill = self._kill

    async def start(self) -> None:
        """Start the first process."""
        await self._spawn()
        self._keeper = asyncio.create_task(self._keep())

    def kill_at(self, points: Iterable[KillPoint]) -> None:
        """From now on kill the present process, and those after it, at these points too."""
        self._points += points
        if self._proxy.point is None:
            self._proxy.begin(self._next_point())

    async def stop(self) -> None:
        """End the process in an orderly way. Raises AssertionError if it ended by itself before."""
        assert self._keeper is not None
        assert self._process is not None
        if self._keeper.done():
            self._keeper.result()
        self._keeper.cancel()
        await asyncio.wait({self._keeper})
        if self._process.returncode is None:
            self._process.terminate()
        await self._process.wait()

    async def ended(self) -> None:
        """Wait until the process has ended by itself, which it must not; raises AssertionError then."""
        assert self._keeper is not None
        await asyncio.shield(self._keeper)

    async def until_idle(self) -> None:
        """Wait until the present process has started, and has nothing to do. Raises as ended()."""
        assert self._keeper is not None
        async with aiohttp.ClientSession() as session:
            while not await self._is_idle(session):
                if self._keeper.done():
                    self._keeper.result()
                await asyncio.sleep(POLL_SECONDS)

    async def _is_idle(self, session: aiohttp.ClientSession) -> bool:
        try:
            async with session.get(f"http://{self._probes}/readyz") as ready:
                is_ready = ready.ok
            async with session.get(f"http://{self._metrics}/metrics") as answer:
                metrics = await answer.text()
        except aiohttp.ClientError:
            return False
        return is_ready and is_idle(metrics)

    @property
    def log(self) -> str:
        """The end of what the processes logged."""
        return self._log.read_text(errors="replace")[-4000:]

    def _kill(self) -> None:
        assert self._process is not None
        self._is_killed = True
        self.kills += 1
        os.kill(self._process.pid, signal.SIGKILL)

    async def _spawn(self) -> None:
        self._is_killed = False
        self._proxy.begin(self._next_point())
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *with_parent_death_signal(sys.executable, self._arguments), stdout=log, stderr=log
            )

    def _next_point(self) -> KillPoint | None:
        return self._points.pop(0) if self._points else None

    async def _keep(self) -> None:
        while True:
            assert self._process is not None
            code = await self._process.wait()
            if not self._is_killed:
                raise AssertionError(f"rukpak ended with {code}:\n{self.log}")
            await self._spawn()
