"""The archive of the files of a Bundle, from a store on a real disk."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.api.meta import Object
from olmkit.runtime.listener.http_errors import HTTPError
from olmkit.sources.resolved_source import content_digest, resolved_image
from olmkit.store.store import Store
from rukpak.bundle.content_routes import content_url, pack, unpacked_digest
from rukpak.format.bundle import FORMAT_VERSION

DIGEST = "sha256:" + "a" * 64
RESOLVED = resolved_image(f"registry.example.com/a@{DIGEST}")
FILES = {"manifests/b.yaml": b"b: 1\n", "manifests/a.yaml": b"\xff\x00", "metadata/annotations.yaml": b""}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "store")
    with made.publish(DIGEST) as staging:
        (staging / "type").write_text(f"registry+v1 {FORMAT_VERSION}")
        (staging / "bundle.json").write_bytes(b"{}")
        for name, data in FILES.items():
            (staging / "files" / name).parent.mkdir(parents=True, exist_ok=True)
            (staging / "files" / name).write_bytes(data)
    return made


def packed(store: Store) -> bytes:
    archive = pack(store, DIGEST)
    assert archive is not None
    with archive:
        archive.seek(0)
        return archive.read()


def test_the_archive_has_the_files_sorted_and_nothing_of_the_store(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(packed(store))
    with tarfile.open(path) as archive:
        members = [(each.name, each.mtime, each.mode, archive.extractfile(each)) for each in archive]
        found = [(name, time, mode, file.read()) for name, time, mode, file in members if file is not None]
    assert found == [(name, 0, 0o644, FILES[name]) for name in sorted(FILES)]


def test_the_same_files_make_the_same_bytes(store: Store) -> None:
    assert packed(store) == packed(store)


def damage(file: Path) -> None:
    file.write_bytes(b"b: 2\n")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(damage, id="a byte differs"),
        pytest.param(Path.unlink, id="a file is missing"),
        pytest.param(
            lambda file: (file.parents[2] / "type").write_text("registry+v1 0"), id="of another format version"
        ),
    ],
)
def test_content_that_is_damaged_or_missing_makes_no_archive(store: Store, change: Callable[[Path], Any]) -> None:
    directory = store.path(DIGEST)
    assert directory is not None
    change(directory / "files" / "manifests" / "b.yaml")
    assert pack(store, DIGEST) is None


def test_content_that_was_removed_makes_no_archive(store: Store) -> None:
    store.remove(DIGEST)
    assert pack(store, DIGEST) is None


def bundle(phase: str = "Unpacked", **metadata: Any) -> Object:
    return {"metadata": {"name": "a", **metadata}, "status": {"phase": phase, "resolvedSource": RESOLVED}}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        pytest.param(None, "there is no Bundle a", id="there is none"),
        pytest.param(
            bundle(deletionTimestamp="2026-01-01T00:00:00Z"), "there is no Bundle a", id="it is being deleted"
        ),
        pytest.param({"metadata": {"name": "a"}}, "is not unpacked", id="no status"),
        pytest.param(bundle("Failing"), "is not unpacked", id="it fails"),
        pytest.param({**bundle(), "status": {"phase": "Unpacked"}}, "is not unpacked", id="no source is resolved"),
    ],
)
def test_bundles_without_files(raw: Object | None, words: str) -> None:
    with pytest.raises(HTTPError) as raised:
        unpacked_digest(raw, "a")
    assert (raised.value.status, words in raised.value.message) == (404, True)


def test_the_digest_and_the_address_of_a_bundle() -> None:
    assert unpacked_digest(bundle(), "a") == content_digest(RESOLVED)
    assert content_url("olm", "a.v1") == "https://rukpak.olm.svc/bundles/a.v1.tgz"
