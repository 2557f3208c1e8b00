"""Real catalogs: every blob of every package is stored unchanged, found through the index, and listed as a Package."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogd.ingest.content import BLOBS_FILE, Content
from catalogd.ingest.content_writer import ContentWriter
from olmctl.authoring.directory import read_directory
from olmkit.api.package_annotations import CHANNELS_ANNOTATION, LATEST_VERSION_ANNOTATION, VERSIONS_ANNOTATION
from olmkit.store.store import Store
from operator_controller.catalog_cache.content_store import IDENTITY
from operator_controller.catalog_cache.content_store import write_content as write_documents
from operator_controller.catalog_cache.stored_documents import ContentDocuments

pytestmark = pytest.mark.corpus
DIGEST = "sha256:" + "c" * 64


@pytest.fixture(scope="module")
def source(corpus: Path) -> Path:
    """The directory of packages."""
    return corpus / "catalog"


@pytest.fixture(scope="module")
def directory(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content that catalogd makes of all packages."""
    made = tmp_path_factory.mktemp("content")
    write_content(source, made)
    return made


def write_content(files: Path, directory: Path) -> None:
    """Write the content of a catalog on disk into `directory`."""
    with ContentWriter(directory, DIGEST) as writer:
        for blob in read_directory(files):
            writer.add(blob)
        writer.finish()


def _blobs(source: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(source.glob("*/*"), key=lambda path: path.relative_to(source).parts):
        for line in file.read_text().splitlines():
            yield json.loads(line)


def test_every_blob_is_stored_in_order_and_unchanged(source: Path, directory: Path) -> None:
    with open(directory / BLOBS_FILE, "rb") as kept:
        for number, (line, expected) in enumerate(zip(kept, _blobs(source), strict=True)):
            assert json.loads(line) == expected, f"blob {number}"
            assert (
                line == json.dumps(expected, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
            )


def test_all_packages_are_listed_without_a_problem(source: Path, directory: Path) -> None:
    content = Content(directory)
    assert list(content.summary.package_names) == sorted(path.name for path in source.iterdir())
    assert (content.summary.problem_count, content.summary.notes) == (0, ())
    for offer in content.package_fingerprints:
        listed = content.package_object(offer.package)
        assert listed["spec"]["packageName"] == offer.package
        assert listed["metadata"]["annotations"].keys() == {
            LATEST_VERSION_ANNOTATION,
            CHANNELS_ANNOTATION,
            VERSIONS_ANNOTATION,
        }


def test_summaries_are_small_enough_for_a_list_of_all_packages(directory: Path) -> None:
    """DESIGN 4: under 200 KB gzipped for 276 packages."""
    content = Content(directory)
    data = content.summaries_path.read_bytes()
    lines = json.loads(data)["packages"]
    assert [line["name"] for line in lines] == list(content.summary.package_names)
    assert len(gzip.compress(data)) / len(lines) * 276 < 200_000
    for line in lines:
        assert line["displayName"], line["name"]
        assert line["channels"][0]["head"]["version"], line["name"]


def test_icons_are_those_of_the_packages(source: Path, directory: Path) -> None:
    content = Content(directory)
    pictures = content.icons_path.read_bytes()
    for blob in _blobs(source):
        if blob["schema"] == "olm.package" and "icon" in blob:
            found = content.icon_range(blob["name"])
            assert found is not None
            (start, length), media_type = found
            picture = base64.b64decode(blob["icon"]["base64data"])
            assert pictures[start : start + length] == picture
            misnamed = {b"\xff\xd8": "image/jpeg", b"\0\0": "image/x-icon"}  # some packages call them PNG
            assert media_type == misnamed.get(picture[:2], blob["icon"]["mediatype"])


def test_the_index_finds_the_same_as_a_search(source: Path, directory: Path) -> None:
    index = Content(directory).index
    blobs = list(_blobs(source))
    assert len(index) == len(blobs)
    for package in {blob.get("package") or blob["name"] for blob in blobs}:
        expected = [
            at
            for at, blob in enumerate(blobs)
            if package == (blob.get("package") or blob["name"])
            or (blob["schema"] == "olm.package" and blob["name"] == package)
        ]
        assert list(index.find(package=package)) == expected


def test_resolution_documents_are_small_and_have_every_bundle(source: Path, directory: Path) -> None:
    content = Content(directory)
    assert content.resolution_path.stat().st_size < content.blobs_path.stat().st_size / 8
    documents = [json.loads(line) for line in content.resolution_path.read_bytes().splitlines()]
    found = {(each["package"], bundle["name"]) for each in documents for bundle in each["bundles"]}
    assert found == {(blob["package"], blob["name"]) for blob in _blobs(source) if blob["schema"] == "olm.bundle"}
    assert all(bundle["version"] and "problem" not in bundle for each in documents for bundle in each["bundles"])


def test_packages_written_as_yaml_and_as_indented_json_are_equal(source: Path, tmp_path: Path) -> None:
    """A few packages, as YAML is slow to write; the forms change nothing but the order of files."""
    for package in sorted(source.iterdir())[:4]:
        values = [json.loads(line) for line in (package / "catalog.json").read_text().splitlines()]
        dumped = yaml.dump_all(values, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
        forms = {"yaml": dumped, "indented": "\n".join(json.dumps(each, indent=4) for each in values)}
        expected = [blob.line for blob in read_directory(package)]
        for form, text in forms.items():
            made = tmp_path / package.name / form
            made.mkdir(parents=True)
            (made / "catalog").write_text(text)
            assert [blob.line for blob in read_directory(made)] == expected, f"{package.name} as {form}"


def test_catalogs_that_opm_refuses_are_read(corpus: Path, tmp_path: Path) -> None:
    """formats 1.10: problems of the model do not stop serving; nothing but the files themselves can."""
    if not (corpus / "invalid").is_dir():
        pytest.skip("this corpus has no catalogs that opm refuses")
    for package in sorted((corpus / "invalid").iterdir()):
        if package.is_dir():
            made = tmp_path / package.name
            made.mkdir()
            write_content(package, made)
            assert Content(made).summary.blob_count == len((package / "catalog.json").read_text().splitlines())


def test_the_resolution_documents_of_all_packages_are_read_by_operator_controller(
    directory: Path, tmp_path: Path
) -> None:
    served = Content(directory)
    with Store(tmp_path).publish(DIGEST) as target:
        write_documents(served.resolution_path, IDENTITY, DIGEST, target)
    documents = ContentDocuments(tmp_path)
    content = documents.open(DIGEST)
    assert [*content.index.packages] == list(served.summary.package_names)
    for package in content.index.packages:
        assert documents.read(DIGEST, package).content.name == package
    documents.close_files()
    for (group, kind), packages in content.index.providers.items():
        assert list(packages) == list(served.providers(f"{group}/{kind}"))
