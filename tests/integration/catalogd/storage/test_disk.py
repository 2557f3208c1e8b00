"""The store on a disk that is full or became read-only: a real one, small, mounted for the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalogd.storage.catalog_store import CatalogStore
from olmkit.errors import OlmError
from tests.integration.catalogd.catalog_stores import (
    ONE,
    TWO,
    blobs_of,
    damage,
    fill_catalog_store,
    publish,
    record,
    served,
)
from tests.integration.disk import fill_up, remount


async def test_on_a_full_disk_served_content_stays_and_new_content_is_put_once_there_is_space(disk: Path) -> None:
    catalog_store = await fill_catalog_store(disk, a=ONE)
    publish(disk, TWO)
    full = fill_up(disk)
    with pytest.raises(OSError, match="No space left"):
        await catalog_store.put("a", record(TWO))
    assert catalog_store.find("a", ONE) is catalog_store.get("a")
    assert await served(disk) == {"a": ONE}
    full.unlink()
    publish(disk, TWO)
    await catalog_store.put("a", record(TWO))
    assert await served(disk) == {"a": TWO}


async def test_on_a_full_disk_retained_content_is_removed(disk: Path) -> None:
    catalog_store = await fill_catalog_store(disk, a=ONE, b=TWO)
    three = "sha256:" + "3" * 64
    publish(disk, three)
    await catalog_store.put("a", record(three))
    assert catalog_store.find("a", ONE) is not None
    fill_up(disk)
    await catalog_store.put("b", record(three))
    assert catalog_store.find("a", ONE) is None
    assert await served(disk) == {"a": three, "b": three}


async def test_on_a_full_disk_a_catalog_can_be_removed_for_good(disk: Path) -> None:
    catalog_store = await fill_catalog_store(disk, a=ONE, b=TWO)
    fill_up(disk)
    await catalog_store.remove("a")
    assert list(catalog_store.names) == ["b"]
    assert await served(disk) == {"b": TWO}


async def test_on_a_full_disk_a_restart_serves_what_was_served(disk: Path) -> None:
    await fill_catalog_store(disk, a=ONE, b=TWO)
    fill_up(disk)
    assert await served(disk) == {"a": ONE, "b": TWO}


async def test_a_disk_that_became_read_only_is_served_from_and_reported(
    disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog_store = await fill_catalog_store(disk, a=ONE, b=TWO)
    damage(blobs_of(catalog_store, "b"), "flipped")
    remount(disk, "ro")
    catalog_store = CatalogStore(disk)
    await catalog_store.restore()
    assert list(catalog_store.names) == ["a"]
    assert "content cannot be removed" in caplog.text
    with pytest.raises(OSError, match="Read-only"):
        await catalog_store.put("c", record(ONE))
    await catalog_store.maintain()
    await catalog_store.remove("a")
    assert list(catalog_store.names) == []
    assert "the state file cannot be written" in caplog.text
    remount(disk, "rw")
    await catalog_store.maintain()
    assert await served(disk) == {}


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OlmError, match="name a directory that can be written"):
        CatalogStore(tmp_path / "file")
