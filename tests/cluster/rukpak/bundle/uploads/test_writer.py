"""Archives of several parts: interrupted, sent at the same time, and for Bundles that go away meanwhile."""

from __future__ import annotations

import asyncio
import io
import random
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundles
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundle.uploads.stored_upload import CONFIG_MAPS, PART_BYTES, Upload, index_name, role_of
from rukpak.bundle.uploads.writer import Outcome, UploadWriter
from rukpak.setup import build
from tests.cluster.killable_process import KillSwitch, first, run_killable
from tests.cluster.rukpak.admission.conftest import Place
from tests.cluster.rukpak.bundle.uploads.conftest import Uploader, digest_of, packed, uploader
from tests.cluster.rukpak.bundle.uploads.test_routes import token_of
from tests.cluster.rukpak.harness import Object, config_map, gone, namespace, plain, settings

PARTS = 3
MAX_WRITES = 30
"""More writes than an upload takes."""


def large(uploads: Uploader, seed: int = 1) -> bytes:
    """An archive of PARTS parts."""
    noise = random.Random(seed).randbytes(int((PARTS - 0.5) * PART_BYTES))
    return packed({**plain(namespace(uploads.name), config_map("log", uploads.name)), "noise": noise})


class HaltingClient(Client):
    """Stops before the second part of an upload, until it may go on."""

    halted: asyncio.Event
    may_go_on: asyncio.Event

    async def create(self, kind: Kind, obj: Object, namespace: str | None = None) -> Object:
        if kind == CONFIG_MAPS and obj["metadata"]["name"].endswith("-001"):
            type(self).halted.set()
            await type(self).may_go_on.wait()
        return await super().create(kind, obj, namespace)


@pytest.fixture
def halting() -> type[HaltingClient]:
    HaltingClient.halted, HaltingClient.may_go_on = asyncio.Event(), asyncio.Event()
    return HaltingClient


async def test_an_upload_that_was_interrupted_is_continued(place: Place, halting: type[HaltingClient]) -> None:
    """rukpak ends between two parts, as if it was killed; the next one takes the rest."""
    async with place.rukpak(make=halting), uploader(place) as uploads:
        archive = large(uploads)
        await uploads.create(digest_of(archive))
        sending = asyncio.create_task(uploads.put(archive))
        await halting.halted.wait()
        sending.cancel()
        await asyncio.wait([sending])
    assert sorted((await uploads.stored()).values()) == ["part"], "nobody sees it"
    async with place.rukpak("b"), uploader(place) as uploads:
        found = await uploads.says("waiting for bundle to be uploaded")
        assert found["status"]["phase"] == "Pending"
        before, _ = await place.at.client.list(CONFIG_MAPS, place.system, "core.rukpak.io/upload", metadata_only=True)
        assert (await uploads.put(archive))[0] == 201
        await uploads.unpacked()
        assert sorted((await uploads.stored()).values()) == ["index", *["part"] * PARTS]
        after = await place.at.client.get(CONFIG_MAPS, before[0]["metadata"]["name"], place.system)
        assert after["metadata"]["uid"] == before[0]["metadata"]["uid"], "the part that was there is kept"


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_a_kill_after_any_write_of_an_upload_is_repaired_by_the_next(place: Place, tmp_path: Path) -> None:
    """For each n: killed after the n-th write, parts, index and status, and the client repeats its request."""
    where = {"system_namespace": place.system, "keys_namespace": place.keys, "webhook_bind_address": place.address}
    kills = 0
    for number in range(1, MAX_WRITES):
        suffix = f"-{number}"
        async with (
            run_killable("rukpak", settings(place.at.cluster, tmp_path / "a", **where), build) as kill_switch,
            uploader(place) as uploads,
        ):
            archive = large(uploads)
            was_killed = await upload_until_killed(uploads, archive, suffix, kill_switch, number)
        async with place.rukpak("b"), uploader(place) as uploads:
            status, text = await uploads.put(archive, name=f"{uploads.name}{suffix}")
            assert status in (201, 204), text
            found = await uploads.unpacked(suffix)
            assert found["status"]["phase"] == "Unpacked"
            assert sorted((await uploads.stored()).values()) == ["index", *["part"] * PARTS]
            await place.at.client.delete(bundles.KIND, found["metadata"]["name"])
            await place.at.when(bundles.KIND, found["metadata"]["name"], "", gone)
            await place.at.when_none(CONFIG_MAPS, place.system, role_of)
        kills += was_killed
        if not was_killed:
            break
    print(f"{kills} kills")
    assert not was_killed
    assert kills > PARTS


async def upload_until_killed(
    uploads: Uploader, archive: bytes, suffix: str, kill_switch: KillSwitch, number: int
) -> bool:
    """Upload an archive; returns whether rukpak was killed before its Bundle was unpacked."""
    await uploads.create(digest_of(archive), suffix)
    await uploads.says("waiting for bundle to be uploaded", suffix)
    kill_switch.writes_left = number

    async def whole() -> None:
        await uploads.put(archive, name=f"{uploads.name}{suffix}")
        await uploads.unpacked(suffix)

    await first(kill_switch.killed.wait(), whole())
    return kill_switch.was_killed


