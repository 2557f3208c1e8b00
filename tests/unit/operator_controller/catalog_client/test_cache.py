"""The budget of the cache in memory."""

from __future__ import annotations

from operator_controller.catalog_client.cache import CachedPackage, MemoryCache


def entry(size: int, digest: str = "sha256:1") -> CachedPackage:
    return CachedPackage("u", digest, None, size=size)


def test_documents_beyond_the_budget_of_bytes_are_evicted_by_last_use() -> None:
    memory = MemoryCache(max_bytes=10)
    for package in "abc":
        memory.put(("c", package), entry(3))
    assert memory.get(("c", "a")) == entry(3)
    memory.put(("c", "d"), entry(4))
    assert [package for package in "abcd" if memory.get(("c", package)) is not None] == ["a", "c", "d"]
    assert memory.size == 10


def test_documents_beyond_the_maximum_number_are_evicted() -> None:
    memory = MemoryCache(max_documents=2)
    for package in "abc":
        memory.put(("c", package), entry(0))
    assert [package for package in "abc" if memory.get(("c", package)) is not None] == ["b", "c"]


def test_a_document_larger_than_the_budget_stays_until_the_next_one() -> None:
    memory = MemoryCache(max_bytes=10)
    memory.put(("c", "a"), entry(3))
    memory.put(("c", "b"), entry(11))
    assert (memory.get(("c", "a")), memory.get(("c", "b"))) == (None, entry(11))
    memory.put(("c", "a"), entry(3))
    assert (memory.get(("c", "b")), memory.size) == (None, 3)


def test_new_content_replaces_the_old_and_its_size() -> None:
    memory = MemoryCache(max_bytes=10)
    memory.put(("c", "a"), entry(6))
    memory.put(("c", "a"), entry(7, "sha256:2"))
    assert (memory.get(("c", "a")), memory.size) == (entry(7, "sha256:2"), 7)


def test_documents_of_other_catalogs_are_removed_with_their_size() -> None:
    memory = MemoryCache()
    memory.put(("c", "a"), entry(6))
    memory.put(("d", "a"), entry(2))
    memory.retain_only({"d"}, {"a"})
    assert (memory.get(("c", "a")), memory.get(("d", "a")), memory.size) == (None, entry(2), 2)
