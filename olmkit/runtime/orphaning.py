"""Remembers the objects of one kind that are deleted without their dependents, as `kubectl delete --cascade=orphan` requests.

The finalizer `orphan` requests this deletion. The garbage collector removes the finalizer within milliseconds, perhaps before a
pass sees it. It also removes the finalizer if it did not find the dependents because it does not follow their kind yet.
"""

from __future__ import annotations

from olmkit.api.meta import ORPHAN_FINALIZER
from olmkit.runtime.informer import Change


class OrphaningObjects:
    """The uids of these objects. `record` is subscribed to the informer of the kind."""

    def __init__(self) -> None:
        self._uids: set[str] = set()

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids

    def record(self, change: Change) -> None:
        """Remember the object, or forget it when it is gone."""
        metadata = (change.new or change.old or {})["metadata"]
        if change.new is None:
            self._uids.discard(metadata["uid"])
        elif "deletionTimestamp" in metadata and ORPHAN_FINALIZER in (metadata.get("finalizers") or ()):
            self._uids.add(metadata["uid"])
