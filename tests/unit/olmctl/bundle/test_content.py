"""The archive that rukpak sends, as files; it comes over a connection to somebody's cluster."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from olmctl.bundle import content
from olmctl.bundle.content import print_files, unpacked, write_files
from olmctl.commands import CommandError


def archive(*members: tarfile.TarInfo, **files: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as packed:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            packed.addfile(info, io.BytesIO(text))
        for each in members:
            packed.addfile(each)
    return gzip.compress(data.getvalue())


def member(name: str, kind: bytes = tarfile.REGTYPE, **fields: Any) -> tarfile.TarInfo:
    """A member without data."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def sparse(size: int) -> bytes:
    """A file of that size, of which the archive has nothing."""
    header = bytearray(member("a", tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT))
    header[386:398] = f"{size:011o}".encode() + b"\0"  # the offset of its only block, at the end
    header[398:410] = f"{0:011o}".encode() + b"\0"
    header[483:495] = f"{size:011o}".encode() + b"\0"
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return gzip.compress(bytes(header) + bytes(1024))


def nested_names(count: int) -> bytes:
    """A long name for a long name, and so on."""
    header = member("././@LongLink", tarfile.GNUTYPE_LONGNAME, size=2).tobuf(tarfile.GNU_FORMAT)
    return gzip.compress((header + b"a\0".ljust(512, b"\0")) * count)


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
        pytest.param(archive(member("a", tarfile.DIRTYPE)), "is empty", id="directories alone"),
        pytest.param(archive(member("a", tarfile.SYMTYPE, linkname="/etc/passwd")), "neither a file", id="a link"),
        pytest.param(archive(member("a", tarfile.LNKTYPE, linkname="../b")), "neither a file", id="a hard link"),
        pytest.param(archive(member("a", tarfile.FIFOTYPE)), "neither a file", id="a pipe"),
        pytest.param(archive(member("../a", tarfile.DIRTYPE)), "lead out of it", id="a directory above"),
        pytest.param(archive(**{"a\x1b[31m": b""}), r'not printable: "a\ufffd\[31m"', id="a name that colours"),
        pytest.param(archive(**{"a\nb": b""}), "not printable", id="a name of two lines"),
        pytest.param(archive(member("a", pax_headers={"path": "a\0b"})), "not printable", id="a name with a NUL"),
        pytest.param(archive(**{"\udcff": b""}), "not printable", id="a name that is no text"),
        pytest.param(archive(**{".": b""}), "not printable", id="the directory itself"),
        pytest.param(sparse(1 << 32), "files that are too large", id="a file of 4 GiB that has no bytes"),
        pytest.param(nested_names(5000), "cannot be read", id="headers within headers"),
    ],
)
def test_what_cannot_be_read(data: bytes, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        unpacked(data)


def test_more_files_than_a_bundle_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MAX_FILES", 2)
    assert len(unpacked(archive(a=b"", b=b""))) == 2
    with pytest.raises(CommandError, match="too many files"):
        unpacked(archive(a=b"", b=b"", c=b""))


def test_files_are_written_below_a_new_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(unpacked(archive(**{"manifests/a.yaml": b"a", "größe 船.yaml": b"b"})), tmp_path / "new" / "out")
    assert (tmp_path / "new/out/manifests/a.yaml").read_bytes() == b"a"
    assert (tmp_path / "new/out/größe 船.yaml").read_bytes() == b"b"
    assert capsys.readouterr().out == f"2 files written to {tmp_path}/new/out\n"
    with pytest.raises(CommandError, match="exists and is not empty"):
        write_files({"a": b""}, tmp_path / "new" / "out")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param({"a" * 300: b""}, r"a{99}… cannot be written to .*: File name too long", id="a long name"),
        pytest.param({"/".join(["a"] * 3000): b""}, "File name too long", id="a long path"),
        pytest.param({"a": b"", "a/b": b""}, "a/b cannot be written to .*: (Not a directory|File exists)", id="both"),
        pytest.param({"a/b": b"", "a": b""}, "a cannot be written to .*: File exists", id="a file for a directory"),
    ],
)
def test_a_name_that_cannot_be_written_is_said(files: dict[str, bytes], words: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=words):
        write_files(unpacked(archive(**files)), tmp_path / "out")
    assert {each.name for each in tmp_path.iterdir()} <= {"out"}


def test_a_file_cannot_control_a_terminal_and_is_not_changed_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"a.yaml": b"a: \x1b[31mred\r\nb: \xc2\x9b31m\n"}
    print_files(files)
    assert capsys.readouterr().out == "---\n# a.yaml\na: \x1b[31mred\r\nb: \x9b31m\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_files(files)
    assert capsys.readouterr().out == "---\n# a.yaml\na: \ufffd[31mred\nb: \ufffd31m\n"
