"""Rate limits for TokenReviews and SubjectAccessReviews of tokens and paths that are not cached: per client and in total.

Any client that reaches the port can send random tokens, and each one costs the API server a TokenReview; a client with a valid
token can request random paths, and each one costs a SubjectAccessReview. Used by delegated_auth.py, which identifies clients and
decides what is exempt. Pure: the caller passes the time.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class ReviewRates:
    """Reviews per second, and burst, of one client and of all clients. One client cannot use up the total."""

    rate: int
    burst: int
    total_rate: int
    total_burst: int


TOKEN_REVIEW_RATES = ReviewRates(rate=10, burst=20, total_rate=50, total_burst=50)
"""The rates of TokenReviews; a client is an address."""
ACCESS_REVIEW_RATES = ReviewRates(rate=20, burst=100, total_rate=100, total_burst=300)
"""The rates of SubjectAccessReviews; a client is a user. A page of icons requests many paths at once."""
MAX_CLIENTS = 4096
"""Clients that are kept; the least recently active one is dropped first."""
IPV6_CLIENT_PREFIX_BITS = 64
"""All addresses of such an IPv6 network count as one client."""


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
    """A rate limiter for one type of review."""

    def __init__(self, rates: ReviewRates) -> None:
        self._rates = rates
        self._total: _Bucket | None = None
        self._by_client: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, client: str, now: float) -> bool:
        """Report whether a review for the client is allowed, and count it if it is. `now` in seconds of a monotonic clock."""
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
        """Return a review that the client took."""
        for bucket in (self._total, self._by_client.get(client)):
            if bucket is not None:
                bucket.give_back_one()


def client_of(address: str) -> str:
    """The client of an IP address ("" when it is not known): addresses with equal results count as one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, IPV6_CLIENT_PREFIX_BITS), strict=False))
