"""Checks whether the controllers of the suite run, and stops them before anything is done in their place.

A controller runs while the holder of its Lease renews it, whether it is a pod or a process. It is stopped when none of its pods
exists and nobody holds its Lease. Times are those of this process: the clocks of others are never compared with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from olmctl.commands import FAILED, TIMED_OUT, CommandError
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.port_forward import POD
from olmctl.suite.manifests import NAME_LABEL
from olmctl.suite.objects import DEPLOYMENT, resource_name
from olmctl.suite.watched import Watched
from olmctl.terminal_output import ProgressLine
from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.election import LeaseDurations
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.lease_holder import LEASE, holder_host

REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
FOLLOWED = (DEPLOYMENT, REPLICA_SET, POD, LEASE)
SUCCESSION_SECONDS = 5.0
"""The time that a candidate may take to acquire a Lease that has expired."""
STRAGGLING_SECONDS = 1.0
"""Two watches may report what ended together one after the other."""
NEVER = float("inf")
_ENDED = ("Succeeded", "Failed")
"""Phases of pods whose containers do not run."""


@dataclass(frozen=True)
class _Renewal:
    """The last renewal of a Lease that was seen. `is_first`: the Lease may have been renewed long before it was first read."""

    holder: str
    time: str
    duration: float
    seen_at: float
    is_first: bool

    @property
    def expires_at(self) -> float:
        """The time when the Lease counts as free, unless it is renewed."""
        return self.seen_at + self.duration if self.holder else self.seen_at


class Controllers:
    """The controllers in the namespace of the suite, followed since open()."""

    def __init__(self, client: Client, namespace: str, watched: Watched, informers: Iterable[Informer]) -> None:
        """Use open()."""
        self._client = client
        self._namespace = namespace
        self._watched = watched
        self._informers = tuple(informers)
        self._deployments, self._replica_sets, self._pods, leases = self._informers
        self._renewals: dict[str, _Renewal] = {}
        self._opened_at = _now()
        self._is_first = True
        leases.subscribe(self._on_lease)
        self._is_first = False

    @classmethod
    async def open(cls, client: Client, namespace: str, watched: Watched) -> Self:
        """Begin to follow them. Raises Unavailable."""
        return cls(client, namespace, watched, [await watched.follow(kind, namespace) for kind in FOLLOWED])

    def _on_lease(self, change: Change) -> None:
        lease = change.new
        if lease is None:
            self._renewals.pop((change.old or {})["metadata"]["name"], None)
            return
        name, spec = lease["metadata"]["name"], part(lease, "spec") or {}
        holder, time = text_at(spec, "holderIdentity"), str(spec.get("renewTime") or "")
        last = self._renewals.get(name)
        if last is None or (last.holder, last.time) != (holder, time):
            duration = float(spec.get("leaseDurationSeconds") or LeaseDurations.duration)
            self._renewals[name] = _Renewal(holder, time, duration, _now(), self._is_first)

    def runs(self, name: str) -> bool:
        """Report whether a process renews the Lease of the controller."""
        last = self._renewals.get(name)
        return last is not None and not last.is_first and bool(last.holder) and _now() < last.expires_at

    def leader(self, name: str) -> str:
        """The host of the process that renews the Lease of the controller; "" if none does."""
        return holder_host(self._renewals[name].holder) if self.runs(name) else ""

    async def find_stopped(
        self, names: Iterable[str], line: ProgressLine, start_seconds: float = LeaseDurations.duration
    ) -> list[str]:
        """Those whose Lease nobody renews for as long as another replica may need to acquire it. Where nobody holds one, a
        controller may need `start_seconds` to start."""
        chosen = sorted(names)
        try:
            while waiting := [name for name in chosen if not self.runs(name)]:
                deadline = max(self._may_start_until(name, start_seconds) for name in waiting)
                if _now() >= deadline:
                    break
                line.show(f"waiting for {', '.join(waiting)} to renew the lease")
                await self._watched.change(deadline)
        finally:
            line.end()
        return waiting

    def _may_start_until(self, name: str, start_seconds: float) -> float:
        last = self._renewals.get(name)
        if last is not None and last.holder:
            return last.expires_at + SUCCESSION_SECONDS
        deployment = self._deployments.get(name, self._namespace)
        is_expected = deployment is not None and part(deployment, "spec", "replicas") != 0
        return self._opened_at + start_seconds if is_expected else self._opened_at

    async def stop(self, name: str, until: float) -> None:
        """Delete the Deployment of the controller, and wait until nothing of it runs. Raises CommandError and names what does."""
        line, ended_at = ProgressLine(), NEVER
        try:
            await self._delete(name)
            while running := self._running(name) or await self._read(name):
                ended_at = NEVER if self._workloads(name) else min(ended_at, _now())
                if self._is_renewed_since(name, ended_at + STRAGGLING_SECONDS) or _now() >= until:
                    text = f"{name} still runs, and its finalizers stay: {', '.join(running)}. End it, and repeat this command"
                    raise CommandError(TIMED_OUT, text)
                line.show(f"waiting for the end of {name}: {', '.join(running)}")
                await self._watched.change(min(until, self._expires_at(name)))
        finally:
            line.end()

    def _is_renewed_since(self, name: str, time: float) -> bool:
        """Report whether a process renews the Lease although no pod is left: waiting would not help."""
        last = self._renewals.get(name)
        return last is not None and bool(last.holder) and last.seen_at > time

    async def _delete(self, name: str) -> None:
        found = self._deployments.get(name, self._namespace)
        if found is not None:
            with suppress(NotFound):
                await self._client.delete(DEPLOYMENT, name, self._namespace, uid=found["metadata"]["uid"])
            print(f"{resource_name(DEPLOYMENT, found)} deleted", flush=True)

    async def check_stopped(self, name: str) -> None:
        """Raises CommandError if something of a controller runs that was stopped: somebody has started it again."""
        if running := await self._read(name):
            text = f"{name} was started again while its finalizers were removed: {', '.join(running)}"
            raise CommandError(
                FAILED, f"{text}. Stop what applies it, such as Argo CD or Flux, and repeat this command"
            )

    async def _read(self, name: str) -> list[str]:
        """As _running, by what the API server answers at this moment: a watch may have been cut without a sign of it."""
        for informer in self._informers:
            selector = f"{NAME_LABEL}={name}" if informer.kind != LEASE else None
            listed, _ = await self._client.list(informer.kind, self._namespace, selector)
            for each in listed:
                informer.record_write(each)
        return self._running(name)

    def _running(self, name: str) -> list[str]:
        """Name what can act as the controller, and what can start such a thing."""
        found = self._workloads(name)
        if _now() < self._expires_at(name) < NEVER:
            found.append(f"{holder_host(self._renewals[name].holder)}, which holds the lease {name}")
        return found

    def _workloads(self, name: str) -> list[str]:
        found = []
        for informer in (self._deployments, self._replica_sets, self._pods):
            for each in informer.objects.values():
                labels = part(each, "metadata", "labels") or {}
                if labels.get(NAME_LABEL) == name and text_at(each, "status", "phase") not in _ENDED:
                    node = text_at(each, "spec", "nodeName")
                    found.append(resource_name(informer.kind, each) + (f" on node {node}" if node else ""))
        return found

    def _expires_at(self, name: str) -> float:
        """The time when the Lease of the controller is free, unless it is renewed; never if it is free."""
        last = self._renewals.get(name)
        return last.expires_at if last is not None and _now() < last.expires_at else NEVER


def _now() -> float:
    return asyncio.get_running_loop().time()
