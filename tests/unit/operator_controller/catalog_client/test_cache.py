"""The budget of the cache in memory."""

from __future__ import annotations

from operator_controller.catalog_client.cache import CachedPackage, MemoryCache
from operator_controller.resolve.documents import ParsedPackage


def entry(size: int, package: str = "p") -> CachedPackage:
    return CachedPackage(package, ParsedPackage(), size=size)


def test_documents_beyond_the_budget_of_bytes_are_evicted_by_last_use() -> None:
    memory = MemoryCache(max_bytes=10)
    for package in "abc":
        memory.put(package, entry(3))
    assert memory.get("a") == entry(3)
    memory.put("d", entry(4))
    assert [package for package in "abcd" if memory.get(package) is not None] == ["a", "c", "d"]
    assert memory.size == 10


def test_documents_beyond_the_maximum_number_are_evicted() -> None:
    memory = MemoryCache(max_documents=2)
    for package in "abc":
        memory.put(package, entry(0))
    assert [package for package in "abc" if memory.get(package) is not None] == ["b", "c"]


def test_a_document_larger_than_the_budget_stays_until_the_next_one() -> None:
    memory = MemoryCache(max_bytes=10)
    memory.put("a", entry(3))
    memory.put("b", entry(11))
    assert (memory.get("a"), memory.get("b")) == (None, entry(11))
    memory.put("a", entry(3))
    assert (memory.get("b"), memory.size) == (None, 3)


def test_new_content_replaces_the_old_and_its_size() -> None:
    memory = MemoryCache(max_bytes=10)
    memory.put("a", entry(6))
    memory.put("a", entry(7, "q"))
    assert (memory.get("a"), memory.size) == (entry(7, "q"), 7)


def test_documents_of_other_packages_are_removed_with_their_size() -> None:
    memory = MemoryCache()
    memory.put("a", entry(6, "p"))
    memory.put("b", entry(2, "q"))
    memory.retain_only({"q"})
    assert (memory.get("a"), memory.get("b"), memory.size) == (None, entry(2, "q"), 2)
