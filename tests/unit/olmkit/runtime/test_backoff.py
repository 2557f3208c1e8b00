"""Delays double up to the cap and stay within the jitter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.runtime.backoff import Backoff

MIDDLE = 0.5


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        pytest.param(1, 0.05, id="first failure"),
        pytest.param(2, 0.1, id="second failure: twice as long"),
        pytest.param(5, 0.8, id="fifth failure: sixteen times as long"),
        pytest.param(14, 300.0, id="fourteenth failure: the cap"),
        pytest.param(10_000, 300.0, id="thousands of failures: the cap"),
        pytest.param(0, 0.05, id="0 failures count as 1"),
    ],
)
def test_delay_doubles_up_to_the_cap(failures: int, seconds: float) -> None:
    assert Backoff(first=0.05, cap=300, random_fraction=lambda: MIDDLE).delay(failures) == pytest.approx(seconds)


@given(failures=st.integers(1, 100), chance=st.floats(0, 1, exclude_max=True))
def test_delay_stays_within_the_jitter(failures: int, chance: float) -> None:
    """80 % to 120 % of the plain delay, and never more than the cap."""
    plain = Backoff(first=0.1, cap=10, jitter=0).delay(failures)
    delay = Backoff(first=0.1, cap=10, jitter=0.2, random_fraction=lambda: chance).delay(failures)
    assert plain * 0.8 <= delay <= min(plain * 1.2, 10)


def test_jitter_separates_simultaneous_failures() -> None:
    backoff = Backoff(first=0.05, cap=300)
    assert len({backoff.delay(3) for _ in range(20)}) > 1
