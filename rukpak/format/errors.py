"""What is wrong with a bundle, all of it at once. Raised by rukpak.format and rukpak.bundledeployment for their reconcilers.
Pure."""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.errors import Blocked

FAULTS_SHOWN = 50
"""Faults named in the message; the number of the others is said."""


class BadBundle(Blocked):
    """The content itself is wrong: only another bundle helps. `faults` are sentences, in the order found."""

    def __init__(self, reason: str, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(reason, message)
        self.faults = tuple(faults) or (message,)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.faults)

    @classmethod
    def of(cls, reason: str, faults: Sequence[str], joint: str = "; ") -> BadBundle:
        """One error that says them all."""
        more = len(faults) - FAULTS_SHOWN
        text = joint.join(faults[:FAULTS_SHOWN]) + (f"{joint}and {more} more" if more > 0 else "")
        return cls(reason, text, faults)
