"""Finds what the publisher has deprecated of what an Operator follows: the package, the channel, the installed bundle.

Resolution itself only prefers bundles that are not deprecated. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.gocompat.text import truncate
from operator_controller.resolve.selection.package_resolution import Chosen, PackageResolution

MAX_DEPRECATION_BYTES = 1024
"""UTF-8 bytes of a publisher's message."""
NO_REASON = "no reason is given"


@dataclass(frozen=True)
class Deprecations:
    """The publisher's messages; empty for what is not deprecated."""

    package: str = ""
    channels: tuple[tuple[str, str], ...] = ()
    """The channels that are deprecated, with their messages."""
    bundle: str = ""


def find_deprecations(resolution: PackageResolution) -> Deprecations | None:
    """Those of the installed bundle and its channel, else of the chosen one; None if their catalog's content is not known.

    The channels are those that the spec names, or all of the package if it follows every channel, else the one that the bundle
    was chosen from.
    """
    running, outcome = resolution.snapshot.running, resolution.outcome
    candidate = outcome.candidate if isinstance(outcome, Chosen) else None
    if running is not None:
        name, channel, catalog = running.name, running.channel, running.catalog
        if resolution.successor is not None:
            catalog = resolution.successor.catalog
    elif candidate is not None:
        name, channel, catalog = candidate.bundle.name, candidate.channel, candidate.catalog
    else:
        return Deprecations()
    offer = next((one for one in resolution.snapshot.offers if one.catalog == catalog), None)
    if offer is None or offer.package is None:
        return None
    package, request = offer.package, resolution.snapshot.request
    every = sorted(one.name for one in package.channels) if request.follows_every_channel else ()
    followed = every or request.named_channels or (channel,)
    messages = [(each, _message(package.deprecated_channels.get(each))) for each in followed]
    return Deprecations(
        package=_message(package.deprecation),
        channels=tuple(one for one in messages if one[1]),
        bundle=_message(package.deprecated_bundles.get(name)),
    )


def _message(text: str | None) -> str:
    return "" if text is None else truncate(text.strip() or NO_REASON, MAX_DEPRECATION_BYTES)
