"""Zip archives: those of real writers are read, and those of hostile ones are refused as tar archives are."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olmkit.sources import http
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import BadContent
from olmkit.sources.zip_archive import MAX_LIST_BYTES
from tests.images import digest_of

FILES = {"a": b"alpha", "d/b": b"beta", "d/e/c": b""}
LIMITS = ContentLimits(bytes=1_000_000, files=100)


def info(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    return made


def of_windows(name: str) -> zipfile.ZipInfo:
    """A member that a program on Windows wrote: it has backslashes where a zip archive has slashes."""
    made = info(name, 0)
    made.create_system = 0
    return made


def packed(members: Sequence[tuple[zipfile.ZipInfo | str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    whole = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(whole, "w", method) as archive:
        warnings.filterwarnings("ignore", "Duplicate name")
        for member, data in members:
            archive.writestr(member, data, method)
    return whole.getvalue()


ARCHIVE = packed([*FILES.items()])


def unpacked(data: bytes, into: Path, only: Sequence[str] = (), limits: ContentLimits = LIMITS) -> dict[str, bytes]:
    """The files of the archive, by path below the directory that http.unpack returns."""
    into.mkdir()
    root = into / http.unpack("zip", io.BytesIO(data), into, only, limits)
    assert not any(path.is_symlink() for path in into.rglob("*"))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def of_git(directory: Path) -> bytes:
    """The archive of a repository, as hosts of repositories make it: in one directory, with a link."""
    for path, data in FILES.items():
        target = directory / "work" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    os.symlink("../a", directory / "work" / "d" / "link")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "m"]):
        subprocess.run(["git", *command], cwd=directory / "work", check=True)
    command = ["git", "archive", "--format=zip", "--prefix=combo-0.0.2/", "HEAD"]
    return subprocess.run(command, cwd=directory / "work", check=True, stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ARCHIVE, id="deflated"),
        pytest.param(packed([*FILES.items()], zipfile.ZIP_STORED), id="stored"),
        pytest.param(packed([("d/", b""), *FILES.items()]), id="with a directory"),
        pytest.param(packed([(of_windows(path), data) for path, data in FILES.items()]), id="of Windows, with slashes"),
        pytest.param(packed([("a", b"older"), *FILES.items()]), id="of a file twice, the last one counts"),
    ],
)
def test_the_files_are_read(tmp_path: Path, data: bytes) -> None:
    assert unpacked(data, tmp_path / "into") == FILES


def test_an_archive_of_git_is_read_with_its_link_and_without_its_directory(tmp_path: Path) -> None:
    data = of_git(tmp_path)
    assert unpacked(data, tmp_path / "into", ["a", "d"]) == {**FILES, "d/link": b"alpha"}
    below = {f"combo-0.0.2/{path}": content for path, content in {**FILES, "d/link": b"alpha"}.items()}
    assert unpacked(data, tmp_path / "whole") == below


def test_what_macos_adds_to_an_archive_is_no_directory_of_its_own(tmp_path: Path) -> None:
    below = [(f"top/{path}", data) for path, data in FILES.items()]
    data = packed([*below, ("__MACOSX/top/._a", b"\0\5\x16\7")])
    assert unpacked(data, tmp_path / "into", ["a", "d"]) == FILES


def test_files_that_are_not_selected_are_neither_read_nor_refused(tmp_path: Path) -> None:
    bomb = (info("other/bomb"), bytes(2_000_000))
    data = packed([*FILES.items(), bomb, (info("other/device", stat.S_IFCHR), b"")])
    assert unpacked(data, tmp_path / "into", ["d"]) == {"d/b": b"beta", "d/e/c": b""}


def changed(data: bytes, offset: int, value: bytes) -> bytes:
    """The archive with other bytes at the offset in the header of its first member, there and in the list of members."""
    listed = data.index(b"PK\x01\x02")
    for at in (offset, listed + offset + 2):
        data = data[:at] + value + data[at + len(value) :]
    return data


@pytest.mark.parametrize(
    ("data", "reason", "words"),
    [
        pytest.param(ARCHIVE[:-30], "UnsupportedContent", "is not a complete zip archive", id="truncated"),
        pytest.param(
            ARCHIVE[:100], "UnsupportedContent", "is not a complete zip archive", id="without its list of members"
        ),
        pytest.param(
            packed([("a", b"x" * 9)], zipfile.ZIP_STORED).replace(b"x" * 9, b"y" * 9),
            "UnsupportedContent",
            "is not a complete zip archive: Bad CRC-32",
            id="of other bytes than its checksum says",
        ),
        pytest.param(
            changed(ARCHIVE, 6, b"\x01\x00"), "UnsupportedContent", '"a", which is encrypted', id="of an encrypted file"
        ),
        pytest.param(
            packed([*FILES.items()], zipfile.ZIP_BZIP2),
            "UnsupportedContent",
            'contains "a", compressed with method bzip2: use deflate',
            id="compressed with another method",
        ),
        pytest.param(packed([("../a", b"x")]), "UnsafeContent", "a path outside the archive", id="a path outside"),
        pytest.param(
            packed([(of_windows("manifests\\a.yaml"), b"x")]),
            "UnsupportedContent",
            r'"manifests\a.yaml", a path with backslashes: archive it with a program that writes slashes',
            id="backslashes of Windows",
        ),
        pytest.param(packed([("/etc/a", b"x")]), "UnsafeContent", "an absolute path", id="an absolute path"),
        pytest.param(
            packed([("a_b", b"x")]).replace(b"a_b", b"a\0b"),
            "UnsafeContent",
            '"a\\x00b": a name with a NUL in it',
            id="a name with a NUL",
        ),
        pytest.param(
            packed([(info("a", stat.S_IFLNK), b"../../etc/passwd")]),
            "UnsafeContent",
            "outside the archive",
            id="a link outside",
        ),
        pytest.param(
            packed([(info("a", stat.S_IFLNK), b"/etc"), ("a/passwd", b"x")]),
            "UnsafeContent",
            "which is a link",
            id="through a link",
        ),
        pytest.param(
            packed([(info("a", stat.S_IFLNK), b"\xff")]),
            "UnsupportedContent",
            "is not a complete zip archive",
            id="a link that is no text",
        ),
        pytest.param(
            packed([(info("a", stat.S_IFLNK), b"x" * 5000)]),
            "TooLarge",
            "a link to a path too long",
            id="a link that is too long",
        ),
        pytest.param(
            packed([(info("a", stat.S_IFBLK), b"")]), "UnsafeContent", '"a", which is a device', id="a device"
        ),
        pytest.param(
            packed([(info("a", stat.S_IFIFO), b"")]), "UnsafeContent", "which is a named pipe", id="a named pipe"
        ),
        pytest.param(packed([("a", bytes(2_000_000))]), "TooLarge", "larger than", id="a bomb"),
        pytest.param(
            packed([(f"f{number}", b"") for number in range(101)]),
            "TooLarge",
            "more files than are read",
            id="too many files",
        ),
        pytest.param(
            packed([("/".join("d" * 70), b"")]), "TooLarge", "a path more than 64 directories deep", id="too deep"
        ),
    ],
)
def test_archives_that_are_refused(tmp_path: Path, data: bytes, reason: str, words: str) -> None:
    with pytest.raises(BadContent) as raised:
        unpacked(data, tmp_path / "into")
    assert raised.value.reason == reason
    assert words in raised.value.message


def test_a_size_in_a_header_is_not_believed(tmp_path: Path) -> None:
    """The data of one member inflates to more than the archive says: no more than that is read, and its checksum is wrong."""
    data = packed([("a", bytes(2_000_000))])
    lying = changed(data, 22, (10).to_bytes(4, "little"))
    with pytest.raises(BadContent, match=r"is not a complete zip archive|larger than"):
        unpacked(lying, tmp_path / "into")
    assert sum(path.stat().st_size for path in (tmp_path / "into").rglob("*")) <= LIMITS.bytes


def test_a_list_of_members_that_needs_much_memory_is_not_read(tmp_path: Path) -> None:
    whole = packed([("a", b"")])
    at, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    count = MAX_LIST_BYTES // (end - at) + 1
    tail = bytearray(whole[end:])
    tail[12:16] = (count * (end - at)).to_bytes(4, "little")
    with pytest.raises(BadContent) as raised:
        unpacked(whole[:at] + whole[at:end] * count + bytes(tail), tmp_path / "into", limits=ContentLimits())
    assert (raised.value.reason, "more files than are read" in raised.value.message) == ("TooLarge", True)


def test_members_that_share_their_data_count_each(tmp_path: Path) -> None:
    """A list of members whose entries all name the same large file: the classic bomb without nesting."""
    whole = packed([("a", bytes(400_000))])
    at = whole.index(b"PK\x01\x02")
    end = whole.index(b"PK\x05\x06")
    entries = b"".join(whole[at:end].replace(b"a", bytes([each])) for each in b"abcdefgh")
    tail = bytearray(whole[end:])
    tail[8:12] = (8).to_bytes(2, "little") * 2
    tail[12:16] = len(entries).to_bytes(4, "little")
    with pytest.raises(BadContent) as raised:
        unpacked(whole[:at] + entries + bytes(tail), tmp_path / "into")
    assert raised.value.reason in ("TooLarge", "UnsupportedContent"), "Python refuses such members since 3.11.8"


@given(noise=st.binary(min_size=1, max_size=12), at=st.integers(0, len(ARCHIVE) - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_random_bytes_are_read_or_refused(tmp_path: Path, noise: bytes, at: int) -> None:
    """For all bytes of an archive, the result is files or a BadContent, and only the directory is written to."""
    base = tmp_path / digest_of(noise + str(at).encode()).partition(":")[2]
    if base.exists():
        return
    base.mkdir()
    with suppress(BadContent):
        unpacked(b"PK\x03\x04" + (ARCHIVE[:at] + noise + ARCHIVE[at + len(noise) :])[4:], base / "into")
    assert os.listdir(base) == ["into"]


def test_noise_that_inflates_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(BadContent, match="is not a complete zip archive"):
        unpacked(b"PK\x03\x04" + zlib.compress(bytes(1000)), tmp_path / "into")
