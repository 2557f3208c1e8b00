"""Since when the active Bundle of an Operator has been missing, as far as this process knows.

Read by reconciler.py's observe, recorded when a pass ends. A restart or a new leader starts again.
"""

from __future__ import annotations

from datetime import datetime

from olmkit.runtime.informer import Change
from operator_controller.operator.world import World


class MissingBundles:
    """Times by Operator and Bundle."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[str, datetime]] = {}

    def since(self, operator: str, bundle: str, now: datetime) -> datetime:
        """When the Bundle was first missing: `now` if it was not yet."""
        known, since = self._since.get(operator, ("", now))
        return since if known == bundle else now

    def record(self, world: World) -> None:
        """Remember the World's missing Bundle, or that there is none."""
        name = world.operator.metadata.name
        if world.missing_bundle and world.missing_since is not None:
            self._since[name] = world.missing_bundle, world.missing_since
        else:
            self._since.pop(name, None)

    def forget_deleted(self, change: Change) -> None:
        """Forget an Operator that is deleted."""
        if change.new is None and change.old is not None:
            self._since.pop(change.old["metadata"]["name"], None)

    def clear(self) -> None:
        """Forget everything."""
        self._since.clear()
