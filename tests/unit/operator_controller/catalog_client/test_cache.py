"""How much of what catalogs said stays in memory."""

from __future__ import annotations

from operator_controller.catalog_client.cache import CachedPackage, PackageCache


def said(size: int, digest: str = "sha256:1") -> CachedPackage:
    return CachedPackage("u", digest, None, size=size)


def test_documents_beyond_the_budget_of_bytes_go_in_the_order_of_their_last_use() -> None:
    memory = PackageCache(max_bytes=10)
    for package in "abc":
        memory.put(("c", package), said(3))
    assert memory.get(("c", "a")) == said(3)
    memory.put(("c", "d"), said(4))
    assert [package for package in "abcd" if memory.get(("c", package)) is not None] == ["a", "c", "d"]
    assert memory.size == 10


def test_documents_beyond_their_number_go_too() -> None:
    memory = PackageCache(max_documents=2)
    for package in "abc":
        memory.put(("c", package), said(0))
    assert [package for package in "abc" if memory.get(("c", package)) is not None] == ["b", "c"]


def test_a_document_larger_than_the_budget_stays_alone_until_the_next_one() -> None:
    memory = PackageCache(max_bytes=10)
    memory.put(("c", "a"), said(3))
    memory.put(("c", "b"), said(11))
    assert (memory.get(("c", "a")), memory.get(("c", "b"))) == (None, said(11))
    memory.put(("c", "a"), said(3))
    assert (memory.get(("c", "b")), memory.size) == (None, 3)


def test_new_content_takes_the_place_of_the_old_and_of_its_bytes() -> None:
    memory = PackageCache(max_bytes=10)
    memory.put(("c", "a"), said(6))
    memory.put(("c", "a"), said(7, "sha256:2"))
    assert (memory.get(("c", "a")), memory.size) == (said(7, "sha256:2"), 7)


def test_what_a_catalog_said_goes_with_it_and_so_do_its_bytes() -> None:
    memory = PackageCache()
    memory.put(("c", "a"), said(6))
    memory.put(("d", "a"), said(2))
    memory.retain_only({"d"}, {"a"})
    assert (memory.get(("c", "a")), memory.get(("d", "a")), memory.size) == (None, said(2), 2)
