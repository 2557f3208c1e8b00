"""The custom resources of a CRD that are counted before they are deleted. Called by installed_objects, which counts them, and by
those that show them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.api.meta import Kind

MAX_NAMED = 20
"""Custom resources of a CRD that are named."""
MAX_COUNTED_CUSTOM_RESOURCES = 10_000
"""Custom resources of one kind that are counted."""


@dataclass(frozen=True)
class CustomResources:
    """The number of custom resources that a CRD has beside those of its own bundle; `count` is None if they could not be
    counted."""

    crd: str
    count: int | None
    kind: Kind | None = None
    first: tuple[tuple[str, str], ...] = ()
    """The namespaces and names of the first of them."""

    def __str__(self) -> str:
        """Such as `3 greetings.hello.example.com`."""
        if self.count is None:
            return f"an unknown number of {self.crd} (they cannot be listed)"
        return f"{'at least ' if self.count >= MAX_COUNTED_CUSTOM_RESOURCES else ''}{self.count} {self.crd}"
