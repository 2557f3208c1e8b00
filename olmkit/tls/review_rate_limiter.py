"""How many reviews the API server is asked for of what nobody has asked before: a limit per client, and one for all of them.

Whoever reaches the port can send random tokens, and each would cost the API server a TokenReview; whoever has a token can ask for
random paths, and each would cost it a SubjectAccessReview. Used by olmkit.tls.delegated_auth, which says who is a client and
what is exempt. Pure: the caller gives the time.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class ReviewRates:
    """Reviews per second and at once, of one client and of all together; all have more than one client can use up."""

    rate: int
    burst: int
    total_rate: int
    total_burst: int


TOKEN_REVIEW_RATES = ReviewRates(rate=10, burst=20, total_rate=50, total_burst=50)
"""TokenReviews; a client is an address."""
ACCESS_REVIEW_RATES = ReviewRates(rate=20, burst=100, total_rate=100, total_burst=300)
"""SubjectAccessReviews; a client is an account. A page of icons is many paths at once."""
MAX_CLIENTS = 4096
"""Clients remembered: the one that asked longest ago goes first."""
IPV6_CLIENT_PREFIX_BITS = 64
"""Of an IPv6 address: one client may have all addresses of its network."""


class _Bucket:
    """A token bucket, full at first."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._at = burst, now

    def has_one(self, now: float) -> bool:
        self._level = min(self._burst, self._level + max(0.0, now - self._at) * self._rate)
        self._at = now
        return self._level >= 1

    def take_one(self) -> None:
        self._level -= 1

    def give_back_one(self) -> None:
        self._level = min(self._burst, self._level + 1)


class ReviewRateLimiter:
    """One share of the reviews."""

    def __init__(self, rates: ReviewRates) -> None:
        self._rates = rates
        self._total: _Bucket | None = None
        self._by_client: OrderedDict[str, _Bucket] = OrderedDict()

    @property
    def client_count(self) -> int:
        """Number of clients that are remembered."""
        return len(self._by_client)

    def take(self, client: str, now: float) -> bool:
        """Whether the client may have a review; `now` in seconds of a monotonic clock. What is refused counts against nobody."""
        rates = self._rates
        if self._total is None:
            self._total = _Bucket(rates.total_rate, rates.total_burst, now)
        own = self._by_client.setdefault(client, _Bucket(rates.rate, rates.burst, now))
        self._by_client.move_to_end(client)
        if len(self._by_client) > MAX_CLIENTS:
            self._by_client.popitem(last=False)
        if not own.has_one(now) or not self._total.has_one(now):
            return False
        own.take_one()
        self._total.take_one()
        return True

    def refund(self, client: str) -> None:
        """A review that the client took does not count."""
        for bucket in (self._total, self._by_client.get(client)):
            if bucket is not None:
                bucket.give_back_one()


def client_of(address: str) -> str:
    """Which IP addresses ("" when it is not known) count as one client."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, IPV6_CLIENT_PREFIX_BITS), strict=False))
