"""Publishing on a real disk that is full or read-only at each step."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from olmkit.errors import OlmError, Waiting
from olmkit.store.store import Store
from tests.integration.disk import fill_up, remount

DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def publish(store: Store, digest: str, size: int) -> None:
    with store.publish(digest) as directory:
        (directory / "file").write_bytes(os.urandom(size))


def files(disk: Path) -> list[Path]:
    return [each for each in disk.iterdir() if each.is_file()]


@pytest.mark.parametrize("step", ["its directory is created", "it is written", "its checksums file is written"])
def test_a_disk_that_is_full_when(disk: Path, step: str) -> None:
    store = Store(disk)
    publish(store, OTHER, 1000)
    if step == "its directory is created":
        _no_inode_is_left(disk)

    def fail() -> None:
        with store.publish(DIGEST) as directory:
            (directory / "file").write_bytes(bytes(2 * 1024 * 1024 if step == "it is written" else 1))
            fill_up(disk)

    with pytest.raises(Waiting, match="is full: free some space") as raised:
        fail()
    assert raised.value.reason == "DiskFull"
    assert store.digests() == {OTHER}
    assert store.verify(OTHER)
    assert os.listdir(disk / ".staging") == []
    for each in files(disk):
        each.unlink()
    publish(store, DIGEST, 1000)
    assert store.verify(DIGEST)


def _no_inode_is_left(disk: Path) -> None:
    remount(disk, "nr_inodes=20")
    with suppress(OSError):
        for number in range(100):
            (disk / str(number)).touch()


def test_content_can_be_removed_from_a_full_disk(disk: Path) -> None:
    store = Store(disk)
    publish(store, OTHER, 1000)
    fill_up(disk)
    assert store.collect_garbage(set()) == {OTHER}


def test_a_read_only_disk_is_reported_and_can_be_read(disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    publish(Store(disk), OTHER, 1000)
    remount(disk, "ro")
    store = Store(disk)
    store.remove_abandoned_staging()
    assert store.verify(OTHER)
    with pytest.raises(Waiting, match="Read-only file system"):
        publish(store, DIGEST, 1)
    with pytest.raises(Waiting, match="mount it to be written"):
        store.remove(OTHER)
    assert store.collect_garbage(set()) == set()
    assert "content cannot be removed" in caplog.text
    assert store.verify(OTHER)


def test_a_read_only_disk_without_a_content_directory_is_reported(disk: Path) -> None:
    remount(disk, "ro")
    with pytest.raises(OlmError, match="name a directory that can be written"):
        Store(disk / "new")
