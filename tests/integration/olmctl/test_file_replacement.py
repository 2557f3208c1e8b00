"""Files in directories that somebody else has prepared."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from olmctl.file_replacement import make_directory, make_own_directory, partial_file, replace_file, replaced_file


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(lambda path, other: path.symlink_to(other), id="a link"),
        pytest.param(lambda path, other: path.symlink_to(other.parent), id="a link to a directory"),
        pytest.param(lambda path, other: path.symlink_to("nothing"), id="a link to nothing"),
        pytest.param(lambda path, other: os.link(other, path), id="a hard link"),
        pytest.param(lambda path, other: os.mkfifo(path), id="a pipe"),
        pytest.param(lambda path, other: path.write_text("half"), id="what a killed process has left"),
        pytest.param(lambda path, other: None, id="nothing"),
    ],
)
@pytest.mark.parametrize("place", ["file", ".file.partial"])
def test_a_file_is_written_whatever_is_there(prepare: Callable[[Path, Path], None], place: str, tmp_path: Path) -> None:
    other = tmp_path / "home" / "precious"
    other.parent.mkdir()
    other.write_text("kept")
    directory = tmp_path / "checkout"
    directory.mkdir()
    prepare(directory / place, other)
    replace_file(directory / "file", b"new")
    assert (directory / "file").read_bytes() == b"new"
    assert not (directory / "file").is_symlink()
    assert [path.name for path in directory.iterdir()] == ["file"]
    assert (other.read_text(), [path.name for path in other.parent.iterdir()]) == ("kept", ["precious"])


@pytest.mark.parametrize("before", [None, 0o600, 0o755])
def test_a_file_keeps_its_permissions(before: int | None, tmp_path: Path) -> None:
    path, plain = tmp_path / "file", tmp_path / "plain"
    plain.touch()
    if before is not None:
        path.touch()
        path.chmod(before)
    replace_file(path, b"")
    assert stat.S_IMODE(path.stat().st_mode) == (before or stat.S_IMODE(plain.stat().st_mode))


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with suppress(ZeroDivisionError), replaced_file(path) as file:
        file.write(b"half" * 1_000_000)
        raise ZeroDivisionError
    (tmp_path / "directory").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "directory", b"new")
    assert {each.name: each.is_file() and each.read_text() for each in tmp_path.iterdir()} == {
        "file": "old",
        "directory": False,
    }


def test_several_that_write_the_same_file_follow_one_another(tmp_path: Path) -> None:
    path, errors = tmp_path / "file", []

    def write(byte: bytes) -> None:
        try:
            for _ in range(20):
                with replaced_file(path) as file:
                    for _ in range(10):
                        file.write(byte * 1000)
                        file.flush()
                assert len({*path.read_bytes()}) == 1, "one of them wrote it"
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(byte,)) for byte in (b"a", b"b", b"c", b"d")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_killed_process_leaves_the_old_file_and_holds_nobody(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = (
        "import os, pathlib, signal, sys\n"
        "from olmctl.file_replacement import replaced_file\n"
        "with replaced_file(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert (path.read_text(), partial_file(path).read_text()) == ("old", "half")
    replace_file(path, b"new")
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"file": "new"}


@pytest.mark.parametrize(
    ("links", "path", "is_made"),
    [
        pytest.param({}, "root/a/b", True, id="no link"),
        pytest.param({"root/a": "../other"}, "root/a/b", False, id="a link that leads outside"),
        pytest.param({"root/a": "../other"}, "root/a", False, id="the directory itself"),
        pytest.param({"root/a": "../nothing"}, "root/a/b", False, id="a link to nothing outside"),
        pytest.param({"root/a": "c", "root/c": "../other"}, "root/a/b", False, id="over a link inside"),
        pytest.param({"root/a": "a"}, "root/a/b", False, id="a link to itself"),
        pytest.param({"root/a": "c"}, "root/a", True, id="a link inside"),
        pytest.param({"root": "other"}, "root/a", True, id="the root is what the user names"),
        pytest.param({"root/a": "../other"}, "elsewhere/a", True, id="not below the root"),
    ],
)
def test_a_link_in_a_path_leads_nowhere_outside(
    links: dict[str, str], path: str, is_made: bool, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    if "root" not in links:
        (tmp_path / "root" / "c").mkdir(parents=True)
    for link, target in links.items():
        if (tmp_path / link).is_dir():
            (tmp_path / link).rmdir()
        (tmp_path / link).symlink_to(target)
    if is_made:
        make_directory(tmp_path / path, tmp_path / "root")
        assert (tmp_path / path).is_dir()
        return
    with pytest.raises(
        OSError, match=r"a link in this path leads out of|Too many levels of symbolic links|File exists"
    ):
        make_directory(tmp_path / path, tmp_path / "root")
    assert not [*(tmp_path / "other").iterdir()]


def test_a_directory_of_its_own_takes_the_place_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("other")
    for _ in range(2):
        make_own_directory(tmp_path / "link")
        assert not (tmp_path / "link").is_symlink()
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_own_directory(tmp_path / "file")


def test_an_error_of_a_write_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(OSError, match="No space left on device") as raised, replaced_file(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert raised.value.filename == str(path)


def test_a_directory_in_the_place_of_a_file_is_named_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "bundle.Dockerfile"
    path.mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        replace_file(path, b"new")
    assert (raised.value.filename, raised.value.filename2) == (str(path), None)
    assert [*tmp_path.iterdir()] == [path]
