"""What is served survives a restart if every byte of it is there, and nothing else stays on disk. A real disk, no cluster."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from catalogd.catalog.world import Record
from catalogd.storage.catalog_store import MAX_RETAINED_PER_CATALOG, CatalogStore, Superseded
from olmkit.store.store import Store
from tests.integration.catalogd.catalog_stores import (
    ONE,
    TWO,
    blobs_of,
    damage,
    fill_catalog_store,
    on_disk,
    publish,
    record,
    served,
)


async def test_what_was_served_is_served_after_a_restart(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE, b=ONE)
    assert await served(tmp_path) == {"a": ONE, "b": ONE}


async def test_names_that_share_a_digest_share_one_content(tmp_path: Path) -> None:
    for catalog_store in (await fill_catalog_store(tmp_path, a=ONE, b=ONE), CatalogStore(tmp_path)):
        await catalog_store.restore()
        first, second = catalog_store.get("a"), catalog_store.get("b")
        assert first is not None
        assert second is not None
        assert first.content is second.content


async def test_a_record_survives_a_restart_unchanged(tmp_path: Path) -> None:
    publish(tmp_path, ONE)
    put = Record("source", "ref", ONE, "2026-01-01T00:00:00Z", {"type": "git", "git": {"commit": "c"}}, "etag")
    await CatalogStore(tmp_path).put("a", put)
    catalog_store = CatalogStore(tmp_path)
    await catalog_store.restore()
    found = catalog_store.get("a")
    assert found is not None
    assert found.record == put


@pytest.mark.parametrize(
    "how", ["flipped", "cut", "grown", "removed", "manifest torn", "manifest removed", "index torn"]
)
async def test_content_that_was_damaged_is_not_served_but_reported(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    blobs = blobs_of(await fill_catalog_store(tmp_path, a=ONE, b=TWO), "a")
    damage(blobs, how)
    catalog_store = CatalogStore(tmp_path)
    await catalog_store.restore()
    assert list(catalog_store.names) == ["b"]
    assert catalog_store.corruption("a")
    assert on_disk(tmp_path) == {TWO}
    (line,) = [each for each in caplog.records if getattr(each, "digest", "") == ONE]
    assert vars(line)["catalogs"] == ["a"]
    assert vars(line)["fault"]


async def test_intact_content_with_an_invalid_index_is_not_served(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, b=TWO)
    with Store(tmp_path / "content").publish(ONE) as directory:
        (directory / "index.json").write_text("[]")
    catalog_store = CatalogStore(tmp_path)
    await catalog_store.restore()
    with pytest.raises(LookupError):
        await catalog_store.put("a", record(ONE))
    assert list(catalog_store.names) == ["b"]
    assert on_disk(tmp_path) == {TWO}


@pytest.mark.parametrize(
    "note", [b'{"a": {"ref"', b"", b"[]", b"null", b"{}", b'{"format": 2, "catalogs": [], "kept": {}}', b"\xff\0"]
)
async def test_an_invalid_state_file_serves_nothing_and_is_survived(
    tmp_path: Path, note: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await fill_catalog_store(tmp_path, a=ONE)
    (tmp_path / "catalogs.json").write_bytes(note)
    assert await served(tmp_path) == {}
    assert on_disk(tmp_path) == set()
    assert "the state file is damaged" in caplog.text


async def test_a_record_of_another_version_affects_only_its_own_catalog(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    file = tmp_path / "catalogs.json"
    note = json.loads(file.read_bytes())
    del note["catalogs"]["a"]["validator"]
    file.write_text(json.dumps(note))
    assert await served(tmp_path) == {"b": TWO}


async def test_a_directory_in_place_of_the_state_file_is_survived(tmp_path: Path) -> None:
    (tmp_path / "catalogs.json").mkdir()
    catalog_store = CatalogStore(tmp_path)
    await catalog_store.restore()
    publish(tmp_path, ONE)
    with pytest.raises(OSError, match="directory"):
        await catalog_store.put("a", record(ONE))
    assert catalog_store.get("a") is None


async def test_foreign_files_are_not_removed(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE)
    foreign = [tmp_path / "content" / "lost+found", tmp_path / "notes.txt"]
    foreign[0].mkdir()
    foreign[1].touch()
    assert await served(tmp_path) == {"a": ONE}
    assert all(each.exists() for each in foreign)


async def test_content_is_removed_with_its_last_name(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE, b=ONE)
    await catalog_store.remove("a")
    assert on_disk(tmp_path) == {ONE}
    await catalog_store.remove("b")
    await catalog_store.remove("b")
    assert on_disk(tmp_path) == set()
    assert await served(tmp_path) == {}


async def test_replaced_content_is_found_by_its_digest_only(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    await catalog_store.put("a", record(TWO))
    current, before = catalog_store.find("a", TWO), catalog_store.find("a", ONE)
    assert current is catalog_store.get("a")
    assert before is not None
    assert before.content.blobs_path.exists()
    assert catalog_store.find("b", ONE) is None
    assert catalog_store.find("c", ONE) is None
    assert catalog_store.digests == {ONE, TWO}


async def test_replaced_content_is_retained_across_a_restart_but_not_longer(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE)
    publish(tmp_path, TWO)
    await catalog_store.put("a", record(TWO))
    again = CatalogStore(tmp_path)
    await again.restore()
    assert again.find("a", ONE) is not None
    late = CatalogStore(tmp_path, retention=timedelta(0))
    await late.restore()
    assert late.find("a", ONE) is None
    assert on_disk(tmp_path) == {TWO}


async def test_a_clock_that_was_set_back_does_not_extend_the_retention(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE)
    publish(tmp_path, TWO)
    await catalog_store.put("a", record(TWO))
    note = json.loads((tmp_path / "catalogs.json").read_bytes())
    note["kept"][0]["until"] += 10**9
    (tmp_path / "catalogs.json").write_text(json.dumps(note))
    again = CatalogStore(tmp_path, retention=timedelta(seconds=0.05))
    await again.restore()
    await until_gone(again, "a", ONE)


async def until_gone(catalog_store: CatalogStore, name: str, digest: str) -> None:
    running = asyncio.create_task(catalog_store.run())
    async with asyncio.timeout(30):
        while catalog_store.find(name, digest) or digest in catalog_store.content_store.digests():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.wait({running})


async def test_replaced_content_is_removed_after_its_retention(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, retention=timedelta(seconds=0.2), a=ONE)
    publish(tmp_path, TWO)
    await catalog_store.put("a", record(TWO))
    assert on_disk(tmp_path) == {ONE, TWO}
    await until_gone(catalog_store, "a", ONE)
    assert on_disk(tmp_path) == {TWO}
    assert await served(tmp_path) == {"a": TWO}


async def test_a_tag_that_moves_all_the_time_does_not_fill_the_disk(tmp_path: Path) -> None:
    catalog_store = CatalogStore(tmp_path)
    digests = [f"sha256:{number:064x}" for number in range(9)]
    for digest in digests:
        publish(tmp_path, digest)
        await catalog_store.put("a", record(digest))
    assert on_disk(tmp_path) == set(digests[-1 - MAX_RETAINED_PER_CATALOG :])


async def test_retained_content_can_be_put_again(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE)
    publish(tmp_path, TWO)
    for digest in (TWO, ONE, TWO, ONE):
        await catalog_store.put("a", record(digest))
    assert catalog_store.digests == {ONE, TWO}
    assert await served(tmp_path) == {"a": ONE}


async def test_removed_content_is_not_found_nor_what_it_replaced(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE)
    publish(tmp_path, TWO)
    await catalog_store.put("a", record(TWO))
    await catalog_store.remove("a")
    assert catalog_store.find("a", ONE) is None
    assert catalog_store.find("a", TWO) is None
    assert on_disk(tmp_path) == set()


async def test_callbacks_are_called_after_every_change(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, b=TWO)
    changes: list[tuple[str, ...]] = []
    catalog_store.on_any_change(lambda: changes.append(tuple(catalog_store.names)))
    publish(tmp_path, ONE)
    await catalog_store.put("a", record(ONE))
    await catalog_store.remove("b")
    blobs_of(catalog_store, "a").unlink()
    await catalog_store.report_damage(ONE)
    assert [each for at, each in enumerate(changes) if at == 0 or changes[at - 1] != each] == [("b", "a"), ("a",), ()]


async def test_missing_content_raises_lookup_error(tmp_path: Path) -> None:
    catalog_store = CatalogStore(tmp_path)
    with pytest.raises(LookupError):
        await catalog_store.put("a", record(ONE))
    assert catalog_store.get("a") is None


async def test_unreferenced_content_is_removed_at_the_start(tmp_path: Path) -> None:
    publish(tmp_path, ONE)
    assert await served(tmp_path) == {}
    assert on_disk(tmp_path) == set()


async def test_recent_unreferenced_content_is_not_removed(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, b=TWO)
    publish(tmp_path, ONE)
    await catalog_store.maintain()
    await catalog_store.put("a", record(ONE))
    assert set(catalog_store.names) == {"a", "b"}


@pytest.mark.parametrize("how", ["flipped", "cut", "removed", "manifest torn"])
async def test_content_that_becomes_corrupt_is_not_served_any_more(tmp_path: Path, how: str) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE, b=TWO, c=ONE)
    lost: list[str] = []
    catalog_store.on_catalog_change(lost.append)
    damage(blobs_of(catalog_store, "a"), how)
    await asyncio.gather(*(catalog_store.report_damage(ONE) for _ in range(9)))
    assert lost == ["a", "c"]
    assert list(catalog_store.names) == ["b"]
    assert catalog_store.corruption("a") == catalog_store.corruption("c") != ""
    assert on_disk(tmp_path) == {TWO}
    assert await served(tmp_path) == {"b": TWO}
    publish(tmp_path, ONE)
    await catalog_store.put("a", record(ONE))
    assert catalog_store.corruption("a") == ""


async def test_a_false_alarm_changes_nothing(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE)
    await catalog_store.report_damage(ONE)
    await catalog_store.report_damage(TWO)
    assert list(catalog_store.names) == ["a"]


async def test_a_truncated_file_is_detected_by_maintenance(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    damage(blobs_of(catalog_store, "a"), "cut")
    await catalog_store.maintain()
    assert list(catalog_store.names) == ["b"]


async def test_a_change_is_completed_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, b=TWO)
    publish(tmp_path, ONE)
    putting = asyncio.create_task(catalog_store.put("a", record(ONE)))
    await asyncio.sleep(0)
    putting.cancel()
    await asyncio.wait({putting})
    assert putting.cancelled()
    names = set(catalog_store.names)
    assert names == {"a", "b"}
    assert set(await served(tmp_path)) == names


async def test_content_is_pending_until_it_is_verified_and_each_is_served_independently(tmp_path: Path) -> None:
    await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    catalog_store = CatalogStore(tmp_path)
    seen: list[tuple[set[str], frozenset[str]]] = []
    catalog_store.on_any_change(lambda: seen.append((set(catalog_store.names), catalog_store.pending_names)))
    await catalog_store.restore()
    assert len(seen) >= 2
    for names, expected in seen:
        assert names | expected == {"a", "b"}
    assert catalog_store.pending_names == frozenset()


@pytest.mark.parametrize("answers", [(False,), (True, False)], ids=["before it is noted", "while it is noted"])
async def test_a_record_whose_fence_does_not_hold_is_not_served(tmp_path: Path, answers: tuple[bool, ...]) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    changes: list[str] = []
    catalog_store.on_catalog_change(changes.append)
    left = list(answers)
    with pytest.raises(Superseded):
        await catalog_store.put("a", record(TWO), lambda: left.pop(0))
    assert (changes, left) == ([], [])
    found = catalog_store.get("a")
    assert found is not None
    assert found.record == record(ONE)
    assert await served(tmp_path) == {"a": ONE, "b": TWO}


async def test_each_change_of_what_is_served_is_reported_once_by_name(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE, b=TWO)
    changes: list[str] = []
    catalog_store.on_catalog_change(changes.append)
    await catalog_store.put("a", record(ONE))
    await catalog_store.put("a", record(TWO))
    await catalog_store.remove("b")
    await catalog_store.remove("b")
    assert changes == ["a", "b"]


@pytest.mark.parametrize("how", ["directory removed", "index torn"])
async def test_content_that_is_found_lost_when_its_record_changes_is_served_under_no_name(
    tmp_path: Path, how: str
) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE, b=ONE, c=TWO)
    directory = blobs_of(catalog_store, "a").parent
    if how == "directory removed":
        await asyncio.to_thread(shutil.rmtree, directory.parent)
    else:
        (directory / "index.json").write_text("[]")
        (directory / "content.json").touch()
    changed: list[str] = []
    catalog_store.on_catalog_change(changed.append)
    with pytest.raises(LookupError):
        await catalog_store.put("a", replace(record(ONE), packages=("p",)))
    assert (list(catalog_store.names), sorted(changed)) == (["c"], ["a", "b"])
    assert catalog_store.corruption("a")
    assert catalog_store.corruption("b")
    assert not catalog_store.corruption("c")
    assert await served(tmp_path) == {"c": TWO}
    publish(tmp_path, ONE)
    await catalog_store.put("a", record(ONE))
    assert not catalog_store.corruption("a")


async def test_content_that_is_lost_before_it_is_served_is_reported(tmp_path: Path) -> None:
    catalog_store = await fill_catalog_store(tmp_path, a=ONE)
    with pytest.raises(LookupError):
        await catalog_store.put("a", record(TWO))
    assert catalog_store.corruption("a") == "there is no such content"
    assert list(catalog_store.names) == ["a"], "the content that is replaced stays"
