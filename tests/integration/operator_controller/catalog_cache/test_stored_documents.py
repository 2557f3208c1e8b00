"""Contents on disk as the solver process reads them, intact, damaged and removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olmkit.store.store import Store
from operator_controller.catalog_cache.stored_documents import DOCUMENTS_FILE, INDEX_FILE, ContentDocuments
from operator_controller.resolve.documents.catalog_documents import ContentMissing
from tests.integration.operator_controller.catalog_cache.test_client import FIRST, SECOND, document, lines
from tests.integration.operator_controller.catalog_cache.test_content_store_writer import VALID, written


def test_documents_are_read_by_the_digest_of_a_content(tmp_path: Path) -> None:
    written(tmp_path, VALID)
    written(tmp_path, lines([document(SECOND, "2.0.0")]), SECOND)
    documents = ContentDocuments(tmp_path)
    assert documents.digests(FIRST) == {package: document(FIRST, package=package)["digest"] for package in ("p", "q")}
    assert json.loads(documents.read_text(FIRST, "q")) == document(FIRST, package="q")
    assert json.loads(documents.read_text(SECOND, "p")) == document(SECOND, "2.0.0")
    documents.close_files()


@pytest.mark.parametrize("digest", [SECOND, "", "no digest", "../x"])
def test_a_content_that_is_not_there(tmp_path: Path, digest: str) -> None:
    written(tmp_path, VALID)
    with pytest.raises(ContentMissing, match="its content"):
        ContentDocuments(tmp_path).digests(digest)


def test_no_directory_is_created(tmp_path: Path) -> None:
    with pytest.raises(ContentMissing):
        ContentDocuments(tmp_path / "absent").digests(FIRST)
    assert not (tmp_path / "absent").exists()


def test_a_content_that_is_removed_while_it_is_read(tmp_path: Path) -> None:
    written(tmp_path, VALID)
    documents = ContentDocuments(tmp_path)
    assert [*documents.digests(FIRST)] == ["p", "q"]
    Store(tmp_path).remove(FIRST)
    with pytest.raises(ContentMissing):
        documents.read_text(FIRST, "p")
    documents.retain_only([])
    with pytest.raises(ContentMissing):
        documents.digests(FIRST)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"x",
        VALID[: len(VALID) // 2],
        VALID[::-1],
        lines([document(FIRST, package="q"), document(FIRST)]),
        VALID.replace(FIRST.encode(), SECOND.encode()),
    ],
)
def test_a_document_of_a_damaged_file_is_missing(tmp_path: Path, damage: bytes) -> None:
    content = written(tmp_path, VALID)
    documents = ContentDocuments(tmp_path)
    (content.directory / DOCUMENTS_FILE).write_bytes(damage)
    with pytest.raises(ContentMissing, match="its content on the disk cannot be read"):
        documents.read(FIRST, "q")
    documents.close_files()


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"format": 0}', b'{"format": 1, "packages": [], "provides": []}'])
def test_a_content_with_a_damaged_index_is_missing(tmp_path: Path, damage: bytes) -> None:
    (written(tmp_path, VALID).directory / INDEX_FILE).write_bytes(damage)
    with pytest.raises(ContentMissing, match="its index or a document is damaged"):
        ContentDocuments(tmp_path).digests(FIRST)
