"""A client whose writes the informers of a test know at once: what a test asks of them is never from before its own writes.

It follows kinds of the whole cluster; for writes of others, and of kubectl, an informer is as late as its watch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer

Object = dict[str, Any]


class InformingClient(Client):
    """`informers` are those of the test, of kinds without namespaces."""

    informers: Sequence[Informer] = ()

    async def request(self, method: str, path: str, **options: Any) -> Object:
        answer = await super().request(method, path, **options)
        if method != "GET" and (options.get("query") or {}).get("dryRun") is None:
            for informer in self.informers:
                if f"{path}/".startswith(f"{informer.kind.path()}/"):
                    _record(informer, answer)
        return answer


def _record(informer: Informer, answer: Object) -> None:
    """Take the answer to a write: the object, or, if a deletion is complete, a Status with its name and uid."""
    metadata = answer.get("metadata") or {}
    if "resourceVersion" not in metadata:
        details = answer.get("details") or {}
        informer.record_deletion(details["name"], details["uid"])
    elif metadata.get("deletionTimestamp") is None or metadata.get("finalizers"):
        informer.record_write(answer)
