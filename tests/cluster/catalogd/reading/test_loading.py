"""The loading job by itself: what it fetches and what it leaves, from an image, from files, and when something is here."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from catalogd.keeping.record import Record
from catalogd.reading.content import Content
from catalogd.reading.loader import Loader
from catalogd.reading.loading import LABEL, SWITCH_SECONDS, load
from devcluster.cluster import Cluster
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.errors import BadContent
from olmkit.sources.source import ConfigMapsSource, ImageSource, Source
from olmkit.store import Store
from tests.cluster.catalogd.conftest import lines, package
from tests.images import push, tar
from tests.registry_proxy import RegistryProxy

LABELS = {LABEL: "/configs"}
NUMBERS = itertools.count()
FILES = lines(package("p", "1.0.0", "1.1.0"))
OTHER = lines(package("q", "1.0.0"))


class Setting:
    """A store, a registry and the job."""

    def __init__(self, cluster: Cluster, proxy: RegistryProxy, folder: Path, name: str) -> None:
        self.folder = folder / "store"
        self.store = Store(self.folder)
        self.proxy = proxy
        self.repository = f"loading/{name}"
        self._registry = cluster.registry
        configuration = folder / "registries.conf"
        configuration.write_text(f'[[registry]]\nlocation = "{proxy.address}"\ninsecure = true\n')
        self._access = Access(registries_conf=configuration, allowed=("127.0.0.0/8",))

    def push(self, files: dict[str, bytes]) -> str:
        return push(self._registry, self.repository, "v1", [tar(files)], LABELS)

    @property
    def image(self) -> ImageSource:
        return ImageSource(f"{self.proxy.address}/{self.repository}:v1")

    async def load(
        self, source: Source, known: str = "", bad: BadContent | None = None, bundles: bool = False
    ) -> dict[str, Any]:
        record = Record("", "", known, "") if known else None
        task = Loader(self.folder, self._access, bundles).task(source, Credentials(), record, bad)
        found = await load(json.loads(json.dumps(task.arguments)), lambda line: None)
        assert sys.getswitchinterval() > SWITCH_SECONDS
        return found

    def content(self, digest: str) -> Content:
        folder = self.store.path(digest)
        assert folder is not None
        assert self.store.fault(digest) == ""
        return Content(folder)

    def blobs_asked(self) -> int:
        return sum("/blobs/" in path for path in self.proxy.paths())


@pytest.fixture
async def setting(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Setting]:
    """With a repository of its own."""
    async with RegistryProxy(cluster.registry) as proxy:
        yield Setting(cluster, proxy, tmp_path, f"{os.getpid()}-{next(NUMBERS)}")


async def test_an_image_is_read_once_and_told_by_its_digest(setting: Setting) -> None:
    digest = setting.push(FILES)
    found = await setting.load(setting.image)
    by_digest = f"{setting.image.ref.removesuffix(':v1')}@{digest}"
    resolved = {"type": "image", "image": {"ref": by_digest}}
    assert {key: found[key] for key in ("digest", "resolved", "validator", "unchanged")} == {
        **{"digest": digest, "resolved": resolved, "validator": "", "unchanged": False}
    }
    assert setting.content(digest).summary.package_names == ("p",)
    asked = setting.blobs_asked()
    assert asked > 0
    for known in (digest, ""):
        assert (await setting.load(setting.image, known))["digest"] == digest
    assert setting.blobs_asked() == asked


async def test_content_that_is_damaged_is_read_again(setting: Setting) -> None:
    digest = setting.push(FILES)
    await setting.load(setting.image)
    folder = setting.store.path(digest)
    assert folder is not None
    data = (folder / "all.jsonl").read_bytes()
    (folder / "all.jsonl").write_bytes(b"X" + data[1:])
    assert setting.store.fault(digest) != ""
    await setting.load(setting.image)
    assert setting.content(digest).blobs.read_bytes().startswith(b"{")


async def test_content_without_bundles_is_read_again_when_they_are_asked_for(setting: Setting) -> None:
    digest = setting.push(FILES)
    await setting.load(setting.image)
    assert not setting.content(digest).has_bundles
    await setting.load(setting.image, known=digest, bundles=True)
    found = setting.content(digest)
    assert [offer.package for offer in found.bundle_offers] == ["p/p.v1.0.0", "p/p.v1.1.0"]
    asked = setting.blobs_asked()
    await setting.load(setting.image, known=digest, bundles=True)
    await setting.load(setting.image, known=digest)
    assert setting.blobs_asked() == asked
    assert setting.content(digest).has_bundles


async def test_what_was_refused_before_is_not_fetched_again(setting: Setting) -> None:
    setting.push({"configs/a": b"{"})
    with pytest.raises(BadContent, match="load FBC from filesystem: a: line 1, column 2: ") as caught:
        await setting.load(setting.image)
    asked = setting.blobs_asked()
    with pytest.raises(BadContent) as again:
        await setting.load(setting.image, bad=caught.value)
    assert (again.value.message, setting.blobs_asked()) == (caught.value.message, asked)
    assert list(setting.store.digests()) == []
    setting.push(OTHER)
    assert setting.content((await setting.load(setting.image, bad=caught.value))["digest"]).summary.package_names == (
        "q",
    )


async def test_the_files_of_config_maps_are_a_catalog_without_a_label(setting: Setting) -> None:
    files = tuple((path.removeprefix("configs/"), data) for path, data in FILES.items())
    source = ConfigMapsSource((*files, (".indexignore", b"x\n"), ("x", b"- ignored")))
    found = await setting.load(source)
    assert found["ref"] == f"configMaps@{found['digest']}"
    assert setting.content(found["digest"]).summary.package_names == ("p",)
    with pytest.raises(BadContent, match="the catalog holds no blobs"):
        await setting.load(ConfigMapsSource(()))
