"""What is served survives a restart if every byte of it is there, and nothing else stays on disk. A real disk, no cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalogd.shelf import Shelf
from catalogd.world import Record
from catalogd.writing import Writer
from olmkit.fbc.blobs import blob
from olmkit.fbc.documents import Document
from olmkit.store import Store

ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def publish(root: Path, digest: str, name: str = "p") -> None:
    """Content of one package in the store of the shelf at `root`."""
    with Store(root / "content").publish(digest) as folder, Writer(folder, digest) as writer:
        writer.add(blob(Document({"schema": "olm.package", "name": name}, b"", 1)))
        writer.finish()


def record(digest: str) -> Record:
    return Record("registry.example/c:v1", f"registry.example/c@{digest}", digest, "2026-01-01T00:00:00Z")


async def served(root: Path) -> dict[str, str]:
    """What a process that starts now serves: digest by name."""
    shelf = Shelf(root)
    await shelf.restore()
    return {name: found.record.digest for name in shelf.names if (found := shelf.get(name))}


async def test_what_was_served_is_served_after_a_restart(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    publish(tmp_path, ONE)
    await shelf.put("a", record(ONE))
    await shelf.put("b", record(ONE))
    assert await served(tmp_path) == {"a": ONE, "b": ONE}


async def test_content_that_was_damaged_is_not_served(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for name, digest in (("a", ONE), ("b", TWO)):
        publish(tmp_path, digest)
        await shelf.put(name, record(digest))
    found = shelf.get("a")
    assert found is not None
    found.content.blobs.write_bytes(b"?" + found.content.blobs.read_bytes()[1:])
    assert await served(tmp_path) == {"b": TWO}
    assert Store(tmp_path / "content").digests() == {TWO}


async def test_a_note_that_cannot_be_read_serves_nothing_and_is_survived(tmp_path: Path) -> None:
    publish(tmp_path, ONE)
    await Shelf(tmp_path).put("a", record(ONE))
    (tmp_path / "catalogs.json").write_bytes(b'{"a": {"ref"')
    assert await served(tmp_path) == {}
    assert Store(tmp_path / "content").digests() == set()


async def test_content_goes_with_the_last_name_that_stands_for_it(tmp_path: Path) -> None:
    shelf, store = Shelf(tmp_path), Store(tmp_path / "content")
    publish(tmp_path, ONE)
    publish(tmp_path, TWO)
    await shelf.put("a", record(ONE))
    await shelf.put("b", record(ONE))
    await shelf.put("a", record(TWO))
    assert store.digests() == {ONE, TWO}
    await shelf.drop("b")
    assert store.digests() == {TWO}
    await shelf.drop("a")
    await shelf.drop("a")
    assert store.digests() == set()
    assert await served(tmp_path) == {}


async def test_content_that_is_not_there_is_said(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    with pytest.raises(LookupError):
        await shelf.put("a", record(ONE))
    assert shelf.get("a") is None


async def test_content_that_no_name_stands_for_is_removed_at_the_start(tmp_path: Path) -> None:
    publish(tmp_path, ONE)
    assert await served(tmp_path) == {}
    assert Store(tmp_path / "content").digests() == set()
