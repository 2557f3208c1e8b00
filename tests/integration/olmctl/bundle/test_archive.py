"""The archive of a directory: its bytes depend on the files alone."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from olmctl.bundle.archive import Archive, archive_of, pack, pack_bundle
from olmctl.bundle.source import of_directory
from olmctl.commands import CommandError
from olmkit.fbc.bundle_files import PACKAGE_KEY
from olmkit.sources.content_limits import MAX_UPLOAD_BYTES

FILES = {"manifests/b.yaml": b"b", "manifests/a.yaml": b"a", "metadata/annotations.yaml": b"c", "README.md": b"d"}


def written(directory: Path, names: list[str]) -> Path:
    """The directory with these files, written in this order."""
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FILES[name])
    return directory


def test_the_same_files_have_the_same_digest(tmp_path: Path) -> None:
    first = pack(written(tmp_path / "first", list(FILES)))
    other = written(tmp_path / "other", sorted(FILES, reverse=True))
    for path in other.rglob("*.yaml"):
        os.utime(path, (0, 0))
        path.chmod(0o777)
    (other / "README.md").write_text("another text that is no part of a bundle")
    assert pack(other) == first
    assert (first.provisioner, first.digest.startswith("sha256:")) == ("core-rukpak-io-registry", True)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(first.data))) as packed:
        assert packed.getnames() == ["manifests/a.yaml", "manifests/b.yaml", "metadata/annotations.yaml"]
        assert {(each.mode, each.mtime, each.uid, each.uname) for each in packed} == {(0o644, 0, 0, "")}
    (other / "manifests" / "b.yaml").write_bytes(b"B")
    assert pack(other).digest != first.digest


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    directory = written(tmp_path / "bundle", ["manifests/a.yaml"])
    (directory / "manifests" / "b.yaml").symlink_to("/etc/passwd")
    with pytest.raises(CommandError, match=r"manifests/b.yaml: is a link that leads outside the bundle"):
        pack(directory)
    (directory / "manifests" / "b.yaml").unlink()
    (directory / "manifests" / "b.yaml").symlink_to("a.yaml")
    assert len(pack(directory).files) == 2
    assert pack(directory).provisioner == "core-rukpak-io-plain"


def test_a_link_that_leads_to_itself_is_no_file(tmp_path: Path) -> None:
    directory = written(tmp_path / "bundle", ["manifests/a.yaml"])
    (directory / "manifests" / "b.yaml").symlink_to("b.yaml")
    assert list(pack(directory).files) == ["manifests/a.yaml"]


@pytest.mark.parametrize(
    ("annotations", "name"),
    [
        (f"annotations: {{{PACKAGE_KEY}: lamp}}", "lamp"),
        (f"annotations: {{{PACKAGE_KEY}: lamp, x: 2024-99-99}}", "lamp"),
        ("annotations: {x: 2024-99-99}", "here"),
        ("[", "here"),
    ],
)
def test_a_bundle_that_cannot_be_read_is_named_by_its_annotations(annotations: str, name: str, tmp_path: Path) -> None:
    directory = written(tmp_path / "here", ["manifests/a.yaml", "metadata/annotations.yaml"])
    (directory / "metadata" / "annotations.yaml").write_text(annotations)
    assert of_directory(directory).name == name


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save between two reads would record the facts of other bytes than those that are sent."""
    directory = written(tmp_path / "here", [name for name in FILES if name != "README.md"])
    reads, read = list[str](), Path.read_bytes

    def counted(path: Path) -> bytes:
        reads.append(path.relative_to(directory).as_posix())
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    found = of_directory(directory)
    assert found.archive is not None
    assert sorted(reads) == sorted(found.archive.files)


def test_a_chart_is_packed_whole_without_hidden_files(tmp_path: Path) -> None:
    for name in ("Chart.yaml", "values.yaml", "templates/a.yaml", ".helmignore", ".git/config", "templates/.a.swp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a")
    found, _ = pack_bundle(tmp_path)
    assert sorted(found.files) == [".helmignore", "Chart.yaml", "templates/a.yaml", "values.yaml"]
    assert found.provisioner == "core-rukpak-io-helm"


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="none: there is no such directory: give the directory of a"):
        pack_bundle(tmp_path / "none")
    (tmp_path / "manifests").mkdir()
    with pytest.raises(CommandError, match='has no "manifests" directory with files in it'):
        pack_bundle(tmp_path)
    (tmp_path / "manifests" / "csv.yaml").write_text(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
    )
    with pytest.raises(CommandError, match=r"but no metadata/annotations.yaml: a registry\+v1 bundle needs both"):
        pack_bundle(tmp_path)


def test_an_archive_in_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.tgz"
    file.write_bytes(b"bytes")
    assert archive_of(file) == Archive(b"bytes")
    assert str(archive_of(file)).startswith("5 bytes, sha256:")
    with file.open("ab") as large:
        large.truncate(MAX_UPLOAD_BYTES + 1)
    with pytest.raises(CommandError, match="at most 33,554,432 can be uploaded"):
        archive_of(file)
