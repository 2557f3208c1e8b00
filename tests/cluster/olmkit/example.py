"""A small controller process for the tests of manager and election: it answers ConfigMaps.

Run as `python -m tests.cluster.olmkit.example`. Each ConfigMap labelled test=runtime gets `data.answered` = `data.asked` and
`data.by` = --who; `data.seconds` is how long the pass takes, `data.blocked` blocks the whole process that long, and with
`data.stubborn` the pass never ends. A ConfigMap named "crash" crashes a task of the process. With --kind it also watches a
kind that may not be there yet.
"""

from __future__ import annotations

import asyncio
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Change
from olmkit.runtime.manager import Manager, run

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--who", required=True)
    parser.add_argument("--kind", default="", help="plural.group of a cluster-scoped kind, version v1")
    parser.add_argument("--ready-file", type=Path)


def names(change: Change) -> Iterable[str]:
    obj = change.new or change.old
    return [obj["metadata"]["name"]] if obj is not None else []


async def build(manager: Manager) -> None:
    """Set up one controller, a runnable that may crash and a ready check."""
    flags, namespace, client = manager.settings.extra, manager.settings.system_namespace, manager.client
    informer = manager.informer(CONFIG_MAP, namespace=namespace, label_selector="test=runtime")

    async def reconcile(key: str) -> None:
        obj = informer.get(key, namespace)
        if obj is None or obj["data"].get("asked") == obj["data"].get("answered"):
            return
        while "stubborn" in obj["data"]:
            with suppress(asyncio.CancelledError):  # no controller should do that either
                await asyncio.Event().wait()
        await asyncio.sleep(float(obj["data"].get("seconds", "0")))
        time.sleep(float(obj["data"].get("blocked", "0")))  # noqa: ASYNC251 no controller should do that
        answer = {"data": {"answered": obj["data"]["asked"], "by": flags.who}}
        try:
            informer.record_write(await client.patch(CONFIG_MAP, key, answer, namespace))
        except NotFound:
            return

    async def crash() -> None:
        crashed = asyncio.Event()
        informer.subscribe(lambda change: crashed.set() if names(change) == ["crash"] else None)
        await crashed.wait()
        raise RuntimeError("a task that crashes")

    controller = Controller("example", reconcile, workers=2)
    controller.watch(informer, names)
    if flags.kind:
        plural, _, group = flags.kind.partition(".")
        controller.watch(manager.informer(Kind(group, "v1", plural.title(), plural)), names)
    manager.add_controller(controller)
    manager.add_runnable(crash)
    if flags.ready_file is not None:
        manager.add_ready_check("ready file", flags.ready_file.exists)


if __name__ == "__main__":
    sys.exit(run("example", build, add_flags))
