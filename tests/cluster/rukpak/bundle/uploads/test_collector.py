"""What becomes of the ConfigMaps of uploads: left parts are removed, those in use are kept, and all leave with the Bundle."""

from __future__ import annotations

import pytest

from olmkit.api import bundles
from rukpak.bundle.uploads import collector
from rukpak.bundle.uploads.stored_upload import CONFIG_MAPS, PART_BYTES, Upload, role_of
from tests.cluster.rukpak.admission.conftest import Place
from tests.cluster.rukpak.bundle.uploads.conftest import Uploader, digest_of, uploader


async def test_parts_that_nobody_completes_are_removed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "ABANDONED_SECONDS", 1.0)
    async with place.rukpak(), uploader(place) as uploads:
        archive = uploads.archive()
        found = await uploads.create(digest_of(archive))
        left = Upload(uploads.name, found["metadata"]["uid"], "sha256:" + "1" * 64, PART_BYTES)
        await place.at.client.create(CONFIG_MAPS, left.part(left.part_names[0], place.system, b"x"))
        await place.at.when_none(CONFIG_MAPS, place.system, role_of)
        assert (await uploads.put(archive))[0] == 201
        await uploads.unpacked()
        assert len(await uploads.stored()) == 2, "those of a complete upload stay"


async def test_the_upload_of_a_bundle_stays_until_the_bundle_goes(uploads: Uploader) -> None:
    place, archive = uploads.place, uploads.archive()
    await place.configure()
    await place.answers()
    found = await uploads.create(digest_of(archive))
    assert (await uploads.put(archive))[0] == 201
    await uploads.unpacked()
    index = f"upload-{found['metadata']['uid']}"
    for name in await uploads.stored():
        answer = await place.kubectl("delete", "configmap", name, f"--namespace={place.system}")
        assert f'configmap "{name}" is in-use by bundle "{uploads.name}"' in answer
    assert index in await uploads.stored()
    await place.at.client.delete(bundles.KIND, uploads.name)
    await place.at.when_none(CONFIG_MAPS, place.system, role_of)
