"""A file that a thread writes and hashes."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from catalogd.ingest.content_writer import WRITE_BATCH_BYTES, HashingWriter
from olmkit.store.checksums import HASH_CHUNK_SIZE, FileChecksums, compute_checksums

DIGEST = "sha256:" + "c" * 64


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([], id="nothing"),
        pytest.param([0, 1, 0], id="a byte"),
        pytest.param([HASH_CHUNK_SIZE], id="one portion to the byte"),
        pytest.param([HASH_CHUNK_SIZE + 1], id="a byte more than a portion"),
        pytest.param([1000] * 20_000, id="many pieces over a portion's end"),
        pytest.param([WRITE_BATCH_BYTES * 3, 1, HASH_CHUNK_SIZE * 2], id="pieces larger than a batch and a portion"),
    ],
)
def test_the_hashes_are_those_of_the_file(tmp_path: Path, sizes: list[int]) -> None:
    pieces = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    with HashingWriter(tmp_path / "f") as file:
        for piece in pieces:
            file.write(piece)
        checksum = file.finish()
        if sum(sizes) > 5:
            assert file.read(sum(sizes) - 5, 5) == b"".join(pieces)[-5:]
    assert (tmp_path / "f").read_bytes() == b"".join(pieces)
    assert checksum == compute_checksums(tmp_path, DIGEST).files["f"]


def test_small_pieces_do_not_keep_their_buffers(tmp_path: Path) -> None:
    """orjson does not shrink its buffers: each waiting piece takes a kilobyte or more."""
    used = subprocess.run([sys.executable, "-c", _SMALL, str(tmp_path / "f")], capture_output=True, check=True)
    assert int(used.stdout) < 50_000


_SMALL = """
import sys
import orjson
from pathlib import Path
from catalogd.ingest.content_writer import HashingWriter

def peak():  # of this program only: getrusage starts with the size of the parent process
    (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
    return int(line.split()[1])

before = peak()
with HashingWriter(Path(sys.argv[1])) as file:
    for number in range(200_000):
        file.write(orjson.dumps({"schema": number}))
    file.finish()
print(peak() - before)
"""


def fill(path: Path) -> None:
    with HashingWriter(path) as file:
        for _ in range(100):
            file.write(bytes(WRITE_BATCH_BYTES))
        file.finish()


def give_up(path: Path) -> None:
    with HashingWriter(path) as file:
        file.write(bytes(3 * WRITE_BATCH_BYTES))
        raise KeyError


def test_a_disk_that_fails_is_reported_and_no_thread_stays(tmp_path: Path) -> None:
    before = threading.active_count()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (WRITE_BATCH_BYTES, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            fill(tmp_path / "f")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert threading.active_count() == before


def test_an_aborted_writer_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(KeyError):
        give_up(tmp_path / "f")
    assert threading.active_count() == before


def test_a_manifest_takes_hashes_that_are_known_for_files_of_that_size_only(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    true = compute_checksums(tmp_path, DIGEST).files["f"]
    assert compute_checksums(tmp_path, DIGEST, {"f": FileChecksums(5, ("known",))}).files["f"] == FileChecksums(
        5, ("known",)
    )
    assert compute_checksums(tmp_path, DIGEST, {"f": FileChecksums(6, ("known",)), "gone": true}).files == {"f": true}
