"""Files that a test has stored, out of pods that mean harm: a server of ours answers as the API server does for `exec`."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from olmctl.scorecard import storage
from olmctl.scorecard.storage import CopiedFiles, NotCopied, copy_out, move_files
from olmkit.runtime.client import Client
from olmkit.sources.content_limits import ContentLimits
from tests.servers.registry import served

OUTPUT, ERRORS, STATUS = 1, 2, 3
SUCCESS = (STATUS, b'{"status":"Success"}')
FAILURE = (STATUS, b'{"status":"Failure","message":"command terminated with exit code 1"}')
Messages = Sequence[tuple[int, bytes]]


@asynccontextmanager
async def pod_with(messages: Messages, directory: Path, *, is_endless: bool = False) -> AsyncIterator[Client]:
    """A client of a server whose pods answer each command with these messages."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.path == "/api/v1/namespaces/ns/pods/p/exec"
        assert request.query.getall("command") == ["tar", "cf", "-", "-C", "/files", "."]
        assert request.query["container"] == "scorecard-gather"
        stream = web.WebSocketResponse(protocols=[storage.PROTOCOL])
        await stream.prepare(request)
        while True:
            for channel, data in messages:
                await stream.send_bytes(bytes([channel]) + data)
            if not is_endless:
                return stream

    async with served(answer) as address:
        cluster = {"name": "c", "cluster": {"server": f"http://{address}"}}
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        user = {"name": "u", "user": {"token": "t"}}
        config = {"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "c"}
        path = directory / "kubeconfig"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
        async with await Client.connect(str(path)) as client:
            yield client


async def copied(
    messages: Messages,
    directory: Path,
    *,
    is_endless: bool = False,
    before: CopiedFiles | None = None,
    left_out: list[str] | None = None,
) -> dict[str, bytes]:
    """The files below a new directory, which is the only one that has any afterwards."""
    into = directory / "into" / "p"
    packing = storage.Packer("tools").packing("/files")
    async with pod_with(messages, directory, is_endless=is_endless) as client:
        found = await copy_out(client, "ns", "p", packing, into, before or CopiedFiles())
    if left_out is not None:
        left_out += found
    return {path.relative_to(into).as_posix(): path.read_bytes() for path in into.rglob("*") if path.is_file()}


def packed(*members: tuple[str, bytes | None] | tarfile.TarInfo) -> bytes:
    """A tar archive: of files, of directories (None), and of what is given as it is."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for each in members:
            if isinstance(each, tarfile.TarInfo):
                archive.addfile(each)
                continue
            info = tarfile.TarInfo(each[0])
            info.type = tarfile.DIRTYPE if each[1] is None else tarfile.REGTYPE
            info.size = len(each[1] or b"")
            archive.addfile(info, io.BytesIO(each[1] or b""))
    return file.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


async def test_the_files_of_a_pod_are_copied(tmp_path: Path) -> None:
    data = packed(("./", None), ("./a.txt", b"a"), ("./b/c.bin", bytes(range(256)) * 300), ("./empty", b""))
    parts = [(OUTPUT, data[start : start + 30_000]) for start in range(0, len(data), 30_000)]
    found = await copied([(OUTPUT, b""), *parts, (ERRORS, b"a note"), SUCCESS], tmp_path)
    assert found == {"a.txt": b"a", "b/c.bin": bytes(range(256)) * 300, "empty": b""}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        pytest.param([(OUTPUT, packed(("../evil", b"x"))), SUCCESS], "outside the archive", id="a path outside"),
        pytest.param([(OUTPUT, packed(("/evil", b"x"))), SUCCESS], "an absolute path", id="an absolute path"),
        pytest.param(
            [(OUTPUT, packed(special("e", tarfile.SYMTYPE, ".."), ("e/evil", b"x"))), SUCCESS],
            'below "e", which is a link',
            id="through a link",
        ),
        pytest.param(
            [(OUTPUT, packed(special("e", tarfile.LNKTYPE, "/etc/passwd"))), SUCCESS], "hard link", id="a hard link"
        ),
        pytest.param([(OUTPUT, packed(special("e", tarfile.CHRTYPE))), SUCCESS], "which is a device", id="a device"),
        pytest.param([(OUTPUT, b"\x1f\x8bx"), SUCCESS], "is not a complete tar archive", id="no archive"),
        pytest.param([SUCCESS], "is empty", id="nothing"),
        pytest.param([(ERRORS, b"tar: a: no\ntar: b"), FAILURE], "^tar: b$", id="the command says why it failed"),
        pytest.param([FAILURE], "command terminated with exit code 1", id="it fails without a word"),
        pytest.param([(OUTPUT, packed(("a", b"x")))], "ended before the files were complete", id="it is cut"),
        pytest.param([(STATUS, b"[" * 100_000)], "ended before the files were complete", id="a status that is none"),
    ],
)
async def test_nothing_is_written_outside_and_it_is_said_why(messages: Messages, words: str, tmp_path: Path) -> None:
    with pytest.raises(NotCopied, match=words):
        await copied(messages, tmp_path)
    assert files_outside(tmp_path) in (["into", "kubeconfig"], ["kubeconfig"])


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/etc/passwd", "which is not there"),
        ("../../../../../../etc/passwd", "which is outside the archive"),
        ("..", "which is outside the archive"),
        ("/", "which is a directory"),
        ("d", "which is a directory"),
        ("e", "which is a loop"),
    ],
)
async def test_a_link_is_no_way_out_and_loses_no_other_file(target: str, why: str, tmp_path: Path) -> None:
    data = packed(
        special("e", tarfile.SYMTYPE, target), ("a", b"x"), ("d/b", b"y"), special("f", tarfile.SYMTYPE, "d/b")
    )
    left_out: list[str] = []
    assert await copied([(OUTPUT, data), SUCCESS], tmp_path, left_out=left_out) == {"a": b"x", "d/b": b"y", "f": b"y"}
    (said,) = left_out
    assert said.startswith(f'contains "e", a link to "{target}", {why}')
    assert files_outside(tmp_path) == ["into", "kubeconfig"]


def test_the_image_of_the_suite_packs_as_tar_does(tmp_path: Path) -> None:
    """A pipe is left out: nothing could be read from it."""
    files = tmp_path / "files"
    (files / "deep").mkdir(parents=True)
    (files / "deep" / "report.txt").write_text("seen")
    (files / "latest").symlink_to("deep/report.txt")
    os.link(files / "deep" / "report.txt", files / "same")
    os.mkfifo(files / "pipe")
    (files / "passwd").symlink_to("/etc/passwd")
    for packer in (storage.Packer("suite", is_suite=True), storage.Packer("tools")):
        program, *arguments = packer.packing(str(files))
        command = [sys.executable if packer.is_suite else program, *arguments]
        if not packer.is_suite:
            (files / "pipe").unlink()
        archive = io.BytesIO(subprocess.run(command, capture_output=True, check=True).stdout)
        into = tmp_path / packer.image
        assert CopiedFiles().unpack("p", archive, into) == [
            'contains "passwd", a link to "/etc/passwd", which is not there'
        ]
        found = {path.relative_to(into).as_posix(): path.read_text() for path in into.rglob("*") if path.is_file()}
        assert found == dict.fromkeys(("deep/report.txt", "latest", "same"), "seen")


def files_outside(directory: Path) -> list[str]:
    """What is not where the files of the pod belong; there must be no link anywhere."""
    found = list(directory.rglob("*"))
    assert not [path for path in found if path.is_symlink()]
    return sorted(path.name for path in found if not path.is_relative_to(directory / "into" / "p"))


@pytest.mark.parametrize(
    ("channel", "more"),
    [pytest.param(OUTPUT, b"x" * 60_000, id="files"), pytest.param(OUTPUT, packed(), id="archives")],
)
async def test_output_without_end_is_not_read(
    channel: int, more: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "LIMITS", ContentLimits(bytes=1_000_000))
    with pytest.raises(NotCopied, match="they have more than 1,000,000 bytes"):
        await copied([(channel, more)], tmp_path, is_endless=True)


async def test_more_files_than_are_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LIMITS", ContentLimits(bytes=1_000_000, files=10))
    data = packed(*((f"f{number}", b"") for number in range(11)))
    with pytest.raises(NotCopied, match="contains more files than are read"):
        await copied([(OUTPUT, data), SUCCESS], tmp_path)


@pytest.mark.parametrize(
    ("limits", "packing"),
    [
        pytest.param(ContentLimits(bytes=100_000), lambda data: data, id="bytes of archives"),
        pytest.param(ContentLimits(bytes=80_000), gzip.compress, id="bytes of files"),
        pytest.param(ContentLimits(files=3), lambda data: data, id="files"),
    ],
)
async def test_the_files_of_all_tests_have_a_limit(
    limits: ContentLimits, packing: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "RUN_LIMITS", limits)
    data, before = packing(packed(("a", b"x" * 50_000), ("b", b""))), CopiedFiles()
    (tmp_path / "one").mkdir()
    assert len(await copied([(OUTPUT, data), SUCCESS], tmp_path / "one", before=before)) == 2
    (tmp_path / "two").mkdir()
    with pytest.raises(NotCopied, match="the tests of this run have stored more than"):
        await copied([(OUTPUT, data), SUCCESS], tmp_path / "two", before=before)
    assert not [path for path in (tmp_path / "two").rglob("*") if path.name in ("a", "b")]


@pytest.mark.parametrize(
    "link",
    [
        pytest.param(lambda at: at / "a", id="of a file"),
        pytest.param(lambda at: at / "d", id="of a directory"),
        pytest.param(lambda at: at, id="of the place itself"),
    ],
)
def test_files_are_moved_and_no_link_is_followed(link: Callable[[Path], Path], tmp_path: Path) -> None:
    source, target, other = tmp_path / "source", tmp_path / "target", tmp_path / "other"
    is_kept = link(target) != target
    for path in (source / "d", other, *((target,) if is_kept else ())):
        path.mkdir(parents=True)
    (source / "a").write_text("new")
    (source / "d" / "b").write_text("new")
    (other / "b").write_text("old")
    if is_kept:
        (target / "kept").write_text("old")
    link(target).symlink_to(other / "b" if link(target).name == "a" else other)
    move_files(source, target)
    found = {path.relative_to(target).as_posix(): path.read_text() for path in target.rglob("*") if path.is_file()}
    assert found == {"a": "new", "d/b": "new", **({"kept": "old"} if is_kept else {})}
    assert [path.name for path in other.iterdir()] == ["b"]
    assert (other / "b").read_text() == "old"
