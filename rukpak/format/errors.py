"""The error of a bundle with invalid content, which lists all its errors. Raised by rukpak.format and rukpak.render, reported by
the reconcilers of Bundles and BundleDeployments and by olmctl.bundle.render. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olmkit.errors import Blocked

UNPACK_FAILED = "UnpackFailed"
"""The reason when files cannot be read as a bundle."""
BUNDLE_LOAD_FAILED = "BundleLoadFailed"
"""The reason when a bundle was read and cannot be installed."""
INVALID_CONFIGURATION = "InvalidConfiguration"
"""The reason when a bundle cannot be installed as the spec of its BundleDeployment says."""
MAX_ERRORS_SHOWN = 50
"""Errors that the message names; it counts the others."""


class BadBundle(Blocked):
    """The content is invalid, so that another bundle is needed. `errors` are the messages, in the order found. `install_modes`:
    those of the bundle, if they do not fit the namespaces to watch."""

    def __init__(
        self,
        reason: str,
        message: str,
        errors: Sequence[str] = (),
        subject: Iterable[str] = (),
        install_modes: Sequence[str] = (),
    ) -> None:
        super().__init__(reason, message, subject)
        self.errors = tuple(errors) or (message,)
        self.install_modes = tuple(install_modes)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.errors, self.subject, self.install_modes)

    @classmethod
    def of(cls, reason: str, errors: Sequence[str], separator: str = "; ") -> BadBundle:
        """One error with all of `errors`; its message names the first MAX_ERRORS_SHOWN."""
        more = len(errors) - MAX_ERRORS_SHOWN
        text = separator.join(errors[:MAX_ERRORS_SHOWN]) + (f"{separator}and {more} more" if more > 0 else "")
        return cls(reason, text, errors)
