"""The finalizers of the suite, and whether the controllers that remove them run.

Called by olmctl.suite.removal. A controller runs while the holder of its Lease renews it, whether it is a pod or a process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from olmctl.cluster.operator_state import part, text_at
from olmctl.suite.objects import resource_name
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Kind, Object
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.lease import LEASE

CONTROLLER_OF = {operators.FINALIZER: "operator-controller", bundledeployments.FINALIZER: "rukpak"}
"""Finalizer -> the controller that removes it, which is also the name of its Lease."""
NO_LEASE_SECONDS = 5.0
"""A controller without a Lease does not run if it has not created one within this time."""


def own_finalizers(obj: Object) -> Iterator[str]:
    """The finalizers of the suite that an object has."""
    return (each for each in part(obj, "metadata", "finalizers") or () if each in CONTROLLER_OF)


async def remove_own_finalizers(client: Client, kind: Kind, obj: Object) -> None:
    """Remove the finalizers of the suite from an object, and no others. Raises Conflict if it has changed."""
    kept = [each for each in obj["metadata"]["finalizers"] if each not in CONTROLLER_OF]
    metadata = {"finalizers": kept, "resourceVersion": obj["metadata"]["resourceVersion"]}
    await client.patch(kind, obj["metadata"]["name"], {"metadata": metadata})


class Controllers:
    """Which controllers do not run, by the Leases as they are observed; clocks of the cluster are not compared with this one."""

    def __init__(self, client: Client, namespace: str) -> None:
        """Has observed nothing yet."""
        self._client = client
        self._namespace = namespace
        self._seen: dict[str, tuple[str, float]] = {}

    async def is_stopped(self, name: str) -> bool:
        """Whether the Lease of a controller has not been renewed for its duration, since it was first asked for."""
        renewal, duration = await self._renewal(name)
        now = asyncio.get_running_loop().time()
        last = self._seen.get(name)
        if last is None or last[0] != renewal:
            self._seen[name] = renewal, now
            return False
        return now - last[1] >= duration

    async def _renewal(self, name: str) -> tuple[str, float]:
        try:
            lease = await self._client.get(LEASE, name, self._namespace)
        except NotFound:
            return "", NO_LEASE_SECONDS
        spec = part(lease, "spec") or {}
        if not text_at(spec, "holderIdentity"):
            return "", NO_LEASE_SECONDS
        return f"{spec['holderIdentity']} {spec.get('renewTime')}", float(spec.get("leaseDurationSeconds") or 0)


def held_text(kind: Kind, obj: Object) -> str:
    """What holds an object that is being deleted, in one line."""
    ready = next((each for each in part(obj, "status", "conditions") or () if each.get("type") == "Ready"), None)
    finalizers = ", ".join(part(obj, "metadata", "finalizers") or ())
    texts = [text_at(ready, "message"), f"finalizers {finalizers}" if finalizers else ""]
    return f"{resource_name(kind, obj)}: {'; '.join(text for text in texts if text) or 'it is being deleted'}"
