"""Archives that are uploaded for Bundles: over TLS, with tokens that the real API server reviews, stored as its ConfigMaps."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from devcluster.services import free_address
from olmkit.api import bundles
from rukpak.bundle.uploads import routes
from tests.cluster.olmkit.conftest import until_allowed
from tests.cluster.rukpak.admission.conftest import Place
from tests.cluster.rukpak.bundle.uploads.conftest import Uploader, digest_of, packed, uploader
from tests.cluster.rukpak.harness import config_map, namespace, plain
from tests.integration.disk import fill_up, small_disk

NOT_AWAITED = "no Bundle of this name waits for this archive"


async def token_of(place: Place, account: str, *verbs: str) -> str:
    """The token of an account that may do this with Bundles."""
    cluster, system = place.at.cluster, place.system

    def create() -> str:
        cluster.kubectl("create", "serviceaccount", account, f"--namespace={system}")
        if verbs:
            role, subject = f"{place.at.name}-{account}", f"--serviceaccount={system}:{account}"
            rules = [f"--verb={','.join(verbs)}", "--resource=bundles.core.rukpak.io"]
            cluster.kubectl("create", "clusterrole", role, *rules)
            cluster.kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", subject)
        return cluster.kubectl("create", "token", account, f"--namespace={system}").strip()

    token = await asyncio.to_thread(create)
    for verb in verbs:
        attributes = {"verb": verb, "group": "core.rukpak.io", "resource": "bundles", "name": place.at.name}
        await until_allowed(place.at.client, f"{system}:{account}", resourceAttributes=attributes)
    return token


async def test_the_archive_of_the_digest_is_taken_from_anybody_and_unpacked(uploads: Uploader) -> None:
    archive = uploads.archive()
    await uploads.create(digest_of(archive))
    waiting = await uploads.says("waiting for bundle to be uploaded")
    assert (waiting["status"]["phase"], "resolvedSource" in waiting["status"]) == ("Pending", False)
    assert (await uploads.put(archive))[0] == 201
    found = await uploads.unpacked()
    assert found["status"]["resolvedSource"] == {"type": "upload", "upload": {"digest": digest_of(archive)}}
    uid = found["metadata"]["uid"]
    part = f"upload-{uid}-{digest_of(archive)[7:23]}-000"
    assert await uploads.stored() == {f"upload-{uid}": "index", part: "part"}
    assert await uploads.put(archive) == (204, ""), "the same again"
    status, text = await uploads.put(uploads.archive("2"))
    assert (status, NOT_AWAITED in text) == (404, True)
    await uploads.place.at.client.delete(bundles.KIND, uploads.name)
    status, text = await uploads.put(archive)
    assert (status, NOT_AWAITED in text) == (404, True)


async def test_without_a_digest_a_token_decides_and_the_first_archive_is_kept(uploads: Uploader) -> None:
    archive, other = uploads.archive(), uploads.archive("2")
    await uploads.create()
    status, text = await uploads.put(archive)
    assert (status, NOT_AWAITED in text) == (404, True)
    assert (await uploads.put(archive, token="nonsense"))[0] == 401
    reader = await token_of(uploads.place, "reader", "get", "list")
    status, text = await uploads.put(archive, token=reader)
    assert (status, "may not update bundles.core.rukpak.io" in text) == (403, True)
    author = await token_of(uploads.place, "author", "update")
    assert (await uploads.put(archive, "", author))[0] == 201
    found = await uploads.unpacked()
    assert found["status"]["resolvedSource"]["upload"]["digest"] == digest_of(archive)
    assert (await uploads.put(archive, "", author))[0] == 204
    already = "bundle has already been unpacked, cannot change content of existing bundle"
    assert await uploads.put(other, "", author) == (409, f'{{"error":"{already}"}}\n')


@pytest.mark.parametrize(
    "size", [pytest.param(40 * 1024**2, id="that says so"), pytest.param(None, id="of any length")]
)
async def test_a_body_that_never_ends_is_refused(uploads: Uploader, size: int | None) -> None:
    archive = uploads.archive()
    await uploads.create(digest_of(archive))
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            yield b"x" * 65_536
            sent += 65_536

    headers = {"Content-Length": str(size)} if size else {}
    try:
        status, text = await uploads.put(endless(), digest_of(archive), **headers)
        assert (status, "longer than 33554432 bytes" in text) == (413, True)
    except OSError:
        pass  # the connection was closed while this client still sent
    assert sent < 64 * 1024**2
    assert await uploads.stored() == {}
    assert (await uploads.put(archive))[0] == 201


async def test_of_a_body_that_is_cut_nothing_is_stored(uploads: Uploader) -> None:
    archive = uploads.archive()
    await uploads.create(digest_of(archive))

    async def cut() -> Any:
        yield archive[:-1]
        raise ConnectionError("the network is gone")

    with pytest.raises(OSError, match="Can not write request body"):
        await uploads.put(cut(), digest_of(archive), **{"Content-Length": str(len(archive))})
    status, text = await uploads.put(archive[:-1], digest_of(archive))
    assert (status, "and the request names" in text) == (400, True)
    assert await uploads.stored() == {}
    assert (await uploads.put(archive))[0] == 201


async def test_a_replica_that_does_not_lead_takes_an_upload(place: Place) -> None:
    elected: dict[str, Any] = {"leader_elect": True}
    behind = free_address()
    async with place.rukpak(**elected), uploader(place) as uploads, place.rukpak("b", behind, **elected):
        await uploads.answers(behind)
        archive = uploads.archive()
        await uploads.create(digest_of(archive))
        assert (await uploads.put(archive, address=behind))[0] == 201
        await uploads.unpacked()


async def test_an_upload_outlives_the_content_of_all_replicas(place: Place) -> None:
    async with place.rukpak(), uploader(place) as uploads:
        archive = uploads.archive()
        await uploads.create(digest_of(archive))
        await uploads.put(archive)
        first = await uploads.unpacked()
    async with place.rukpak("empty"), uploader(place) as uploads:
        assert (await uploads.put(archive))[0] == 204
        store = place.directory / "empty" / "bundles"
        await uploads.place.at.when(
            bundles.KIND, uploads.name, "", lambda _: any(store.glob(f"*{first['status']['contentDigest'][7:]}*"))
        )


async def test_strangers_cannot_have_the_api_server_read_any_number_of_bundles(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of names that exist and of others they get the same answers, and an archive that is awaited is taken meanwhile."""
    monkeypatch.setattr(routes, "READS_PER_SECOND", 2.0)
    async with place.rukpak(), uploader(place) as uploads:
        archive, other = uploads.archive(), uploads.archive("2")
        await uploads.create(digest_of(archive))
        await uploads.says("waiting for bundle to be uploaded")
        names = [uploads.name, "nobody"] * 100
        started = asyncio.get_running_loop().time()
        answers = await asyncio.gather(*(uploads.put(other, name=name) for name in names))
        most = 2.0 * (1 + asyncio.get_running_loop().time() - started)
        assert len({*answers}) == 2, "an answer does not depend on the name"
        statuses = [status for status, _ in answers]
        assert {*statuses} == {404, 503}
        assert statuses.count(404) <= most
        assert (await uploads.put(archive))[0] == 201


