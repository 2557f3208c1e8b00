"""Summaries of bundles over HTTP: real images of a real registry, read by real jobs in their sandbox."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from aiohttp import web

from catalogd.bundle_summaries import summaries as module
from catalogd.bundle_summaries.leader_summaries import SUMMARIES_PATH, LeaderSummaries
from catalogd.bundle_summaries.summaries import AskedBundle, BundleSummaries, SummaryTask, Tasks
from catalogd.bundle_summaries.summary_access import CatalogTasks
from catalogd.bundle_summaries.summary_store import SummaryStore
from catalogd.bundle_summaries.summary_task import JOB_LIMITS, MAX_IMAGE_BYTES, SUMMARIZE, SummaryRequest, SummaryResult
from catalogd.http.bundle_summary_route import SummaryRoute
from catalogd.storage.catalog_store import CatalogStore
from olmkit.fbc.bundle_summary import BundleSummary, StatedBy, load
from olmkit.jobs.job import Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.staging import Staging
from olmkit.sources.access import Access
from olmkit.sources.source import ImageSource, server_of
from rukpak.format import read_registry
from tests import images
from tests.integration.catalogd.catalog_server import DIGEST, Site, put, serving
from tests.integration.catalogd.replicas import PlainPeers
from tests.servers.local_registry import LocalRegistry
from tests.unit.rukpak.builders import crd, csv, files

BUNDLE = files(csv("things.v1.0.0"), crd(), package="things")
PATH = "/catalogs/c/api/v1/bundles/{}/summary"
UID = "uid-of-c"
Json = dict[str, Any]


@dataclass
class OpenTasks(Tasks):
    """Tasks without a Secret. `versions` are those of Secrets that there might be."""

    conf: Path
    versions: str = ""
    tasks: int = 0

    def access_versions(self, catalog: str) -> str:
        return self.versions

    async def task(self, asked: AskedBundle, store: SummaryStore) -> SummaryTask:
        self.tasks += 1
        staging = Staging(store.store.stage, partial(store.publish, asked.image))
        request = SummaryRequest(asked.image, Access(self.conf), store.directory)
        return Task(SUMMARIZE, request, source=server_of(ImageSource(asked.image)), staging=staging)

    def stated_task(self, asked: AskedBundle, keep: Callable[[bytes], None], store: SummaryStore) -> SummaryTask:
        return CatalogTasks.stated_task(self, asked, keep, store)  # type: ignore[arg-type]


@dataclass
class Summarizer:
    """A server of one catalog with summaries."""

    site: Site
    catalog_store: CatalogStore
    summaries: BundleSummaries
    tasks: OpenTasks

    async def ask(self, bundle: str, query: str = "", **headers: str) -> tuple[int, Json, Mapping[str, str]]:
        status, body, found = await self.site.ask(PATH.format(bundle) + query, **headers)
        return status, orjson.loads(body) if body else {}, found

    async def made(self, bundle: str, query: str = "") -> tuple[int, Json]:
        """The answer that is not 202 any more."""
        async with asyncio.timeout(60):
            while True:
                status, body, headers = await self.ask(bundle, query)
                if status != 202:
                    return status, body
                assert headers["Retry-After"] == "1"
                assert body == {"pending": "the image of the bundle is being read"}
                await asyncio.sleep(0.05)

    async def summary(self, bundle: str) -> BundleSummary:
        status, body = await self.made(bundle)
        assert status == 200, body
        return load(body)


def blob(image: str, name: str = "things.v1.0.0", package: str = "things", objects: Sequence[bytes] = ()) -> Json:
    version = {"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}}
    stated = [{"type": "olm.bundle.object", "value": {"data": base64.b64encode(each).decode()}} for each in objects]
    found = {"schema": "olm.bundle", "package": package, "name": name, "properties": [version, *stated]}
    return {**found, **({"image": image} if image else {})}


@contextlib.asynccontextmanager
async def summarizing(
    root: Path, registry: LocalRegistry, *blobs: Json, leading: bool = True, leader: LeaderSummaries | None = None
) -> AsyncIterator[Summarizer]:
    catalog_store, store = CatalogStore(root), SummaryStore(root / "bundle-summaries")
    await store.restore()
    packages = [{"schema": "olm.package", "name": name} for name in sorted({each["package"] for each in blobs})]
    await put(catalog_store, "c", DIGEST, [*packages, *blobs], UID)
    sandbox = Sandbox(reads=(registry.registries_conf, catalog_store.content_directory, store.directory))

    def jobs(ended: Callable[[str], None]) -> Jobs[SummaryResult]:
        return Jobs(ended, max_concurrent=2, limits=JOB_LIMITS, preload=[SUMMARIZE.module], sandbox=sandbox)

    tasks = OpenTasks(registry.registries_conf)
    found = BundleSummaries(store, tasks, jobs)

    def mount(application: web.Application) -> None:
        async def for_replica(request: web.Request) -> web.StreamResponse:
            return await server.bundle_summary_for_replica(request)

        application.router.add_get(f"{SUMMARIES_PATH}/{{catalog}}/{{bundle}}", for_replica)

    try:
        async with serving(
            catalog_store, is_leading=lambda: leading, mount=mount, summaries=SummaryRoute(found, leader)
        ) as site:
            server = site.server
            yield Summarizer(site, catalog_store, found, tasks)
    finally:
        await found.close()


def pushed(registry: LocalRegistry, name: str, content: Mapping[str, bytes] = BUNDLE, tag: str = "v1") -> str:
    """The reference by digest of an image with these files."""
    digest = images.push(registry.address, name, tag, [images.tar(content)], {})
    return f"{registry.address}/{name}@{digest}"


async def test_the_summary_of_an_image(local_registry: LocalRegistry, tmp_path: Path) -> None:
    image = pushed(local_registry, "summaries/plain")
    async with summarizing(tmp_path, local_registry, blob(image)) as summarizer:
        status, body, _ = await summarizer.ask("things.v1.0.0")
        assert (status, body) == (202, {"pending": "the image of the bundle is being read"})
        found = await summarizer.summary("things.v1.0.0")
        assert (found.image, found.stated_by, found.left_out) == (image, StatedBy.IMAGE, ())
        assert read_registry(found.bundle_files()).package == "things"
        _, _, headers = await summarizer.ask("things.v1.0.0")
        assert headers["Olm-Catalog-Digest"] == DIGEST
        tag = headers["ETag"]
        assert (await summarizer.ask("things.v1.0.0", If_None_Match=tag))[0] == 304
        status, packed, headers = await summarizer.site.ask(PATH.format("things.v1.0.0"), Accept_Encoding="zstd")
        assert headers["Content-Encoding"] == "zstd"
        assert load(orjson.loads(zstandard.decompress(packed))) == found
        assert summarizer.tasks.tasks == 1


async def test_a_summary_survives_a_restart_without_its_registry(local_registry: LocalRegistry, tmp_path: Path) -> None:
    image = pushed(local_registry, "summaries/kept")
    async with summarizing(tmp_path, local_registry, blob(image)) as summarizer:
        before = await summarizer.summary("things.v1.0.0")
    async with summarizing(tmp_path, local_registry, blob(image)) as summarizer:
        status, body, _ = await summarizer.ask("things.v1.0.0")
        assert (status, load(body), summarizer.tasks.tasks) == (200, before, 0)


async def test_a_tag_is_resolved_first(local_registry: LocalRegistry, tmp_path: Path) -> None:
    image = pushed(local_registry, "summaries/tag")
    async with summarizing(tmp_path, local_registry, blob(f"{local_registry.address}/summaries/tag:v1")) as summarizer:
        assert (await summarizer.summary("things.v1.0.0")).image.endswith(image.partition("@")[2])
        assert [*summarizer.summaries.store.store.digests()] == [image.partition("@")[2]]


async def test_a_plain_bundle_and_one_that_is_none(local_registry: LocalRegistry, tmp_path: Path) -> None:
    config_map = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}"
    plain = pushed(local_registry, "summaries/without", {"manifests/a.yaml": config_map})
    other = pushed(local_registry, "summaries/none", {"etc/passwd": b"root"})
    broken = pushed(local_registry, "summaries/broken", {**BUNDLE, "manifests/x.yaml": b"a: ["})
    blobs = blob(plain, "plain"), blob(other, "other"), blob(broken, "broken"), blob("", "imageless")
    async with summarizing(tmp_path, local_registry, *blobs) as summarizer:
        assert not (await summarizer.summary("plain")).is_registry
        status, body = await summarizer.made("other")
        assert status == 404
        assert 'has no content at "/manifests"' in body["error"]
        status, body = await summarizer.made("broken")
        assert (status, "cannot be read: manifests/x.yaml" in body["error"]) == (404, True), body
        count = summarizer.tasks.tasks
        assert (await summarizer.made("broken"))[0] == 404
        assert summarizer.tasks.tasks == count, "the failure is remembered"
        assert await summarizer.made("imageless") == (404, {"error": "the blob of the bundle names no image"})
        assert await summarizer.made("nothing") == (404, {"error": "the catalog has no such bundle"})


async def test_a_registry_that_does_not_answer_is_asked_again_later(
    local_registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TEMPORARY_FAILURE_SECONDS", 0.2)
    missing = f"{local_registry.address}/summaries/later@sha256:{'1' * 64}"
    async with summarizing(tmp_path, local_registry, blob(missing)) as summarizer:
        status, body = await summarizer.made("things.v1.0.0")
        assert (status, "404" in body["error"]) == (404, True), body
        await asyncio.sleep(0.2)
        assert (await summarizer.ask("things.v1.0.0"))[0] == 202


async def test_what_the_catalog_states_is_given_at_once_and_marked(
    local_registry: LocalRegistry, tmp_path: Path
) -> None:
    image = pushed(local_registry, "summaries/stated")
    objects = [orjson.dumps(csv("lies.v1.0.0"))]
    blobs = blob(image, objects=objects), blob("", "imageless", objects=objects)
    async with summarizing(tmp_path, local_registry, *blobs) as summarizer:
        status, body, headers = await summarizer.ask("things.v1.0.0")
        assert (status, headers["Olm-Summary-State"]) == (200, "reading")
        stated = load(body)
        assert stated.stated_by is StatedBy.CATALOG
        assert read_registry(stated.bundle_files()).csv_name == "lies.v1.0.0"
        async with asyncio.timeout(60):
            while load(body).stated_by is StatedBy.CATALOG:
                _, body, headers = await summarizer.ask("things.v1.0.0")
                await asyncio.sleep(0.05)
        assert "Olm-Summary-State" not in headers
        assert read_registry(load(body).bundle_files()).csv_name == "things.v1.0.0"
        assert (await summarizer.summary("imageless")).stated_by is StatedBy.CATALOG


async def test_another_catalog_has_to_prove_that_it_may_read_the_image(
    local_registry: LocalRegistry, tmp_path: Path
) -> None:
    image = pushed(local_registry, "summaries/proof")
    async with summarizing(tmp_path, local_registry, blob(image)) as summarizer:
        await summarizer.summary("things.v1.0.0")
        summarizer.tasks.versions = "another Secret"
        assert (await summarizer.ask("things.v1.0.0"))[0] == 202
        await summarizer.summary("things.v1.0.0")
        assert summarizer.tasks.tasks == 2
        refused = f"{local_registry.address}/summaries/other@{image.partition('@')[2]}"
        await put(summarizer.catalog_store, "c", DIGEST[:-1] + "2", [blob(refused)], UID)
        status, _ = await summarizer.made("things.v1.0.0")
        assert status == 404, "the summary is in the store, but this repository does not have the image"


async def test_bundles_of_one_name_and_packages_that_are_not_selected(
    local_registry: LocalRegistry, tmp_path: Path
) -> None:
    image = pushed(local_registry, "summaries/twice")
    async with summarizing(tmp_path, local_registry, blob(image, "x", "a"), blob(image, "x", "b")) as summarizer:
        status, body, _ = await summarizer.ask("x")
        assert (status, '"a", "b"' in body["error"]) == (400, True), body
        assert (await summarizer.made("x", "?package=a"))[0] == 200
        assert (await summarizer.ask("x", "?other=1"))[0] == 400
        assert (await summarizer.site.ask("/catalogs/d/api/v1/bundles/x/summary"))[0] == 404


async def test_a_large_definition_is_left_out_and_a_larger_bundle_has_no_summary(
    local_registry: LocalRegistry, tmp_path: Path
) -> None:
    digits = random.Random(1)
    definition = crd()
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = {
        digits.randbytes(16).hex(): {"type": "string"} for _ in range(6_000)
    }
    large = pushed(local_registry, "summaries/large", files(csv(), definition))
    rules = [{"apiGroups": [""], "resources": [digits.randbytes(16).hex()], "verbs": ["get"]} for _ in range(6_000)]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}
    larger = pushed(local_registry, "summaries/larger", files(csv(), role))
    async with summarizing(tmp_path, local_registry, blob(large, "large"), blob(larger, "larger")) as summarizer:
        found = await summarizer.summary("large")
        assert found.left_out == ("schemas",)
        assert "schema" not in found.definitions()["things.example.com"]["spec"]["versions"][0]
        status, body = await summarizer.made("larger")
        assert (status, "larger than 64 KiB" in body["error"]) == (404, True), body


async def test_only_so_many_wait(
    local_registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING_JOBS", 1)
    blobs = [blob(pushed(local_registry, f"summaries/many{number}"), f"b{number}") for number in range(4)]
    async with summarizing(tmp_path, local_registry, *blobs) as summarizer:
        answers = await asyncio.gather(*(summarizer.ask(f"b{number}") for number in range(4)))
        assert sorted(status for status, *_ in answers) == [202, 202, 202, 429]
        (busy,) = [headers for status, _, headers in answers if status == 429]
        assert busy["Retry-After"] == "10"
        for number in range(4):
            status, body = 429, Json()
            async with asyncio.timeout(60):
                while status == 429:
                    status, body = await summarizer.made(f"b{number}")
            assert status == 200, body


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([images.file("manifests/big", b"0" * (MAX_IMAGE_BYTES + 1))], id="a bomb"),
        pytest.param(
            [images.link("manifests", "/etc"), images.file("manifests/x", b"a")], id="a link out of the image"
        ),
        pytest.param([images.file("manifests/../../x", b"a")], id="a path out of the image"),
        pytest.param([images.pipe("manifests/a.yaml"), images.device("manifests/b.yaml")], id="a pipe and a device"),
        pytest.param([images.file("manifests/a.yaml", b"[" * 100_000)], id="deep"),
        pytest.param(
            [
                images.file(
                    "manifests/a.yaml",
                    "a: &a [x,x,x,x,x,x,x,x,x]\n"
                    + "".join(
                        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
                    ),
                )
            ],
            id="aliases that multiply",
        ),
        pytest.param([images.file("manifests/a.yaml", b"\xff\xfe\x00")], id="no text"),
    ],
)
async def test_a_hostile_image_is_a_404_with_a_reason(
    content: list[images.Entry], local_registry: LocalRegistry, tmp_path: Path
) -> None:
    name = f"summaries/hostile{abs(hash(repr(content)[:200])) % 10**9}"
    digest = images.push(local_registry.address, name, "v1", [images.tar(content)], {})
    async with summarizing(tmp_path, local_registry, blob(f"{local_registry.address}/{name}@{digest}")) as summarizer:
        status, body = await summarizer.made("things.v1.0.0")
        assert status == 404
        assert body["error"]
        assert summarizer.summaries.store.store.digests() == set()


async def test_the_least_recently_used_are_removed(local_registry: LocalRegistry, tmp_path: Path) -> None:
    blobs = [
        blob(pushed(local_registry, f"summaries/lru{number}", {**BUNDLE, "metadata/n": b"%d" % number}), f"b{number}")
        for number in range(3)
    ]
    async with summarizing(tmp_path, local_registry, *blobs) as summarizer:
        await summarizer.summary("b0")
        store = summarizer.summaries.store
        (size,) = [each.size for each in store._state.kept.values()]
        store._max_bytes = 2 * size + size // 2
        await summarizer.summary("b1")
        await summarizer.summary("b0")  # used again
        await summarizer.summary("b2")
        kept = {each.image for each in store._state.proofs}
        assert kept == {blobs[0]["image"], blobs[2]["image"]}
        assert store.store.digests() == {image.partition("@")[2] for image in kept}


async def test_a_damaged_summary_is_made_again(local_registry: LocalRegistry, tmp_path: Path) -> None:
    image = pushed(local_registry, "summaries/damaged")
    async with summarizing(tmp_path, local_registry, blob(image)) as summarizer:
        before = await summarizer.summary("things.v1.0.0")
        path = next((tmp_path / "bundle-summaries/content").glob("sha256-*/content/*"))
        path.write_bytes(path.read_bytes()[:-9])
        assert (await summarizer.ask("things.v1.0.0"))[0] == 202
        assert await summarizer.summary("things.v1.0.0") == before


async def test_another_replica_asks_the_leader_and_copies(local_registry: LocalRegistry, tmp_path: Path) -> None:
    image = pushed(local_registry, "summaries/replica")
    async with summarizing(tmp_path / "leader", local_registry, blob(image)) as leader:
        asking = LeaderSummaries(lambda: f"127.0.0.1:{leader.site.port}", PlainPeers())
        try:
            async with summarizing(
                tmp_path / "other", local_registry, blob(image), leading=False, leader=asking
            ) as other:
                found = await other.summary("things.v1.0.0")
                assert (leader.tasks.tasks, other.tasks.tasks) == (1, 0)
                assert await other.made("nothing") == (404, {"error": "the catalog has no such bundle"})
                asking._leader = lambda: ""
                assert await other.summary("things.v1.0.0") == found, "the copy is served without the leader"
        finally:
            await asking.close()


async def test_a_replica_without_a_leader(local_registry: LocalRegistry, tmp_path: Path) -> None:
    image = pushed(local_registry, "summaries/alone")
    async with summarizing(tmp_path, local_registry, blob(image), leading=False) as other:
        status, body, headers = await other.ask("things.v1.0.0")
        assert (status, "Retry-After" in headers) == (503, True), body


async def test_turned_off(tmp_path: Path) -> None:
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST, [{"schema": "olm.package", "name": "things"}, blob("i")], UID)
    async with serving(catalog_store) as site:
        status, body, _ = await site.ask(PATH.format("things.v1.0.0"))
        assert (status, orjson.loads(body)["error"]) == (
            404,
            "catalogd makes no summaries of bundles: it was started with --bundle-summaries=Never",
        )
