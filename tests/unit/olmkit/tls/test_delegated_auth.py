"""The cache of reviews, names in status lines, and tokens that are refused without a review."""

import tracemalloc

import pytest
from aiohttp import web

from olmkit.runtime.client import Client
from olmkit.tls.delegated_auth import (
    MAX_CACHED_REVIEWS,
    MAX_NAME_LENGTH,
    DelegatedAuth,
    ExpiringCache,
    for_status_line,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("system:serviceaccount:ns:a", "system:serviceaccount:ns:a", id="an account"),
        pytest.param("jane doe@example.com", "jane doe@example.com", id="a person"),
        pytest.param("J\xf8rgen", "J?rgen", id="letters of other languages"),
        pytest.param("x\r\nSet-Cookie: a=b", "x??Set-Cookie: a=b", id="the end of a line"),
        pytest.param("x" * 5000, "x" * MAX_NAME_LENGTH, id="a long token"),
    ],
)
def test_a_name_is_limited_to_characters_of_a_status_line(name: str, expected: str) -> None:
    assert for_status_line(name) == expected


def test_a_value_expires() -> None:
    now = [0.0]
    kept: ExpiringCache[str] = ExpiringCache(lambda: now[0])
    kept.put("a", "x", 10)
    now[0] = 9.9
    assert kept.get("a") == "x"
    now[0] = 10.0
    assert kept.get("a") is None


def test_a_long_key_takes_no_more_memory_than_a_short_one() -> None:
    kept: ExpiringCache[bool] = ExpiringCache(lambda: 0.0)
    tracemalloc.start()
    try:
        for number in range(100):
            kept.put(f"{number} {'x' * 8000}", True, 10)
        room = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert room < 100 * 1000
    assert kept.get(f"7 {'x' * 8000}")
    assert kept.get("7 \udc80") is None


def test_the_least_recently_used_value_is_dropped() -> None:
    kept: ExpiringCache[int] = ExpiringCache(lambda: 0.0)
    for number in range(MAX_CACHED_REVIEWS):
        kept.put(str(number), number, 10)
    assert kept.get("0") == 0
    kept.put("one more", -1, 10)
    assert kept.get("0") == 0
    assert kept.get("1") is None
    assert kept.get("2") == 2


async def test_bytes_that_are_no_text_are_no_valid_token() -> None:
    auth = DelegatedAuth(Client(None))
    header = b"Bearer \xff\xfe".decode("utf-8", "surrogateescape")  # as aiohttp reads a header
    with pytest.raises(web.HTTPUnauthorized, match="the token is not valid"):
        await auth.check(header, "/debug/resolutions/party", "127.0.0.1")
