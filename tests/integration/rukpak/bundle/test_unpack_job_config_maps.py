"""The unpack job with the files of ConfigMaps: what is read, what is refused, and that what is refused is not pinned."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from olmkit.errors import Blocked
from olmkit.sources.resolved_source import content_digest
from olmkit.sources.source import ConfigMapsSource, digest_of_files
from rukpak.bundle.storage import load
from rukpak.format import RegistryBundle
from tests.integration.rukpak.bundle.source_unpacker import PLAIN, REGISTRY, SourceUnpacker, config_map
from tests.unit.rukpak.builders import csv
from tests.unit.rukpak.builders import files as files_of

MANIFESTS = {"manifests/a.yaml": config_map("one")}


@pytest_asyncio.fixture
async def unpacker(tmp_path: Path) -> AsyncIterator[SourceUnpacker]:
    made = SourceUnpacker(tmp_path)
    yield made
    await made.jobs.close()


def source_of(files: Mapping[str, bytes]) -> ConfigMapsSource:
    return ConfigMapsSource(tuple(sorted(files.items())))


async def test_the_files_below_manifests_are_a_plain_bundle(unpacker: SourceUnpacker) -> None:
    source = source_of({**MANIFESTS, "manifests/b.yaml": config_map("two"), "README.md": b"x"})
    found = await unpacker.unpack(source)
    assert found.resolved == {"type": "configMaps", "configMaps": {"digest": digest_of_files(source.files)}}
    assert found.digest == content_digest(found.resolved)
    assert unpacker.names(found) == ["one", "two"]
    stored = ["bundle.json", "files/manifests/a.yaml", "files/manifests/b.yaml", "type"]
    assert unpacker.files(found) == stored, "nothing else of the ConfigMaps"
    again = await unpacker.unpack(source)
    assert (again.digest, again.staged) == (found.digest, False)


async def test_manifests_and_metadata_are_a_registry_bundle(unpacker: SourceUnpacker) -> None:
    found = await unpacker.unpack(source_of(files_of(csv())), REGISTRY)
    assert isinstance(load(unpacker.store, found.digest), RegistryBundle)


@pytest.mark.parametrize(
    ("files", "content_type", "reason", "words"),
    [
        pytest.param(
            {"a.yaml": config_map("one")},
            *(PLAIN, "MissingContent", ' has no content at "/manifests", where its content should be'),
            id="no manifests",
        ),
        pytest.param(
            MANIFESTS,
            *(
                REGISTRY,
                "MissingContent",
                " is not a registry+v1 bundle (it has no /metadata): for a plain+v0 bundle set",
            ),
            id="a plain bundle",
        ),
        pytest.param(
            {"manifests/a.yaml": b"only text"},
            *(PLAIN, "UnpackFailed", 'error parsing objects in "a.yaml": an object is a mapping'),
            id="a manifest that is no object",
        ),
        pytest.param(
            {**MANIFESTS, "manifests/emptydir/a.yaml": config_map("two")},
            *(PLAIN, "UnpackFailed", 'found "manifests/emptydir"'),
            id="a directory below manifests",
        ),
        pytest.param(
            {**MANIFESTS, f"{'n' * 300}/a.yaml": b""},
            *(PLAIN, "TooLarge", 'nnn…": a path too long'),
            id="a directory that no disk has",
        ),
        pytest.param(
            {**MANIFESTS, "n/" * 100 + "a.yaml": b""},
            *(PLAIN, "TooLarge", '": a path more than 64 directories deep'),
            id="a directory below many others",
        ),
        pytest.param(
            {"manifests/a.yaml": b""},
            *(PLAIN, "UnpackFailed", "found zero objects"),
            id="no objects",
        ),
    ],
)
async def test_files_that_are_no_bundle_are_refused_until_they_change(
    unpacker: SourceUnpacker, files: Mapping[str, bytes], content_type: str, reason: str, words: str
) -> None:
    with pytest.raises(Blocked) as caught:
        await unpacker.unpack(source_of(files), content_type)
    assert caught.value.reason == reason
    assert words in caught.value.message
    assert unpacker.store.digests() == set()
