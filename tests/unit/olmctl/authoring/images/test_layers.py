"""Layers: their bytes depend on the paths and contents of files alone."""

from __future__ import annotations

import gzip
import io
import tarfile

from olmctl.authoring.images.layers import Files, compressed, digest_of, write_tar


def tar(files: Files) -> bytes:
    buffer = io.BytesIO()
    write_tar(buffer, files)
    return buffer.getvalue()


def test_a_layer_contains_files_and_directories_in_order() -> None:
    with tarfile.open(fileobj=io.BytesIO(tar({"b/c/x": b"2", "a": b"1"}))) as archive:
        assert [(entry.name, entry.isdir()) for entry in archive] == [
            ("b", True),
            ("b/c", True),
            ("a", False),
            ("b/c/x", False),
        ]


def test_the_same_files_make_the_same_layer_in_any_order() -> None:
    assert tar({"a": b"1", "b": b"2"}) == tar({"b": b"2", "a": b"1"})
    assert compressed({"a": b"1", "b": b"2"}).blob.digest == compressed({"b": b"2", "a": b"1"}).blob.digest
    assert compressed({"a": b"1"}).blob.digest != compressed({"a": b"2"}).blob.digest


def test_a_layer_is_described_by_the_digests_of_its_archive_packed_and_unpacked() -> None:
    archive = tar({"a": b"1"})
    found = compressed({"a": b"1"})
    assert found.diff_id == digest_of(archive)
    assert (digest_of(found.blob.read()), len(found.blob.read())) == (found.blob.digest, found.blob.size)
    assert gzip.decompress(found.blob.read()) == archive
