"""One controller process: flags, client, informers, leader election, controllers, probes, metrics and shutdown.

Each entry point calls `run(name, build)`. Every replica runs informers, probes and servers; only the leader runs controllers. The
TaskGroup in Manager.run is the root of all tasks: a task that crashes ends the process with exit status 1.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from olmkit.api.meta import Kind
from olmkit.errors import OlmError
from olmkit.jobs import syscalls
from olmkit.runtime import logs, tls_read_buffer
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.election import Election, Term
from olmkit.runtime.flags import Settings, make_parser, parse_settings
from olmkit.runtime.informer import Informer
from olmkit.runtime.probes import serve_health, serve_metrics
from olmkit.runtime.watchdog import Watchdog

__all__ = ["Manager", "Settings", "make_parser", "parse_settings", "run", "run_with"]

DRAIN_TIMEOUT_SECONDS = 10.0
"""The time for which passes in progress may continue after SIGTERM."""

WORK_TIMEOUT_SECONDS = 20.0
"""The time for which all work may continue after SIGTERM, including what follows the passes; then it is cancelled."""

SHUTDOWN_TIMEOUT_SECONDS = 25.0
"""The time that the whole shutdown may take after SIGTERM; the kubelet kills a container after 30 s."""

CLOSE_TIMEOUT_SECONDS = 12.0
"""The time that each function given to on_close() may take. The fork server of jobs has 10 s to end."""

log = logging.getLogger(__name__)
Build = Callable[["Manager"], Awaitable[None]]
Runnable = Callable[[], Awaitable[None]]
ReadyCheck = Callable[[], bool]


class Manager:
    """`build` adds informers, controllers and runnables to it, and run() runs them. Cannot be used again afterwards."""

    def __init__(self, name: str, settings: Settings, client: Client) -> None:
        self.name = name
        self.settings = settings
        self.client = client
        self._informers: dict[tuple[Any, ...], Informer] = {}
        self._informer_tasks: dict[Informer, asyncio.Task[None]] = {}
        self._controllers: list[Controller] = []
        self._services: list[Runnable] = []
        self._leader_services: list[Runnable] = []
        self._started_leading_callbacks: list[Callable[[], None]] = []
        self._closers: list[Runnable] = []
        self._checks: dict[str, ReadyCheck] = {}
        self._group: asyncio.TaskGroup | None = None
        self._stopping = asyncio.Event()
        self._leading = False
        self._required: dict[Informer, None] = {}
        self._election: Election | None = None
        self.lease_annotations: dict[str, str] = {}
        """Annotations of the lease while this process holds it; set before run()."""

    def informer(self, kind: Kind, **options: Any) -> Informer:
        """The informer of a kind, one per kind and options (those of Informer). Runs on every replica."""
        identity = (kind, *sorted(options.items(), key=lambda item: item[0]))
        informer = self._informers.get(identity)
        if informer is None:
            informer = self._informers[identity] = Informer(self.client, kind, **options)
            if self._group is not None:
                self._start_informer(informer)
        return informer

    async def remove_informer(self, informer: Informer) -> None:
        """Stop and remove an informer; the next informer() with its arguments makes a new one."""
        for controller in self._controllers:
            controller.unwatch(informer)
        for identity, known in list(self._informers.items()):
            if known is informer:
                del self._informers[identity]
        task = self._informer_tasks.pop(informer, None)
        if task is not None:
            task.cancel()
            await asyncio.wait(
                {task}
            )  # not `await task`: it could not be distinguished from a cancellation of the caller

    def add_controller(self, controller: Controller) -> None:
        """Run it while this process holds the lease. /readyz fails until its informers have synced."""
        self._controllers.append(controller)

    def add_runnable(self, service: Runnable, *, every_replica: bool = True) -> None:
        """Run a coroutine function: on every replica until shutdown, or only while this process holds the lease."""
        (self._services if every_replica else self._leader_services).append(service)

    def on_started_leading(self, callback: Callable[[], None]) -> None:
        """Call it each time this process starts leading, before any controller processes a key.

        State that the process keeps from an earlier term may be out of date, as another process led since: it is dropped there.
        """
        self._started_leading_callbacks.append(callback)

    def on_close(self, close: Runnable) -> None:
        """Await it at the end, in reverse order of the calls."""
        self._closers.append(close)

    def add_ready_check(self, name: str, check: ReadyCheck) -> None:
        """/readyz fails while this returns False."""
        self._checks[name] = check

    @property
    def is_leading(self) -> bool:
        """True if this process runs controllers: it holds the lease, or there is no election."""
        return self._leading

    @property
    def leader_annotations(self) -> Mapping[str, str]:
        """Annotations of the lease while another process holds it; empty if this one does or the holder is unknown."""
        return self._election.holder_annotations if self._election else {}

    @property
    def lease_term(self) -> Term | None:
        """The current term of the lease as far as known; this process's own from the moment it acquires the lease."""
        return self._election.term if self._election else None

    def stop(self) -> None:
        """Shut down, as on SIGTERM."""
        self._stopping.set()

    async def run(self) -> None:
        """Run everything until stop(), then drain. Raises the exceptions of tasks that crashed."""
        async with AsyncExitStack() as stack:
            limit = stack.enter_context(Watchdog(f"{self.name} shutdown", "shutdown takes too long: exiting"))
            await stack.enter_async_context(serve_health(self.settings.health_probe_bind_address, self._check_results))
            await stack.enter_async_context(serve_metrics(self.settings.metrics_bind_address))
            async with asyncio.TaskGroup() as group:
                try:
                    await self._run_in(group, limit)
                except BaseException:  # a task crashed, or this task was cancelled
                    limit.arm(time.monotonic() + SHUTDOWN_TIMEOUT_SECONDS)
                    raise
                finally:
                    self._group = None

    async def _run_in(self, group: asyncio.TaskGroup, limit: Watchdog) -> None:
        """Start all tasks, wait for stop(), let the work end, then cancel informers and servers."""
        self._group = group
        self._required = {one: None for controller in self._controllers for one in controller.informers}
        for informer in self._informers.values():
            self._start_informer(informer)
        services = [group.create_task(_run(service)) for service in self._services]
        work = group.create_task(self._work(), name=f"{self.name} work")
        await self._stopping.wait()
        log.info("stopping")
        limit.arm(time.monotonic() + SHUTDOWN_TIMEOUT_SECONDS)
        if not self._leading:
            work.cancel()
        await asyncio.wait({work}, timeout=WORK_TIMEOUT_SECONDS)
        for task in (work, *services, *self._informer_tasks.values()):
            task.cancel()

    async def close(self) -> None:
        """Await the functions given to on_close(); each may take CLOSE_TIMEOUT_SECONDS."""
        for close in reversed(self._closers):
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                    await close()
            except TimeoutError:
                log.error("closing takes too long, skipped", extra={"what": getattr(close, "__qualname__", "")})

    def _start_informer(self, informer: Informer) -> None:
        assert self._group is not None
        task = self._group.create_task(informer.run(), name=f"informer {informer.kind.plural}")
        self._informer_tasks[informer] = task

    async def _work(self) -> None:
        """Lead each time the lease is acquired; returns when the work has ended after stop()."""
        if self.settings.leader_elect:
            namespace, annotations = self.settings.system_namespace, self.lease_annotations
            self._election = Election(self.client, self.name, namespace, annotations=annotations)
            await self._election.run(self._lead)
        else:
            await self._lead()

    async def _lead(self) -> None:
        """Run the controllers until stop(), and then until their passes have ended or DRAIN_TIMEOUT_SECONDS are over.

        All informers list again first: what another leader has written since may not have reached them.
        """
        if self._stopping.is_set():
            return
        if self._election is not None:
            for informer in self._informers.values():
                informer.relist()
        for callback in self._started_leading_callbacks:
            callback()
        self._leading = True
        try:
            async with asyncio.TaskGroup() as group:
                services = [group.create_task(_run(service)) for service in self._leader_services]
                controllers = [group.create_task(one.run(), name=one.name) for one in self._controllers]
                await self._stopping.wait()
                for controller in self._controllers:
                    controller.stop()
                if controllers:
                    await asyncio.wait(controllers, timeout=DRAIN_TIMEOUT_SECONDS)
                for task in (*controllers, *services):
                    task.cancel()
        finally:
            self._leading = False

    def _check_results(self) -> dict[str, bool]:
        """Each ready check by name, and whether it passes."""
        informers = {f"informer {one.kind.plural}": one.synced.is_set() for one in self._required}
        return {**informers, **{name: check() for name, check in self._checks.items()}}


