"""Checksums are encoded and decoded; invalid ones and paths outside the directory are rejected."""

from __future__ import annotations

import errno
import json
import os

import pytest

from olmkit.store.checksums import Checksums, FileChecksums, Integrity, IntegrityCheck, failed_check

DIGEST = "sha256:" + "a" * 64
CHUNK_DIGEST = "0" * 64


def parsed(files: object, **more: object) -> Checksums:
    return Checksums.parse(json.dumps({"format": 2, "digest": DIGEST, "files": files, **more}).encode(), DIGEST)


def test_checksums_are_decoded_as_they_were_encoded() -> None:
    checksums = Checksums(
        DIGEST,
        {
            "a": FileChecksums(0, ()),
            "b/c": FileChecksums(1, (CHUNK_DIGEST,)),
            "d": FileChecksums(2**24 + 1, (CHUNK_DIGEST,) * 2),
        },
    )
    assert Checksums.parse(checksums.to_bytes(), DIGEST) == checksums


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a//b", "./a", "", ".", "..", "a/", "a\0b"])
def test_a_path_outside_the_directory_or_not_normalized_is_rejected(path: str) -> None:
    with pytest.raises(ValueError, match="invalid file"):
        parsed({path: [1, [CHUNK_DIGEST]]})


@pytest.mark.parametrize(
    "file", [None, [], [1], [1, []], [-1, []], ["1", ["0"]], [1, [2]], [1, ["0", "0"]], {"size": 1}]
)
def test_an_invalid_file_entry_is_rejected(file: object) -> None:
    with pytest.raises(ValueError, match="invalid file"):
        parsed({"a": file})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"\0\0\0\0", "truncated"),
        (b"null", "another format"),
        (b"{}", "another format"),
        (b'{"format": 2}', "other content"),
        (b'{"format": 2, "digest": "sha256:00", "files": {}}', "other content"),
        (b'{"format": 2, "digest": "%s"}' % DIGEST.encode(), "no files"),
    ],
)
def test_an_invalid_checksums_file_is_rejected_with_a_reason(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Checksums.parse(data, DIGEST)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        *(
            (OSError(each, os.strerror(each), "f"), Integrity.CORRUPT)
            for each in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
        ),
        *(
            (OSError(each, os.strerror(each), "f"), Integrity.UNKNOWN)
            for each in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE)
        ),
        (ValueError("the checksums file is truncated"), Integrity.CORRUPT),
        (MemoryError(), Integrity.UNKNOWN),
        (RuntimeError("can't start new thread"), Integrity.UNKNOWN),
    ],
    ids=lambda each: f"{type(each).__name__} {getattr(each, 'errno', '')}" if isinstance(each, Exception) else each,
)
def test_only_missing_or_malformed_content_is_corrupt(error: Exception, state: Integrity) -> None:
    found = failed_check(error)
    assert found == IntegrityCheck(state, found.why)
    assert found.why
