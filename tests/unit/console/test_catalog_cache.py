"""What is read of catalogs once, and what is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from console.catalog_cache import CatalogCache
from olmkit.api.meta import Object
from olmkit.errors import Forbidden


def counted(answer: Object, reads: list[str], name: str = "") -> Callable[[], Awaitable[Object]]:
    """A read that is recorded."""

    async def fetch() -> Object:
        reads.append(name)
        await asyncio.sleep(0)
        return answer

    return fetch


async def test_what_was_read_is_kept_and_belongs_to_who_asks() -> None:
    cache, reads = CatalogCache(), list[str]()
    for _ in range(3):
        found = await cache.read("a", counted({"names": ["x"]}, reads))
        assert found == {"names": ["x"]}
        found["names"].append("a change of the caller")
    assert len(reads) == 1


async def test_equal_reads_at_the_same_time_are_one() -> None:
    cache, reads = CatalogCache(), list[str]()
    found = await asyncio.gather(*(cache.read("a", counted({"b": 1}, reads)) for _ in range(20)))
    assert (found, len(reads)) == ([{"b": 1}] * 20, 1)


async def test_an_error_is_not_kept_and_is_not_that_of_another_user() -> None:
    async def refused() -> Object:
        await asyncio.sleep(0.01)
        raise Forbidden(403, "Forbidden", "no")

    cache, reads = CatalogCache(), list[str]()
    first = asyncio.create_task(cache.read("a", refused))
    await asyncio.sleep(0)
    assert await cache.read("a", counted({"b": 1}, reads)) == {"b": 1}
    with pytest.raises(Forbidden):
        await first
    assert await cache.read("a", counted({"b": 2}, reads)) == {"b": 2}


async def test_the_least_recently_used_is_dropped_and_what_is_too_large_is_not_kept() -> None:
    cache, reads = CatalogCache(max_bytes=30), list[str]()
    for key in ("a", "b", "a", "c", "a", "b"):
        await cache.read(key, counted({key: "0123456"}, reads, key))
    assert reads == ["a", "b", "c", "b"]
    for _ in range(2):
        await cache.read("large", counted({"x": "0" * 40}, reads, "large"))
    assert reads[-2:] == ["large", "large"]
