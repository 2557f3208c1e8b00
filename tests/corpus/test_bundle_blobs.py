"""Real bundles: rendering their directories gives the blobs of the real catalogs, which opm rendered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from devcluster.images import Content
from olmctl.authoring.bundle_blobs import registry_blob
from olmctl.authoring.directory import read_directory
from olmctl.authoring.images.contents import bundle_files
from olmctl.authoring.serialize import Format, serialize, written_place
from olmkit.fbc.bundle_files import read_registry
from olmkit.fbc.catalog import BUNDLE
from tests.corpus.sample import is_sampled

pytestmark = pytest.mark.corpus
UNREADABLE = "eventing-kogito"
"""The one package whose metadata/dependencies.yaml is invalid YAML, in both bundles; opm omits it too."""


@pytest.fixture(scope="module")
def content(corpus: Path) -> Content:
    return Content(corpus / "catalog", corpus / "bundles")


def sampled(content: Content) -> list[str]:
    """The packages of this run."""
    return [package for package in content.packages() if is_sampled(package) or package == UNREADABLE]


def bundles(content: Content) -> Iterator[tuple[dict[str, Any], Path]]:
    """The olm.bundle blobs of this run whose bundle is in the corpus, with its directory."""
    for package in sampled(content):
        for blob in content.blobs(package):
            directory = content.bundle_directory(blob) if blob["schema"] == BUNDLE else None
            if directory is not None:
                yield blob, directory


def _related(blob: dict[str, Any]) -> list[dict[str, str]]:
    """Its related images except its own, which the catalogs of the corpus do not have; equal images in the order of their
    names."""
    others = [each for each in blob["relatedImages"] if each["image"] != blob["image"]]
    assert [each["image"] for each in others] == sorted(each["image"] for each in others)
    return sorted(others, key=lambda each: (each["image"], each["name"]))


def test_every_bundle_is_rendered_as_in_its_catalog(content: Content) -> None:
    count = 0
    for blob, directory in bundles(content):
        read = read_registry(bundle_files(directory))
        assert bool(read.warnings) == (blob["package"] == UNREADABLE), directory
        made = orjson.loads(orjson.dumps(registry_blob(read, blob["image"], summarized=True)))
        assert list(made) == list(blob), directory
        assert made["properties"] == blob["properties"], directory  # in opm's order too
        assert {"name": "", "image": blob["image"]} in made["relatedImages"], directory
        assert _related(made) == _related(blob), directory
        assert {**made, "relatedImages": []} == {**blob, "relatedImages": []}, directory
        count += 1
    directories = [path for package in sampled(content) for path in content.bundles.glob(f"{package}/*")]
    assert count == len(directories) > 0


def test_written_catalogs_are_read_again(content: Content, tmp_path: Path) -> None:
    """All blobs of the packages of this run, in JSON and as YAML."""
    read = (blob for package in sampled(content) for blob in read_directory(content.catalog / package))
    blobs = sorted(read, key=written_place)
    for form in get_args(Format):
        (tmp_path / form).mkdir()
        with (tmp_path / form / "catalog").open("wb") as file:
            for blob in blobs:
                file.write(serialize(blob.value, form))
        assert [blob.line for blob in read_directory(tmp_path / form)] == [blob.line for blob in blobs], form
