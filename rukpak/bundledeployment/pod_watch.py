"""Watches the pods of workloads that are not healthy, so that the status says why: which pod, which container, its last line.

Called by rukpak.bundledeployment.reconciler, for workloads that have been unhealthy for a while. Pods are watched by the
selector of their workload, and only as long as it is unhealthy; what is kept of a pod is its problem. Never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.inventory import InformerFactory
from rukpak.bundledeployment.pod_problems import Crash, PodProblem, pod_problem
from rukpak.format.objects import ObjectKey

PODS = Kind("", "v1", "Pod", "pods", namespaced=True)
SYNC_TIMEOUT_SECONDS = 2.0
"""How long a pass waits for the first list of the pods of a workload."""
LOG_TIMEOUT_SECONDS = 2.0
"""How long a pass waits for the last line of a container."""
MAX_LOG_BYTES = 4096


class Pods(NamedTuple):
    """The pods of a workload: its namespace, and its label selector as the API server reads it."""

    namespace: str
    selector: str


@dataclass
class _Watched:
    informer: Informer
    names: set[str] = field(default_factory=set)
    """The BundleDeployments that have the workload."""
    last_line: tuple[Crash, str] | None = None
    """The line that was read last, and of which end of a container."""


class PodWatch:
    """The pods of all unhealthy workloads. `changed` is called with the name of the BundleDeployment."""

    def __init__(self, informers: InformerFactory, client: Client, changed: Callable[[str], None]) -> None:
        self._informers = informers
        self._client = client
        self._changed = changed
        self._watched: dict[Pods, _Watched] = {}

    async def problems(self, name: str, workloads: Mapping[ObjectKey, str]) -> dict[ObjectKey, str]:
        """A sentence for each workload, given with its selector, that has a pod with a problem. Watches these, and no others."""
        wanted = {key: Pods(key.namespace, selector) for key, selector in workloads.items()}
        await self._release(name, keep=frozenset(wanted.values()))
        for pods in sorted(set(wanted.values())):
            watched = self._watched.get(pods)
            if watched is None:
                watched = self._watched[pods] = _Watched(self._start(pods))
            watched.names.add(name)
            with suppress(TimeoutError):
                async with asyncio.timeout(SYNC_TIMEOUT_SECONDS):
                    await watched.informer.synced.wait()
        sentences = {key: await self._sentence(self._watched[pods]) for key, pods in wanted.items()}
        return {key: sentence for key, sentence in sentences.items() if sentence}

    async def forget(self, name: str) -> None:
        """The BundleDeployment has no unhealthy workload, or is deleted."""
        await self._release(name, keep=frozenset())

    async def _sentence(self, watched: _Watched) -> str:
        """The problem of the pod that crashes, else of the first one by name; empty if there is none."""
        problems: list[PodProblem] = [
            problem for obj in watched.informer.objects.values() if (problem := obj.get("problem")) is not None
        ]
        if not problems:
            return ""
        chosen = min(problems, key=lambda problem: (problem.crash is None, problem.pod))
        if chosen.crash is None:
            return chosen.sentence()
        if watched.last_line is None or watched.last_line[0] != chosen.crash:
            watched.last_line = (chosen.crash, await self._last_line(chosen.crash))
        return chosen.sentence(watched.last_line[1])

    async def _last_line(self, crash: Crash) -> str:
        """The last line of the container that ended: of its termination message, else of its log; empty if it cannot be read."""
        text = crash.message
        if not text.strip():
            query = {
                "container": crash.container,
                "previous": "true",
                "tailLines": "1",
                "limitBytes": str(MAX_LOG_BYTES),
            }
            path = f"{PODS.path(crash.namespace, crash.pod)}/log"
            try:
                async with asyncio.timeout(LOG_TIMEOUT_SECONDS):
                    text = await self._client.read_text(path, query)
            except (ApiError, TimeoutError):
                return ""
        lines = text.strip().splitlines()
        return lines[-1] if lines else ""

    async def _release(self, name: str, keep: frozenset[Pods]) -> None:
        for pods, watched in list(self._watched.items()):
            if name in watched.names and pods not in keep:
                watched.names.discard(name)
                if not watched.names and self._watched.get(pods) is watched:
                    del self._watched[pods]
                    await self._informers.remove_informer(watched.informer)

    def _start(self, pods: Pods) -> Informer:
        informer = self._informers.informer(
            PODS, namespace=pods.namespace, label_selector=pods.selector, transform=_problem_of, absent_is_empty=True
        )

        def on_change(change: Change) -> None:
            """Handle a change of a pod; ignores the first list, and changes that leave its problem the same."""
            watched = self._watched.get(pods)
            old, new = ((obj or {}).get("problem") for obj in (change.old, change.new))
            if watched is not None and watched.informer.synced.is_set() and old != new:
                for name in sorted(watched.names):
                    self._changed(name)

        informer.subscribe(on_change)
        return informer


def _problem_of(obj: Object) -> Object:
    return {"metadata": {}, "problem": pod_problem(obj)}
