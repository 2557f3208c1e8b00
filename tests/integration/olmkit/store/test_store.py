"""Content on disk: published atomically, verified and collected, with real files and real processes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from olmkit.errors import OlmError, Waiting
from olmkit.store.checksums import INTACT, Checksums, Integrity, IntegrityCheck
from olmkit.store.store import Store

DIGEST = "sha256:" + "a" * 64
OTHER = "sha512:" + "b" * 128


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "content")


def fill(store: Store, digest: str = DIGEST) -> Path:
    """Two files, one of them in a directory."""
    with store.publish(digest) as staging:
        (staging / "a.json").write_text("{}")
        (staging / "deep" / "er").mkdir(parents=True)
        (staging / "deep" / "er" / "b").write_bytes(bytes(range(256)))
    path = store.path(digest)
    assert path is not None
    return path


def leftovers(store: Store, tmp_path: Path) -> list[str]:
    return os.listdir(tmp_path / "content" / ".staging")


def test_published_content_is_found_by_its_digest(store: Store, tmp_path: Path) -> None:
    assert store.path(DIGEST) is None
    path = fill(store)
    assert (path / "deep" / "er" / "b").read_bytes() == bytes(range(256))
    assert store.digests() == {DIGEST}
    assert store.verify(DIGEST)
    assert leftovers(store, tmp_path) == []


def test_another_process_finds_published_content(store: Store, tmp_path: Path) -> None:
    path = fill(store)
    again = Store(tmp_path / "content")
    assert again.path(DIGEST) == path
    assert again.verify(DIGEST)


def test_nothing_is_published_before_the_block_ends_or_after_an_error(store: Store, tmp_path: Path) -> None:
    def publish() -> None:
        with store.publish(DIGEST) as staging:
            (staging / "a").touch()
            assert store.path(DIGEST) is None
            raise KeyError

    with pytest.raises(KeyError):
        publish()
    assert store.path(DIGEST) is None
    assert store.digests() == set()
    assert leftovers(store, tmp_path) == []


def test_stored_content_is_not_replaced_by_publish(store: Store, tmp_path: Path) -> None:
    path = fill(store)
    inode = path.stat().st_ino
    with store.publish(DIGEST) as staging:
        (staging / "other").touch()
    assert path.stat().st_ino == inode
    assert store.verify(DIGEST)
    assert leftovers(store, tmp_path) == []


@pytest.mark.parametrize(
    ("how", "what", "fault"),
    [
        pytest.param("truncated", "a.json", "a.json has 1 bytes instead of 2", id="a file that is shorter"),
        pytest.param("flipped", "deep/er/b", "deep/er/b differs from the published bytes", id="a byte that differs"),
        pytest.param("removed", "deep/er/b", "deep/er/b is missing", id="a file that is missing"),
        pytest.param("added", "c", "c was never published", id="a file that is new"),
        pytest.param("linked", "a.json", "a link", id="a link in place of a file, even to the same bytes"),
        pytest.param("linked", "deep", "a link", id="a link in place of a directory, even to the same files"),
        pytest.param("piped", "a.json", "a device", id="a pipe in place of a file, which is not opened"),
        pytest.param("removed", "../manifest.json", "No such file", id="no checksums file"),
        pytest.param("truncated", "../manifest.json", "is truncated", id="a truncated checksums file"),
        pytest.param("emptied", "../manifest.json", "is truncated", id="an empty checksums file"),
        pytest.param("{}", "../manifest.json", "another format", id="a checksums file without fields"),
        pytest.param("[1]", "../manifest.json", "another format", id="a checksums file that is a list"),
        pytest.param(
            '{"a.json":[2,"00"]}', "../manifest.json", "another format", id="a checksums file of another version"
        ),
    ],
)
def test_corruption_is_detected_and_reported(store: Store, tmp_path: Path, how: str, what: str, fault: str) -> None:
    path = fill(store) / what
    match how:
        case "truncated":
            path.write_bytes(path.read_bytes()[:-1])
        case "emptied":
            path.write_bytes(b"")
        case "flipped":
            path.write_bytes(path.read_bytes()[:-1] + b"\0")
        case "removed":
            path.unlink()
        case "added":
            path.touch()
        case "piped":
            path.unlink()
            os.mkfifo(path)
        case "linked":
            path.rename(tmp_path / "moved")
            path.symlink_to(tmp_path / "moved")
        case _:
            path.write_text(how)
    assert not store.verify(DIGEST)
    assert fault in store.check_integrity(DIGEST).why
    if how != "flipped":
        assert fault in store.check_integrity(DIGEST, only_sizes=True).why
    store.remove(DIGEST)
    assert store.digests() == set()


def test_a_checksums_file_of_other_content_is_rejected(store: Store, tmp_path: Path) -> None:
    fill(store)
    three = DIGEST.replace("a", "3").replace("sh3", "sha")
    (tmp_path / "content" / DIGEST.replace(":", "-")).rename(tmp_path / "content" / three.replace(":", "-"))
    assert "belongs to other content" in store.check_integrity(three).why


@pytest.mark.parametrize("place", [0, 16 * 1024 * 1024 - 1, 16 * 1024 * 1024, 40 * 1024 * 1024 - 1])
def test_one_changed_byte_is_detected(store: Store, place: int) -> None:
    with store.publish(DIGEST) as staging, open(staging / "large", "wb") as file:
        file.truncate(40 * 1024 * 1024)
    assert store.verify(DIGEST)
    path = store.path(DIGEST)
    assert path is not None
    with open(path / "large", "r+b") as file:
        file.seek(place)
        file.write(b"x")
    assert "large differs from the published bytes" in store.check_integrity(DIGEST).why
    assert store.check_integrity(DIGEST, only_sizes=True) == INTACT


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from olmkit.store.store import Store

store = Store(Path(sys.argv[1]))
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 4 * 1024 * 1024,) * 2)
print(store.verify(sys.argv[2]))
"""


