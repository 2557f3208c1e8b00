"""Watches the pods of workloads that are not healthy, so that the status says why: which pod, which container, its last line.

Pods are watched by the selector of their workload, and only as long as it is unhealthy; what is kept of a pod is its problem.
Never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster.access_reviews import may
from rukpak.bundledeployment.cluster.inventory import InformerFactory
from rukpak.bundledeployment.cluster.shared_watches import SharedWatches
from rukpak.bundledeployment.health.pod_problems import Crash, Explanation, PodProblem, pod_problem
from rukpak.format.objects import ObjectKey
from rukpak.permissions.rules import Right

PODS = Kind("", "v1", "Pod", "pods", namespaced=True)
LOG_TIMEOUT_SECONDS = 2.0
"""The time for which a pass waits for the last line of a container."""
MAX_LOG_BYTES = 4096


class Pods(NamedTuple):
    """The pods of a workload: its namespace, and its label selector as the API server reads it."""

    namespace: str
    selector: str


class PodWatch:
    """The pods of all unhealthy workloads. `changed` is called with the name of the BundleDeployment."""

    def __init__(self, informers: InformerFactory, client: Client, changed: Callable[[str], None]) -> None:
        self._informers = informers
        self._client = client
        self._changed = changed
        self._watches = SharedWatches(informers, self._start)
        self._last_lines: dict[tuple[str, Pods], tuple[Crash, str]] = {}
        """The line that was read last for a BundleDeployment, and of which end of a container."""

    async def problems(
        self, name: str, workloads: Mapping[ObjectKey, str], as_account: Client | None = None
    ) -> dict[ObjectKey, Explanation]:
        """One for each workload, given with its selector, that has a pod with a problem. Watches these, and no others. With an
        account, only those that it may read itself; it also reads the log."""
        wanted = {key: Pods(key.namespace, selector) for key, selector in workloads.items()}
        if as_account is not None:
            wanted = {key: pods for key, pods in wanted.items() if await _may_read(as_account, pods)}
        watched = await self._watches.watch(name, wanted.values())
        self._drop_lines()
        found = await asyncio.gather(
            *(self._explanation(name, pods, watched[pods], as_account) for pods in wanted.values())
        )
        return {key: explanation for key, explanation in zip(wanted, found, strict=True) if explanation is not None}

    async def forget(self, name: str) -> None:
        """The BundleDeployment has no unhealthy workload, or is deleted."""
        await self._watches.forget(name)
        self._drop_lines()

    def _drop_lines(self) -> None:
        """Forget those of pods that are not watched any more."""
        self._last_lines = {
            (name, pods): line
            for (name, pods), line in self._last_lines.items()
            if name in self._watches.names_of(pods)
        }

    async def _explanation(
        self, name: str, pods: Pods, informer: Informer, as_account: Client | None
    ) -> Explanation | None:
        """The problem of the pod that crashes, else of the first one by name; None if there is none."""
        problems: list[PodProblem] = [
            problem for obj in informer.objects.values() if (problem := obj.get("problem")) is not None
        ]
        if not problems:
            return None
        chosen = min(problems, key=lambda problem: (problem.crash is None, problem.pod))
        if chosen.crash is None:
            return chosen.explained()
        last = self._last_lines.get((name, pods))
        if last is None or last[0] != chosen.crash:
            line = await self._last_line(chosen.crash, as_account or self._client)
            last = self._last_lines[name, pods] = (chosen.crash, line)
        return chosen.explained(last[1])

    async def _last_line(self, crash: Crash, client: Client) -> str:
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
                    text = await client.read_text(path, query)
            except (ApiError, TimeoutError):
                return ""
        lines = text.strip().splitlines()
        return lines[-1] if lines else ""

    def _start(self, pods: Pods) -> Informer:
        informer = self._informers.informer(
            PODS, namespace=pods.namespace, label_selector=pods.selector, transform=_problem_of, absent_is_empty=True
        )

        def on_change(change: Change) -> None:
            """Handle a change of a pod; ignores the first list, and changes that leave its problem the same."""
            old, new = ((obj or {}).get("problem") for obj in (change.old, change.new))
            if informer.synced.is_set() and old != new:
                for name in self._watches.names_of(pods):
                    self._changed(name)

        informer.subscribe(on_change)
        return informer


async def _may_read(client: Client, pods: Pods) -> bool:
    try:
        return await may(client, Right(pods.namespace, "", PODS.plural, "", "list"))
    except ApiError:
        return False


def _problem_of(obj: Object) -> Object:
    return {"metadata": {}, "problem": pod_problem(obj)}
