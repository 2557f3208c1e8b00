"""What a manifest says, and what is none: nothing that leaves its folder or says nonsense is believed."""

from __future__ import annotations

import errno
import json
import os

import pytest

from olmkit.store.checksums import Checksums, FileChecksums, Integrity, IntegrityCheck, failed_check

DIGEST = "sha256:" + "a" * 64
PORTION = "0" * 64


def parsed(files: object, **more: object) -> Checksums:
    return Checksums.parse(json.dumps({"format": 2, "digest": DIGEST, "files": files, **more}).encode(), DIGEST)


def test_it_comes_back_as_it_was_written() -> None:
    manifest = Checksums(
        DIGEST,
        {"a": FileChecksums(0, ()), "b/c": FileChecksums(1, (PORTION,)), "d": FileChecksums(2**24 + 1, (PORTION,) * 2)},
    )
    assert Checksums.parse(manifest.to_bytes(), DIGEST) == manifest


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a//b", "./a", "", ".", "..", "a/", "a\0b"])
def test_a_path_that_leaves_the_folder_or_has_another_spelling_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no file of a content"):
        parsed({path: [1, [PORTION]]})


@pytest.mark.parametrize(
    "file", [None, [], [1], [1, []], [-1, []], ["1", ["0"]], [1, [2]], [1, ["0", "0"]], {"size": 1}]
)
def test_nonsense_about_a_file_is_refused(file: object) -> None:
    with pytest.raises(ValueError, match="no file of a content"):
        parsed({"a": file})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "torn"),
        (b"{", "torn"),
        (b"\0\0\0\0", "torn"),
        (b"null", "another format"),
        (b"{}", "another format"),
        (b'{"format": 2}', "another content"),
        (b'{"format": 2, "digest": "sha256:00", "files": {}}', "another content"),
        (b'{"format": 2, "digest": "%s"}' % DIGEST.encode(), "no files"),
    ],
)
def test_what_is_no_manifest_of_that_content_is_refused_with_a_reason(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
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
        (ValueError("the manifest is torn"), Integrity.CORRUPT),
        (MemoryError(), Integrity.UNKNOWN),
        (RuntimeError("can't start new thread"), Integrity.UNKNOWN),
    ],
    ids=lambda each: f"{type(each).__name__} {getattr(each, 'errno', '')}" if isinstance(each, Exception) else each,
)
def test_only_what_is_missing_or_malformed_is_damage(error: Exception, state: Integrity) -> None:
    found = failed_check(error)
    assert found == IntegrityCheck(state, found.why)
    assert found.why