async def test_without_space_for_temporary_files_nothing_is_stored_and_it_is_said(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place.rukpak(), uploader(place) as uploads:
        archive = packed({**plain(namespace(uploads.name)), "noise": random.Random(1).randbytes(3_000_000)})
        await uploads.create(digest_of(archive))
        with small_disk(tmp_path / "full") as full:
            monkeypatch.setattr(tempfile, "tempdir", str(full))
            status, text = await uploads.put(archive)
            assert (status, "no space left for the archive" in text) == (507, True)
            fill_up(full)
            assert (await uploads.put(archive))[0] == 507
        monkeypatch.setattr(tempfile, "tempdir", None)
        assert await uploads.stored() == {}
        assert (await uploads.put(archive))[0] == 201


async def test_uploads_at_the_same_time_are_not_larger_than_all_uploads_may_be(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four of 1 MB, where 2.5 MB are allowed: two are stored, and there is space again when one of their Bundles is deleted."""
    monkeypatch.setattr(routes, "MAX_STORED_UPLOAD_BYTES", 2_500_000)
    async with place.rukpak(), uploader(place) as uploads:
        archives = {f"-{number}": large_archive(uploads, number) for number in range(4)}
        for suffix, archive in archives.items():
            await uploads.create(digest_of(archive), suffix)
            await uploads.says("waiting for bundle to be uploaded", suffix)
        names = [f"{uploads.name}{suffix}" for suffix in archives]
        answers = await asyncio.gather(
            *(uploads.put(archive, name=name) for name, archive in zip(names, archives.values(), strict=True))
        )
        assert sorted(status for status, _ in answers) == [201, 201, 507, 507]
        assert {"delete Bundles that are not needed" in text for status, text in answers if status == 507} == {True}
        stored = [name for name, (status, _) in zip(names, answers, strict=True) if status == 201]
        refused = next(name for name in names if name not in stored)
        archive = archives[refused.removeprefix(uploads.name)]
        assert (await uploads.put(archive, name=refused))[0] == 507, "what is stored counts"
        await place.at.client.delete(bundles.KIND, stored[0])
        async with asyncio.timeout(60):
            while (await uploads.put(archive, name=refused))[0] != 201:  # noqa: ASYNC110 no event says so
                await asyncio.sleep(0.2)  # the garbage collector of Kubernetes deletes its parts


def large_archive(uploads: Uploader, seed: int) -> bytes:
    noise = random.Random(seed).randbytes(1_000_000)
    return packed({**plain(namespace(uploads.name), config_map("log", uploads.name)), "noise": noise})
