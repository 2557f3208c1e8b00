"""Images on disk: the names that tools find them by, and what is read again."""

from __future__ import annotations

import filecmp
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from olmctl.authoring.images import layout
from olmctl.authoring.images.image import Image, labelled_image, make_image
from olmctl.authoring.images.layers import compressed
from olmctl.authoring.images.layout import BadLayout
from olmkit.errors import OlmError
from olmkit.sources.oci.reference import parse


@pytest.fixture
def image() -> Image:
    return labelled_image([compressed({"manifests/a.yaml": b"a"})], {"b": "2", "a": "1"})


def index_of(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as opened:
        file = opened.extractfile("index.json")
        assert file is not None
        found: dict[str, Any] = json.load(file)
        return found


def test_each_tag_names_the_image_for_copying_and_for_the_nodes_that_it_is_loaded_to(
    image: Image, tmp_path: Path
) -> None:
    target = tmp_path / "image.tar"
    layout.write_archive(image, target, ("olm-suite:v1", "olm-suite:latest", "quay.io/team/app:v1"))
    assert [each["annotations"] for each in index_of(target)["manifests"]] == [
        {
            "org.opencontainers.image.ref.name": name,
            "io.containerd.image.name": full,
        }
        for name, full in (
            ("olm-suite:v1", "docker.io/library/olm-suite:v1"),
            ("olm-suite:latest", "docker.io/library/olm-suite:latest"),
            ("quay.io/team/app:v1", "quay.io/team/app:v1"),
        )
    ]
    assert {each["digest"] for each in index_of(target)["manifests"]} == {image.digest}


def test_a_directory_that_does_not_exist_is_named(image: Image, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        layout.write_archive(image, tmp_path / "absent" / "image.tar", ("a:v1",))
    error = caught.value
    assert (error.filename, error.strerror) == (str(tmp_path / "absent"), "there is no such directory")


def test_the_same_image_makes_the_same_archive(image: Image, tmp_path: Path) -> None:
    for name in ("one.tar", "two.tar"):
        layout.write_archive(image, tmp_path / name, ["a:v1"], time=5)
    assert filecmp.cmp(tmp_path / "one.tar", tmp_path / "two.tar", shallow=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.tar", "two.tar"]


@pytest.mark.parametrize("name", ["image.tar", "image"])
def test_what_was_written_is_read_again(name: str, image: Image, tmp_path: Path) -> None:
    path = tmp_path / name
    (layout.write_archive if name.endswith(".tar") else layout.write_directory)(image, path, ())
    assert layout.is_layout(path)
    found = layout.read(path)
    assert (found.digest, found.manifest, found.configuration) == (image.digest, image.manifest, image.configuration)
    assert [blob.read() for blob in found.blobs] == [blob.read() for blob in image.blobs]
    assert found.configuration["config"]["Labels"] == {"a": "1", "b": "2"}


def test_a_directory_with_a_layout_is_written_again_and_another_one_is_kept(image: Image, tmp_path: Path) -> None:
    other = make_image([compressed({"a": b""})], {})
    layout.write_directory(other, tmp_path / "image", ())
    layout.write_directory(image, tmp_path / "image", ())
    assert layout.read(tmp_path / "image").digest == image.digest
    assert len(list((tmp_path / "image" / "blobs" / "sha256").iterdir())) == 3
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    with pytest.raises(BadLayout, match="is a directory with other files"):
        layout.write_directory(image, tmp_path / "mine", ())
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]


def change(path: Path, index: dict[str, Any]) -> None:
    (path / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("index", "words"),
    [
        pytest.param([], "without a list of manifests", id="no index"),
        pytest.param({"manifests": []}, "has 0 images", id="no image"),
        pytest.param({"manifests": [{"digest": "a"}, {"digest": "b"}]}, "has 2 images", id="two images"),
        pytest.param({"manifests": [{"digest": "../../x", "size": 1}]}, "which is not a digest", id="a path"),
        pytest.param({"manifests": [{"digest": "sha256:" + "0" * 64, "size": 1}]}, "has no file", id="a missing blob"),
    ],
)
def test_a_layout_that_cannot_be_read(index: Any, words: str, image: Image, tmp_path: Path) -> None:
    layout.write_directory(image, tmp_path / "image", ())
    change(tmp_path / "image", index)
    with pytest.raises(BadLayout, match=words):
        layout.read(tmp_path / "image")


def test_an_index_that_is_not_json_is_refused(image: Image, tmp_path: Path) -> None:
    layout.write_directory(image, tmp_path / "image", ())
    (tmp_path / "image" / "index.json").write_text("{")
    with pytest.raises(BadLayout, match=r"^has an index\.json that is not JSON$"):
        layout.read(tmp_path / "image")


def test_a_changed_blob_is_refused(image: Image, tmp_path: Path) -> None:
    layout.write_directory(image, tmp_path / "image", ())
    blob = tmp_path / "image" / "blobs" / image.blobs[1].digest.replace(":", "/")
    blob.write_bytes(blob.read_bytes()[:-1] + b"!")
    with pytest.raises(BadLayout, match="of another digest or size"):
        layout.read(tmp_path / "image")


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_text("no tar")
    assert not layout.is_layout(tmp_path / "a.tar")
    with pytest.raises(BadLayout, match="is no tar archive of an OCI layout"):
        layout.read(tmp_path / "a.tar")


@pytest.mark.parametrize("name", ["a/B:v1", "quay.io/a@sha256:" + "0" * 64, ":v1"])
def test_a_name_that_is_no_reference_by_tag(name: str, image: Image) -> None:
    assert layout.reference_error(name)
    assert not layout.reference_error("quay.io/a:v1")
    if "@" not in name:
        with pytest.raises(OlmError):
            parse(name)


def test_a_link_at_the_place_of_a_partial_archive_is_not_followed(image: Image, tmp_path: Path) -> None:
    other = tmp_path / "precious"
    other.write_text("kept")
    (tmp_path / ".image.tar.partial").symlink_to(other)
    layout.write_archive(image, tmp_path / "image.tar", ())
    assert other.read_text() == "kept"
    assert not (tmp_path / "image.tar").is_symlink()


@pytest.mark.parametrize("place", ["blobs", "blobs/sha256", "index.json"])
def test_nothing_is_written_or_deleted_behind_a_link_in_a_layout(place: str, image: Image, tmp_path: Path) -> None:
    outside, target = tmp_path / "outside", tmp_path / "image"
    (outside / "sha256").mkdir(parents=True)
    for name in ("precious", "sha256/precious"):
        (outside / name).write_text("kept")
    (target / "blobs").mkdir(parents=True)
    (target / "oci-layout").write_text("{}")
    link = target / place
    if place == "blobs":
        link.rmdir()
    link.symlink_to(outside if place != "index.json" else outside / "precious")
    if place == "index.json":
        layout.write_directory(image, target, ())
        assert layout.read(target).digest == image.digest
    else:
        with pytest.raises(BadLayout, match=f"^has a link {place}, "):
            layout.write_directory(image, target, ())
    assert {path.relative_to(outside).as_posix(): path.read_text() for path in outside.rglob("precious")} == {
        "precious": "kept",
        "sha256/precious": "kept",
    }


KILLED = """\
import os, pathlib, signal, sys
from olmctl.authoring.images import layout
from olmctl.authoring.images.image import labelled_image
from olmctl.authoring.images.layers import compressed

left = int(sys.argv[2])

def step(event, arguments):
    global left
    if event == "os.rename" or (event == "open" and sys.argv[1] in str(arguments[0]) and arguments[2] & os.O_CREAT):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

image = labelled_image([compressed({"manifests/a.yaml": b"a"})], {"b": "2", "a": "1"})
sys.addaudithook(step)
layout.write_directory(image, pathlib.Path(sys.argv[1]), ())
"""


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 5, 9])
def test_what_a_killed_command_has_written_is_completed_by_the_next_one(
    writes: int, image: Image, tmp_path: Path
) -> None:
    target = tmp_path / "image"
    run = subprocess.run([sys.executable, "-c", KILLED, str(target), str(writes)], check=False)
    assert run.returncode == -9
    if layout.is_layout(target):
        with pytest.raises(BadLayout, match=r"^has no file index\.json"):
            layout.read(target)
    layout.write_directory(image, target, ())
    assert layout.read(target).digest == image.digest
    assert not [*target.rglob("*.partial")]


def test_files_of_others_beside_the_blobs_stay(image: Image, tmp_path: Path) -> None:
    layout.write_directory(image, tmp_path, ())
    old = tmp_path / "blobs" / "sha256" / ("0" * 64)
    notes, directory = old.with_name("notes.txt"), old.with_name("1" * 64)
    old.touch()
    notes.touch()
    directory.mkdir()
    layout.write_directory(image, tmp_path, ())
    assert [path.exists() for path in (old, notes, directory)] == [False, True, True]


def test_a_device_in_a_layout_is_not_read(image: Image, tmp_path: Path) -> None:
    layout.write_directory(image, tmp_path, ())
    blob = tmp_path / "blobs" / image.blobs[-1].digest.replace("sha256:", "sha256/")
    blob.unlink()
    blob.symlink_to("/dev/zero")
    with pytest.raises(BadLayout, match="is no regular file"):
        layout.read(tmp_path)
