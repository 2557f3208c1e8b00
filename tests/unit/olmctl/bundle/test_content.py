"""The archive that rukpak sends, as files; it comes over a connection to somebody's cluster."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from olmctl.bundle.content import unpacked
from olmctl.commands import CommandError


def archive(**files: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as packed:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            packed.addfile(info, io.BytesIO(text))
    return gzip.compress(data.getvalue())


def test_files_by_path() -> None:
    files = {"manifests/a.yaml": b"a", "metadata/b.yaml": b"\xff"}
    assert unpacked(archive(**files)) == files


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"no archive", "cannot be read", id="no archive"),
        pytest.param(archive(a=b"a" * 99)[:40], "cannot be read", id="cut"),
        pytest.param(archive(**{"../a": b""}), "lead out of it", id="a path above"),
        pytest.param(archive(**{"/a": b""}), "lead out of it", id="an absolute path"),
        pytest.param(archive(), "is empty", id="nothing"),
    ],
)
def test_what_cannot_be_read(data: bytes, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        unpacked(data)
