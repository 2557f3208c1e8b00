"""Rate limits of reviews, per client and in total."""

from __future__ import annotations

import pytest

from olmkit.tls.review_rate_limiter import (
    ACCESS_REVIEW_RATES,
    MAX_CLIENTS,
    TOKEN_REVIEW_RATES,
    ReviewRateLimiter,
    ReviewRates,
    client_of,
)


def taken(limits: ReviewRateLimiter, now: float, *addresses: str, times: int = 1000) -> int:
    """The number of allowed reviews of these clients."""
    return sum(limits.take(address, now) for _ in range(times) for address in addresses)


BOTH = pytest.mark.parametrize(
    "rates", [pytest.param(TOKEN_REVIEW_RATES, id="tokens"), pytest.param(ACCESS_REVIEW_RATES, id="paths")]
)


@BOTH
def test_a_client_has_its_burst_and_then_its_rate(rates: ReviewRates) -> None:
    limits = ReviewRateLimiter(rates)
    assert taken(limits, 0.0, "a") == rates.burst
    assert taken(limits, 1.0, "a") == rates.rate
    assert taken(limits, 1000.0, "a") == rates.burst


@BOTH
def test_a_refused_client_does_not_use_up_the_total(rates: ReviewRates) -> None:
    limits = ReviewRateLimiter(rates)
    assert taken(limits, 0.0, "a") == rates.burst
    assert limits.take("b", 0.0)


@BOTH
def test_the_total_of_all_clients_is_limited(rates: ReviewRates) -> None:
    limits = ReviewRateLimiter(rates)
    many = [str(number) for number in range(50)]
    assert taken(limits, 0.0, *many, times=20) == rates.total_burst
    assert taken(limits, 1.0, *many, times=20) == rates.total_rate


def test_a_refunded_review_can_be_taken_again() -> None:
    limits = ReviewRateLimiter(ACCESS_REVIEW_RATES)
    assert taken(limits, 0.0, "a") == ACCESS_REVIEW_RATES.burst
    limits.refund("a")
    assert taken(limits, 0.0, "a") == 1
    fresh = ReviewRateLimiter(ACCESS_REVIEW_RATES)
    fresh.refund("a")
    assert fresh.take("a", 0.0)
    fresh.refund("a")
    fresh.refund("a")
    assert taken(fresh, 0.0, "a") == ACCESS_REVIEW_RATES.burst


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        pytest.param("2001:db8::1", "2001:db8::2", True, id="addresses of one IPv6 network are one client"),
        pytest.param("2001:db8::1", "2001:db8:0:1::1", False, id="other IPv6 networks are others"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", True, id="an IPv4 address written as IPv6 is the same"),
        pytest.param(
            "::ffff:192.0.2.1", "::ffff:192.0.2.2", False, id="IPv4 addresses written as IPv6 are not one network"
        ),
        pytest.param("fe80::1%eth0", "fe80::2%eth1", True, id="zones do not count"),
        pytest.param("", "", True, id="an unknown address"),
    ],
)
def test_the_client_of_an_address(first: str, second: str, is_one: bool) -> None:
    assert (client_of(first) == client_of(second)) is is_one


@pytest.mark.parametrize(
    ("others", "is_kept"),
    [
        pytest.param(MAX_CLIENTS - 1, True, id="as many clients as are kept"),
        pytest.param(MAX_CLIENTS, False, id="one client more"),
    ],
)
def test_the_number_of_clients_is_bounded(others: int, is_kept: bool) -> None:
    limits = ReviewRateLimiter(ReviewRates(rate=1, burst=1, total_rate=10**6, total_burst=10**6))
    assert limits.take("a", 0.0)
    for number in range(others):
        assert limits.take(str(number), 0.0)
    assert limits.take("a", 0.0) is not is_kept, "a client that was dropped has its burst again"
