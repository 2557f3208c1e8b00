"""Computes the time to wait before the next attempt: exponential, bounded, with jitter.

Each user has a constant of its own: olmkit.runtime.queue KEY_BACKOFF (keys whose pass failed), olmkit.runtime.informer
WATCH_BACKOFF (watches that were cut), catalogd.replication.follower COPY_RETRY_BACKOFF (content that could not be copied).
Attempts have no limit. Other delays: that of a Waiting error, that of a failed job (olmkit.jobs.scheduler), and that of a
rejected apply (rukpak.bundledeployment.act). An API server that asks for more time with Retry-After is given it:
retry_delay(). Pure except for the default source of random numbers; never sleeps.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from olmkit.errors import ApiError

MAX_RETRY_AFTER_SECONDS = 60
"""The longest Retry-After that is waited for before a request is made again."""


@dataclass(frozen=True)
class Backoff:
    """A delay that doubles from `first` to `cap`, both in seconds; each delay is spread by `jitter` (0.2: from 80 % to 120 %)."""

    first: float
    cap: float
    jitter: float = 0.2
    random_fraction: Callable[[], float] = random.random
    """A number in [0, 1)."""

    def delay(self, failures: int) -> float:
        """Seconds to wait after that many consecutive failures; 0 counts as 1. Never more than `cap`."""
        exponent = min(max(failures, 1) - 1, 64)
        plain = min(self.first * 2.0**exponent, self.cap)
        return min(plain * (1 - self.jitter + 2 * self.jitter * self.random_fraction()), self.cap)


def retry_delay(error: Exception, seconds: float) -> float:
    """Seconds until what failed with this error is tried again: `seconds`, or what the API server asks for if that is longer, at
    most MAX_RETRY_AFTER_SECONDS."""
    asked = error.retry_after if isinstance(error, ApiError) else None
    return max(seconds, min(asked or 0, MAX_RETRY_AFTER_SECONDS))
