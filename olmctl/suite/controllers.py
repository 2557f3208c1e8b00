"""Checks whether the controllers of the suite run.

A controller runs while the holder of its Lease renews it, whether it is a pod or a process. It is stopped when none of its pods
exists and nobody holds its Lease. Times are those of this process: the clocks of others are never compared with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from olmctl.questions.operator_state import part, text_at
from olmctl.questions.port_forward import POD
from olmctl.suite.manifests import NAME_LABEL
from olmctl.suite.objects import DEPLOYMENT, resource_name
from olmctl.suite.watched import Watched
from olmkit.api.meta import Kind, Object
from olmkit.runtime.client import Client
from olmkit.runtime.election import LeaseDurations
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.lease_holder import LEASE, holder_host

REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
FOLLOWED = (DEPLOYMENT, REPLICA_SET, POD, LEASE)
SUCCESSION_SECONDS = 5.0
"""The time that a candidate may take to acquire a Lease that has expired."""
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
        self._opened_at = now()
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
            self._renewals[name] = _Renewal(holder, time, duration, now(), self._is_first)

    def runs(self, name: str) -> bool:
        """Report whether a process renews the Lease of the controller."""
        last = self._renewals.get(name)
        return last is not None and not last.is_first and bool(last.holder) and now() < last.expires_at

    def leader(self, name: str) -> str:
        """The host of the process that renews the Lease of the controller; "" if none does."""
        return holder_host(self._renewals[name].holder) if self.runs(name) else ""

    async def find_stopped(
        self, names: Iterable[str], show: Callable[[str], None], start_seconds: float = LeaseDurations.duration
    ) -> list[str]:
        """Those whose Lease nobody renews for as long as another replica may need to acquire it. Where nobody holds one, a
        controller may need `start_seconds` to start. `show` gets a text about each wait."""
        chosen = sorted(names)
        while waiting := [name for name in chosen if not self.runs(name)]:
            deadline = max(self._may_start_until(name, start_seconds) for name in waiting)
            if now() >= deadline:
                break
            show(f"waiting for {', '.join(waiting)} to renew the lease")
            await self._watched.change(deadline)
        return waiting

    def _may_start_until(self, name: str, start_seconds: float) -> float:
        last = self._renewals.get(name)
        if last is not None and last.holder:
            return last.expires_at + SUCCESSION_SECONDS
        deployment = self._deployments.get(name, self._namespace)
        is_expected = deployment is not None and part(deployment, "spec", "replicas") != 0
        return self._opened_at + start_seconds if is_expected else self._opened_at

    def is_renewed_since(self, name: str, time: float) -> bool:
        """Report whether a process renews the Lease although no pod is left: waiting would not help."""
        last = self._renewals.get(name)
        return last is not None and bool(last.holder) and last.seen_at > time

    def deployment(self, name: str) -> Object | None:
        """The Deployment of the controller; None if there is none."""
        return self._deployments.get(name, self._namespace)

    async def read(self, name: str) -> list[str]:
        """As running(), by what the API server answers at this moment: a watch may have been cut without a sign of it."""
        for informer in self._informers:
            selector = f"{NAME_LABEL}={name}" if informer.kind != LEASE else None
            listed, _ = await self._client.list(informer.kind, self._namespace, selector)
            for each in listed:
                informer.record_write(each)
        return self.running(name)

    def running(self, name: str) -> list[str]:
        """Name what can act as the controller, and what can start such a thing."""
        found = self.workloads(name)
        if now() < self.expires_at(name) < NEVER:
            found.append(f"{holder_host(self._renewals[name].holder)}, which holds the lease {name}")
        return found

    def workloads(self, name: str) -> list[str]:
        """Name the Deployment, the ReplicaSets and the pods of the controller."""
        found = []
        for informer in (self._deployments, self._replica_sets, self._pods):
            for each in informer.objects.values():
                labels = part(each, "metadata", "labels") or {}
                if labels.get(NAME_LABEL) == name and text_at(each, "status", "phase") not in _ENDED:
                    node = text_at(each, "spec", "nodeName")
                    found.append(resource_name(informer.kind, each) + (f" on node {node}" if node else ""))
        return found

    def expires_at(self, name: str) -> float:
        """The time when the Lease of the controller is free, unless it is renewed; never if it is free."""
        last = self._renewals.get(name)
        return last.expires_at if last is not None and now() < last.expires_at else NEVER


def now() -> float:
    """The time of the event loop."""
    return asyncio.get_running_loop().time()