async def test_a_bundle_that_is_deleted_meanwhile_gets_nothing(place: Place, halting: type[HaltingClient]) -> None:
    async with place.rukpak(make=halting), uploader(place) as uploads:
        archive = large(uploads)
        await uploads.create(digest_of(archive))
        sending = asyncio.create_task(uploads.put(archive))
        await halting.halted.wait()
        await place.at.client.delete(bundles.KIND, uploads.name)
        halting.may_go_on.set()
        status, text = await sending
        assert (status, "no Bundle of this name waits for this archive" in text) == (404, True)
        await place.at.when_none(CONFIG_MAPS, place.system, role_of)


async def test_the_same_archive_at_the_same_time_is_stored_once(uploads: Uploader) -> None:
    archive = large(uploads)
    await uploads.create(digest_of(archive))
    statuses = sorted([status for status, _ in await asyncio.gather(*(uploads.put(archive) for _ in range(3)))])
    assert statuses[0] == 201
    assert set(statuses) <= {201, 204}
    await uploads.unpacked()
    assert sorted((await uploads.stored()).values()) == ["index", *["part"] * PARTS]


async def test_of_two_archives_for_one_bundle_the_first_is_kept_and_the_other_removed(uploads: Uploader) -> None:
    await uploads.create()
    token = await token_of(uploads.place, "author", "update")
    archives = [large(uploads, seed) for seed in (1, 2)]
    answers = await asyncio.gather(*(uploads.put(each, "", token) for each in archives))
    statuses = [status for status, _ in answers]
    assert sorted(statuses) == [201, 409]
    found = await uploads.unpacked()
    kept = digest_of(archives[statuses.index(201)])
    assert found["status"]["resolvedSource"]["upload"]["digest"] == kept

    def is_loose(config_map: Object) -> bool:
        return role_of(config_map) != "" and kept not in config_map["metadata"]["annotations"].values()

    await uploads.place.at.when_none(CONFIG_MAPS, uploads.place.system, is_loose)
    assert sorted((await uploads.stored()).values()) == ["index", *["part"] * PARTS]


async def test_a_damaged_part_is_replaced_by_the_next_upload(place: Place) -> None:
    """Somebody has created a ConfigMap of its name with other bytes: the Bundle says so, and the upload repairs it."""
    async with place.rukpak(), uploader(place) as uploads:
        archive = uploads.archive()
        found = await uploads.create(digest_of(archive))
        name = f"upload-{found['metadata']['uid']}-{digest_of(archive)[7:23]}-000"
    client = place.at.client
    body: dict[str, Any] = {"metadata": {"name": name, "namespace": place.system}, "binaryData": {"archive": "AAAA"}}
    async with place.rukpak(), uploader(place) as uploads:
        await client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **body})
        assert (await uploads.put(archive))[0] == 201, "it was replaced before anybody read it"
        await uploads.unpacked()
        assert (await uploads.put(archive))[0] == 204


class CutFile(io.BytesIO):
    """A file of which one part can be read: its reader is interrupted then, as a process that is killed."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise InterruptedError
        return super().read(size)


async def damage(client: Client, name: str, system: str) -> None:
    """Replace a part by one with other bytes."""
    found: Object = await client.get(CONFIG_MAPS, name, system)
    await client.delete(CONFIG_MAPS, name, system)
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    metadata = {key: found["metadata"][key] for key in kept if key in found["metadata"]}
    await client.create(CONFIG_MAPS, {**found, "metadata": metadata, "binaryData": {"archive": "ZGFtYWdlZA=="}})


async def test_an_index_does_not_outlive_a_damaged_part(uploads: Uploader) -> None:
    """A Bundle that has read a damaged part waits for another index: an attempt that is killed leaves none that the next attempt
    takes for its own."""
    data = random.Random(3).randbytes(PART_BYTES + 1)
    uid = (await uploads.create(digest_of(data)))["metadata"]["uid"]
    client, system = uploads.place.at.client, uploads.place.system
    upload, writer = Upload(uploads.name, uid, digest_of(data), len(data)), UploadWriter(client, system)
    assert await writer.store(upload, io.BytesIO(data)) is Outcome.STORED
    before = await client.get(CONFIG_MAPS, index_name(uid), system)
    await damage(client, upload.part_names[0], system)
    with pytest.raises(InterruptedError):
        await writer.store(upload, CutFile(data))
    assert await writer.store(upload, io.BytesIO(data)) is Outcome.STORED
    after = await client.get(CONFIG_MAPS, index_name(uid), system)
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    assert await writer.store(upload, io.BytesIO(data)) is Outcome.UNCHANGED