NO_DESCRIPTORS = """
import sys
from pathlib import Path
from olmkit.errors import Waiting
from olmkit.store.store import Store
from tests.descriptors import use_up

store = Store(Path(sys.argv[1]))
use_up()
for only_sizes in (True, False):
    print(store.check_integrity(sys.argv[2], only_sizes=only_sizes))
try:
    store.verify(sys.argv[2])
except Waiting as error:
    print(error.reason)
print(store.checksums(sys.argv[2]))
"""


def test_without_file_descriptors_the_integrity_is_unknown(store: Store, tmp_path: Path) -> None:
    fill(store)
    command = [sys.executable, "-c", NO_DESCRIPTORS, str(tmp_path / "content"), DIGEST]
    unknown = str(IntegrityCheck(Integrity.UNKNOWN, "manifest.json: Too many open files"))
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == [unknown, unknown, "CacheUnreadable", "None"]
    assert store.verify(DIGEST)


def test_a_job_with_little_memory_can_hash(store: Store, tmp_path: Path) -> None:
    with store.publish(DIGEST) as staging, open(staging / "large", "wb") as file:
        file.truncate(40 * 1024 * 1024)
    command = [sys.executable, "-c", LITTLE_MEMORY, str(tmp_path / "content"), DIGEST]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"


def test_checksums_of_published_content_can_be_read(store: Store) -> None:
    assert store.checksums(DIGEST) is None
    path = fill(store)
    checksums = store.checksums(DIGEST)
    assert checksums is not None
    assert {name: file.size for name, file in checksums.files.items()} == {"a.json": 2, "deep/er/b": 256}
    assert Checksums.parse(checksums.to_bytes(), DIGEST) == checksums
    (path.parent / "manifest.json").write_bytes(b"{")
    assert store.checksums(DIGEST) is None


def test_content_that_differs_from_the_expected_checksums_is_not_published(store: Store, tmp_path: Path) -> None:
    fill(store)
    promised = store.checksums(DIGEST)
    assert promised is not None
    store.remove(DIGEST)
    with pytest.raises(ValueError, match=r"deep/er/b is missing"), store.publish(DIGEST, promised) as staging:
        (staging / "a.json").write_text("{}")
    assert store.digests() == set()
    assert leftovers(store, tmp_path) == []


def test_missing_content_is_not_verified(store: Store) -> None:
    assert not store.verify(DIGEST)


def test_corrupt_content_can_be_removed_and_published_again(store: Store) -> None:
    (fill(store) / "a.json").unlink()
    store.remove(DIGEST)
    assert store.path(DIGEST) is None
    fill(store)
    assert store.verify(DIGEST)


def test_collect_garbage_removes_unused_content(store: Store, tmp_path: Path) -> None:
    fill(store)
    fill(store, OTHER)
    assert store.collect_garbage({OTHER}) == {DIGEST}
    assert store.digests() == {OTHER}
    assert store.collect_garbage({OTHER, DIGEST}) == set()
    store.remove(DIGEST)
    assert leftovers(store, tmp_path) == []


def test_a_reader_can_finish_a_file_that_is_collected_meanwhile(store: Store) -> None:
    with (fill(store) / "deep" / "er" / "b").open("rb") as file:
        store.collect_garbage(set())
        assert file.read() == bytes(range(256))


