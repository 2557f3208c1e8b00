"""The Events about an object, as a page follows them. Reads nothing."""

from __future__ import annotations

from typing import Final

from console.routes import Watch
from olmkit.api.meta import Kind

EVENT: Final = Kind("", "v1", "Event", "events", namespaced=True)


def events_about(name: str, namespace: str | None = None) -> Watch:
    """The Events about objects of this name. Those about objects without a namespace are in `default`."""
    selector = f"involvedObject.name={name}"
    return Watch(EVENT, namespace or "default", field_selector=selector, is_signal=True, is_optional=True)