async def _run(service: Runnable) -> None:
    await service()


async def _main(name: str, settings: Settings, build: Build) -> None:
    loop, main = asyncio.get_running_loop(), asyncio.current_task()
    assert main is not None
    tls_read_buffer.limit_tls_read_buffers()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, main.cancel)
    async with Client(settings.kubeconfig) as client:
        await client.open()
        manager = Manager(name, settings, client)
        try:
            await build(manager)
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, manager.stop)
            await manager.run()
        finally:
            await manager.close()
    log.info("stopped")


def run(
    name: str,
    build: Build,
    add_flags: Callable[[ArgumentParser], None] | None = None,
    argv: Sequence[str] | None = None,
) -> int:
    """The body of an entry point: parse flags, configure logs, call `build`, run the manager until SIGTERM or SIGINT.

    Returns the exit status: 0 after an orderly shutdown, 1 if it cannot start or a task crashed.
    """
    parser = make_parser(name)
    if add_flags is not None:
        add_flags(parser)
    return run_with(name, parse_settings(parser, argv), build)


def run_with(name: str, settings: Settings, build: Build) -> int:
    """Same as run(), with flags that are parsed already."""
    logs.configure(settings.log_level)
    syscalls.set_dumpable(
        False
    )  # other processes of this user, such as jobs, must not read its memory: it holds a token
    try:
        asyncio.run(_main(name, settings, build))
    except asyncio.CancelledError:
        return 0  # stopped during startup
    except OlmError as error:
        log.critical(error.message, extra={"reason": error.reason})
        return 1
    except BaseExceptionGroup as crash:
        log.critical("a task crashed: exiting", exc_info=crash)
        return 1
    return 0
