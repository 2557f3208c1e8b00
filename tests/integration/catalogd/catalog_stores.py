"""Stores of catalogs on a real disk for tests: content that differs by digest, and damage to it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from catalogd.catalog.world import Record
from catalogd.ingest.content_writer import ContentWriter
from catalogd.storage.catalog_store import RETENTION, CatalogStore
from olmkit.fbc.blobs import parse_blob
from olmkit.fbc.documents import Document
from olmkit.store.store import Store

ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64


LARGE_BLOB_BYTES = 1024 * 1024
"""The size of the blobs that make a content large."""


def publish(root: Path, digest: str, name: str = "p", size: int = 0) -> None:
    """Store content of one package below `root`, with `size` bytes of other blobs."""
    with Store(root / "content").publish(digest) as directory:
        write(directory, digest, name, size)


def write(directory: Path, digest: str, name: str = "p", size: int = 0) -> None:
    """Write the same content into a directory."""
    with ContentWriter(directory, digest) as writer:
        writer.add(parse_blob(Document({"schema": "olm.package", "name": name}, b"", 1)))
        for line in range(0, size, LARGE_BLOB_BYTES):
            text = f"{digest} " * (LARGE_BLOB_BYTES // (len(digest) + 1))
            writer.add(parse_blob(Document({"schema": "test", "name": str(line), "data": text}, b"", line)))
        writer.finish()


def record(digest: str, uid: str = "") -> Record:
    """The record of the Catalog with this uid; "" as in records of earlier versions."""
    return Record("registry.example/c:v1", f"registry.example/c@{digest}", digest, "2026-01-01T00:00:00Z", uid=uid)


async def served(root: Path) -> dict[str, str]:
    """What a new process serves: digest by name."""
    catalog_store = CatalogStore(root)
    await catalog_store.restore()
    return {name: found.record.digest for name in catalog_store.names if (found := catalog_store.get(name))}


async def fill_catalog_store(root: Path, retention: timedelta = RETENTION, **digests: str) -> CatalogStore:
    """A store that serves these digests by name, and their content."""
    catalog_store = CatalogStore(root, retention)
    for name, digest in digests.items():
        publish(root, digest)
        await catalog_store.put(name, record(digest))
    return catalog_store


def blobs_of(catalog_store: CatalogStore, name: str) -> Path:
    found = catalog_store.get(name)
    assert found is not None
    return found.content.blobs_path


def on_disk(root: Path) -> set[str]:
    return Store(root / "content").digests()


def damage(blobs: Path, how: str) -> None:
    manifest, index = blobs.parents[1] / "manifest.json", blobs.parent / "index.json"
    match how:
        case "flipped":
            blobs.write_bytes(b"?" + blobs.read_bytes()[1:])
        case "cut":
            blobs.write_bytes(blobs.read_bytes()[:-1])
        case "grown":
            blobs.write_bytes(blobs.read_bytes() + b"x")
        case "removed":
            blobs.unlink()
        case "manifest torn":
            manifest.write_bytes(manifest.read_bytes()[:-9])
        case "manifest removed":
            manifest.unlink()
        case _:
            index.write_bytes(index.read_bytes()[:-1])