@pytest.mark.parametrize(
    "digest",
    [
        "",
        "sha256:",
        "sha256:" + "A" * 64,
        "md5:" + "a" * 32,
        "sha256:../../x",
        "../" + DIGEST,
        DIGEST + "/..",
        "sha256-" + "a" * 64,
    ],
)
def test_only_digests_are_accepted(store: Store, digest: str) -> None:
    with pytest.raises(ValueError, match="is not a digest"):
        store.path(digest)
    with pytest.raises(ValueError, match="is not a digest"):
        store.remove(digest)


KILLED = """
import sys
from pathlib import Path
from olmkit.store.store import Store

with Store(Path(sys.argv[1])).publish(sys.argv[2]) as staging:
    (staging / "half").write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_abandoned_staging_is_removed_and_staging_in_use_is_kept(store: Store, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "content"), DIGEST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        store.remove_abandoned_staging()
        assert len(leftovers(store, tmp_path)) == 1, "its job still runs"
        job.send_signal(signal.SIGKILL)
    assert len(leftovers(store, tmp_path)) == 1
    store.remove_abandoned_staging()
    assert leftovers(store, tmp_path) == []
    assert store.digests() == set()


def test_publish_removes_abandoned_staging(store: Store, tmp_path: Path) -> None:
    (tmp_path / "content" / ".staging" / "left" / "content").mkdir(parents=True)
    fill(store)
    assert leftovers(store, tmp_path) == []


def test_a_full_disk_is_reported_and_nothing_is_left(store: Store, tmp_path: Path) -> None:
    with pytest.raises(Waiting, match="is full: free some space") as raised, store.publish(DIGEST):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert raised.value.reason == "DiskFull"
    assert str(tmp_path) not in raised.value.message
    assert store.digests() == set()
    assert leftovers(store, tmp_path) == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO])
def test_a_failed_disk_is_reported_and_nothing_is_left(store: Store, tmp_path: Path, number: int) -> None:
    with pytest.raises(Waiting, match="cannot be used") as raised, store.publish(DIGEST):
        raise OSError(number, os.strerror(number))
    assert raised.value.reason == "DiskFailed"
    assert leftovers(store, tmp_path) == []


def test_other_errors_are_raised_unchanged(store: Store) -> None:
    with pytest.raises(PermissionError), store.publish(DIGEST):
        raise PermissionError(errno.EPERM, "no")


def test_a_file_name_that_is_not_utf8_is_an_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name"), store.publish(DIGEST) as staging:
        (Path(os.fsdecode(os.fsencode(staging) + b"/\xff"))).touch()
    assert leftovers(store, tmp_path) == []


def test_concurrent_publishers_keep_the_staging_of_each_other(tmp_path: Path) -> None:
    digests = [f"sha256:{number:064x}" for number in range(400)]

    def publish(digest: str) -> None:
        with Store(tmp_path).publish(digest) as directory:
            (directory / "file").write_text(digest)

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(publish, digests))
    assert Store(tmp_path).digests() == set(digests)
    assert not list((tmp_path / ".staging").iterdir())


@pytest.mark.parametrize("kind", ["file", "link", "empty directory"])
def test_other_files_in_the_place_of_content_are_replaced(store: Store, tmp_path: Path, kind: str) -> None:
    home = tmp_path / "content" / DIGEST.replace(":", "-")
    match kind:
        case "file":
            home.touch()
        case "link":
            home.symlink_to(tmp_path / "nowhere")
        case _:
            home.mkdir()
    assert not store.verify(DIGEST)
    fill(store)
    assert store.verify(DIGEST)


def test_foreign_files_in_staging_are_removed_and_others_kept(store: Store, tmp_path: Path) -> None:
    staging, foreign = tmp_path / "content" / ".staging", tmp_path / "content" / "lost+found"
    (staging / "file").touch()
    (staging / "link").symlink_to(tmp_path)
    foreign.mkdir()
    store.remove_abandoned_staging()
    assert leftovers(store, tmp_path) == []
    assert store.collect_garbage(set()) == set()
    assert foreign.exists()
    assert tmp_path.exists()


def test_publish_recreates_the_staging_directory(store: Store, tmp_path: Path) -> None:
    (tmp_path / "content" / ".staging").rmdir()
    fill(store)
    assert store.verify(DIGEST)


def test_young_content_is_not_collected(store: Store) -> None:
    fill(store)
    assert store.collect_garbage(set(), older_than=timedelta(minutes=1)) == set()
    assert store.collect_garbage(set()) == {DIGEST}


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OlmError, match="name a directory that can be written") as raised:
        Store(tmp_path / "file" / "content")
    assert raised.value.reason == "CacheUnusable"
