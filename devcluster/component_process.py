"""One running component of a cluster: its process, its log file, and the task that starts it again when it ends."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from devcluster.control_plane import Component
from devcluster.errors import DevclusterError
from devcluster.processes import with_parent_death_signal

_RESTART_SECONDS = 0.5
_TAIL_BYTES = 3000


class ComponentProcess:
    """A component and, while it runs, its process."""

    def __init__(self, component: Component, programs: Path, logs: Path) -> None:
        """`programs` is the directory of the programs, `logs` the one that gets NAME.log."""
        self.name = component.name
        self._component = component
        self._program = Path(component.program or programs / component.name)
        self._log = logs / f"{component.name}.log"
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the process; does nothing when it runs."""
        if self.pid is not None:
            return
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *with_parent_death_signal(self._program, self._component.arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._log.parent,
                env={**os.environ, **self._component.environment},
            )

    def restart_on_exit(self, restarted: Callable[[], None]) -> None:
        """Restart the process whenever it ends unexpectedly from here on, and call `restarted` each time."""
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._restart_for_ever(restarted))

    async def stop(self, signal_number: int = signal.SIGTERM) -> None:
        """Send the signal, wait until the process has ended, and do not restart it."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None
        if self._process is not None:
            if self.pid is not None:
                self._process.send_signal(signal_number)
            await self._process.wait()

    def raise_if_ended(self) -> None:
        """Raise DevclusterError with the end of the log if the process has ended."""
        if self._process is not None and self._process.returncode is not None:
            raise DevclusterError(
                f"{self.name} ended while the cluster started. The end of its log:\n{self._log_tail()}"
            )

    async def _restart_for_ever(self, restarted: Callable[[], None]) -> None:
        while self._process is not None:
            await self._process.wait()
            # A component that cannot run must not use a core for its restarts.
            await asyncio.sleep(_RESTART_SECONDS)
            await self.start()
            restarted()

    def _log_tail(self) -> str:
        text = self._log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
        return "\n".join(f"  {line}" for line in text.splitlines()[-12:])
