"""A store that is restored with the results of the startup verifier. A real disk, no cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalogd.storage.catalog_store import CatalogStore
from catalogd.storage.startup_verifier import StartupVerifier
from olmkit.store.checksums import INTACT
from tests.integration.catalogd.catalog_stores import ONE, TWO, blobs_of, damage, fill_catalog_store, on_disk


async def test_verified_content_is_served(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE, b=ONE, c=TWO)
    catalog_store = CatalogStore(tmp_path, startup_verifier=StartupVerifier(tmp_path))
    await catalog_store.restore()
    assert set(catalog_store.names) == {"a", "b", "c"}


@pytest.mark.parametrize("how", ["flipped", "cut", "removed", "manifest torn", "index torn"])
async def test_damaged_content_is_not_served_but_reported_once_and_removed(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(blobs_of(await fill_catalog_store(tmp_path, a=ONE, b=TWO), "a"), how)
    catalog_store = CatalogStore(tmp_path, startup_verifier=StartupVerifier(tmp_path))
    await catalog_store.restore()
    assert list(catalog_store.names) == ["b"]
    assert catalog_store.corruption("a")
    assert on_disk(tmp_path) == {TWO}
    assert len([each for each in caplog.records if getattr(each, "digest", "") == ONE]) == 1


async def test_a_result_is_used_once(tmp_path: Path) -> None:
    blobs = blobs_of(await fill_catalog_store(tmp_path, a=ONE), "a")
    verifier = StartupVerifier(tmp_path)
    assert verifier.check(ONE) == INTACT
    damage(blobs, "flipped")
    catalog_store = CatalogStore(tmp_path, startup_verifier=verifier)
    await catalog_store.restore()
    assert not catalog_store.names


async def test_content_that_the_state_file_does_not_name_is_not_verified(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE)
    assert StartupVerifier(tmp_path).check(TWO) is None


@pytest.mark.parametrize("state", [None, b"", b"{}", b'{"format": 2, "catalogs": {"a": {}}, "kept": []}'])
async def test_without_a_valid_state_file_nothing_is_verified(tmp_path: Path, state: bytes | None) -> None:
    await fill_catalog_store(tmp_path, a=ONE)
    file = tmp_path / "catalogs.json"
    file.unlink() if state is None else file.write_bytes(state)
    assert StartupVerifier(tmp_path).check(ONE) is None


def test_a_directory_that_cannot_be_used_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert StartupVerifier(tmp_path / "file").check(ONE) is None
