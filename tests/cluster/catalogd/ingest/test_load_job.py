"""The loading job by itself: what it fetches and what it leaves, from an image, from files, and when something is here."""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from catalogd.ingest.content import Content
from catalogd.ingest.load_job import CONFIGS_LABEL, SWITCH_INTERVAL_SECONDS, load
from catalogd.ingest.load_task import LoadRequest, LoadResult, LoadTaskFactory
from catalogd.storage.record import Record
from devcluster.cluster import Cluster
from olmkit.errors import Waiting
from olmkit.jobs import codec
from olmkit.jobs.job import JobContext
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.errors import BadContent
from olmkit.sources.source import ConfigMapsSource, HttpSource, ImageSource, Source
from olmkit.store.checksums import Integrity
from olmkit.store.store import Store
from tests.cluster.catalogd.conftest import lines, package
from tests.images import push, tar
from tests.parse_here import parse_here, through_json
from tests.servers.registry_proxy import RegistryProxy
from tests.servers.web_server import WebServer

LABELS = {CONFIGS_LABEL: "/configs"}
NUMBERS = itertools.count()
FILES = lines(package("p", "1.0.0", "1.1.0"))
OTHER = lines(package("q", "1.0.0"))


class Setting:
    """A store, a registry and the job."""

    def __init__(self, cluster: Cluster, proxy: RegistryProxy, directory: Path, name: str) -> None:
        self.directory = directory / "store"
        self.store = Store(self.directory)
        self.proxy = proxy
        self.repository = f"loading/{name}"
        self._registry = cluster.registry
        configuration = directory / "registries.conf"
        configuration.write_text(f'[[registry]]\nlocation = "{proxy.address}"\ninsecure = true\n')
        self._access = Access(registries_conf=configuration, allowed_cidrs=("127.0.0.0/8",))

    def push(self, files: dict[str, bytes]) -> str:
        return push(self._registry, self.repository, "v1", [tar(files)], LABELS)

    @property
    def image(self) -> ImageSource:
        return ImageSource(f"{self.proxy.address}/{self.repository}:v1")

    def manifest(self, digest: str) -> bytes:
        """What the registry has under that digest."""
        accept = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
        url = f"http://{self._registry}/v2/{self.repository}/manifests/{digest}"
        with urllib.request.urlopen(urllib.request.Request(url, headers=accept)) as answer:
            return bytes(answer.read())

    def trust(self, address: str) -> None:
        """Have images at that address pulled by plain HTTP."""
        assert self._access.registries_conf is not None
        with self._access.registries_conf.open("a") as file:
            file.write(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')

    async def load(
        self,
        source: Source,
        known: str = "",
        bad: BadContent | None = None,
        *,
        answered: bool = False,
    ) -> LoadResult:
        record = Record("", "", known, "") if known else None
        loader = LoadTaskFactory(self.directory, self._access)
        task = loader.task(source, Credentials(), record, bad, answered=answered)
        assert task.staging is not None
        with task.staging.open() as directory:
            request = codec.decode(LoadRequest, through_json(task.request))
            found = await load(request, JobContext(directory, parse=parse_here))
            task.staging.finish(directory, found)
        assert sys.getswitchinterval() > SWITCH_INTERVAL_SECONDS
        return found

    def content(self, digest: str) -> Content:
        directory = self.store.path(digest)
        assert directory is not None
        assert self.store.verify(digest)
        return Content(directory)

    def blobs_asked(self) -> int:
        return sum("/blobs/" in path for path in self.proxy.paths())


@pytest.fixture
async def setting(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Setting]:
    """With a repository of its own."""
    async with RegistryProxy(cluster.registry) as proxy:
        yield Setting(cluster, proxy, tmp_path, f"{os.getpid()}-{next(NUMBERS)}")


async def test_an_image_is_loaded_once_per_digest(setting: Setting) -> None:
    digest = setting.push(FILES)
    found = await setting.load(setting.image)
    by_digest = f"{setting.image.ref.removesuffix(':v1')}@{digest}"
    resolved = {"type": "image", "image": {"ref": by_digest}}
    assert {key: getattr(found, key) for key in ("digest", "resolved", "validator", "unchanged")} == {
        **{"digest": digest, "resolved": resolved, "validator": "", "unchanged": False}
    }
    assert setting.content(digest).summary.package_names == ("p",)
    asked = setting.blobs_asked()
    assert asked > 0
    for known in (digest, ""):
        assert (await setting.load(setting.image, known)).digest == digest
    assert setting.blobs_asked() == asked


async def test_damaged_content_is_loaded_again(setting: Setting) -> None:
    digest = setting.push(FILES)
    await setting.load(setting.image)
    directory = setting.store.path(digest)
    assert directory is not None
    data = (directory / "all.jsonl").read_bytes()
    (directory / "all.jsonl").write_bytes(b"X" + data[1:])
    assert setting.store.check_integrity(digest).state is Integrity.CORRUPT
    await setting.load(setting.image)
    assert setting.content(digest).blobs_path.read_bytes().startswith(b"{")


async def test_rejected_content_is_not_fetched_again(setting: Setting) -> None:
    setting.push({"configs/a": b"{"})
    with pytest.raises(BadContent, match="load FBC from filesystem: a: line 1, column 2: ") as caught:
        await setting.load(setting.image)
    asked = setting.blobs_asked()
    with pytest.raises(BadContent) as again:
        await setting.load(setting.image, bad=caught.value)
    assert (again.value.message, setting.blobs_asked()) == (caught.value.message, asked)
    assert list(setting.store.digests()) == []
    setting.push(OTHER)
    assert setting.content((await setting.load(setting.image, bad=caught.value)).digest).summary.package_names == ("q",)


async def test_the_files_of_config_maps_are_a_catalog_without_a_label(setting: Setting) -> None:
    files = tuple((path.removeprefix("configs/"), data) for path, data in FILES.items())
    source = ConfigMapsSource((*files, (".indexignore", b"x\n"), ("x", b"- ignored")))
    found = await setting.load(source)
    assert found.ref == f"configMaps@{found.digest}"
    assert setting.content(found.digest).summary.package_names == ("p",)
    with pytest.raises(BadContent, match="the catalog has no blobs"):
        await setting.load(ConfigMapsSource(()))


NOWHERE = "nowhere.invalid"


async def test_content_of_an_image_is_not_given_to_a_source_that_does_not_have_it(setting: Setting) -> None:
    digest = setting.push(FILES)
    await setting.load(setting.image)
    with pytest.raises(Waiting, match=f"registry {NOWHERE} cannot be resolved"):
        await setting.load(ImageSource(f"{NOWHERE}/c@{digest}"))
    with pytest.raises(Waiting, match="not found"):
        await setting.load(ImageSource(f"{setting.proxy.address}/loading/another@{digest}"))
    assert setting.store.verify(digest)


async def test_a_registry_that_only_states_a_digest_does_not_get_its_content(setting: Setting, tmp_path: Path) -> None:
    digest = setting.push(FILES)
    await setting.load(setting.image)

    async def liar(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"{}", headers={"Docker-Content-Digest": digest})

    async with WebServer(tmp_path) as server:
        server.fault = liar
        setting.trust(server.address)
        with pytest.raises(Waiting, match="sent bytes"):
            await setting.load(ImageSource(f"{server.address}/c:v1"))


async def test_content_of_an_archive_is_not_given_to_a_server_that_does_not_have_it(
    setting: Setting, tmp_path: Path
) -> None:
    root = tmp_path / "served"
    root.mkdir()
    data = tar({"catalog.json": FILES["configs/catalog.json"]})
    (root / "catalog.tar").write_bytes(data)
    checksum = f"sha256:{hashlib.sha256(data).hexdigest()}"
    async with WebServer(root) as server:
        source = HttpSource(f"{server.url}/catalog.tar", checksum)
        digest = (await setting.load(source)).digest
        assert setting.content(digest).summary.package_names == ("p",)
        with pytest.raises(Waiting, match="cannot be resolved"):
            await setting.load(HttpSource(f"http://{NOWHERE}/catalog.tar", checksum))
        with pytest.raises(Waiting, match="404"):
            await setting.load(HttpSource(f"{server.url}/other.tar", checksum))
        (root / "other.tar").write_bytes(data)
        assert (await setting.load(HttpSource(f"{server.url}/other.tar", checksum))).digest == digest


async def test_an_archive_and_an_image_of_one_digest_are_two_contents(setting: Setting, tmp_path: Path) -> None:
    digest = setting.push(FILES)
    await setting.load(setting.image)
    root = tmp_path / "served"
    root.mkdir()
    (root / "manifest").write_bytes(setting.manifest(digest))
    async with WebServer(root) as server:
        with pytest.raises(BadContent, match="is not an archive but text"):
            await setting.load(HttpSource(f"{server.url}/manifest", digest))


async def test_a_source_that_has_proved_its_content_is_not_asked_again(setting: Setting) -> None:
    digest = setting.push(FILES)
    by_digest = ImageSource(f"{setting.image.ref.removesuffix(':v1')}@{digest}")
    await setting.load(by_digest)
    asked = len(setting.proxy.paths())
    await setting.load(by_digest, known=digest)
    assert len(setting.proxy.paths()) == asked + 1
    await setting.load(by_digest, known=digest, answered=True)
    assert len(setting.proxy.paths()) == asked + 1


def repeated(times: int) -> bytes:
    """A file of so many small documents of YAML, each of which stands for 11 MB of text."""
    document = ["schema: test", f"l0: &l0 {'x' * 100}"]
    for level in range(1, 6):
        document.append(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]")
    return "".join("\n".join([*document, f"name: number {number}\n---\n"]) for number in range(times)).encode()


async def test_a_catalog_that_grows_by_aliases_is_refused_for_good(setting: Setting) -> None:
    source = ConfigMapsSource((("a.yaml", repeated(3)),))
    with pytest.raises(BadContent, match="YAML aliases") as caught:
        await setting.load(source)
    assert caught.value.reason == "NotACatalog"
    assert setting.store.digests() == set()
    assert os.listdir(setting.directory / ".staging") == []
    small = ConfigMapsSource((("a.yaml", repeated(1)),))
    assert setting.content((await setting.load(small)).digest).index.size > 10**7
