"""The unpack job with Helm charts: from an archive of a web server, and from ConfigMaps."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from olmkit.sources.access import Access
from olmkit.sources.source import ConfigMapsSource, HttpSource, ImageSource
from rukpak.bundle.storage import stored_type
from tests.chart_files import CHARTS, chart_files, packed_chart, small_chart
from tests.images import digest_of, file, link, tar
from tests.integration.rukpak.bundle.source_unpacker import SourceUnpacker
from tests.servers.local_registry import LocalRegistry
from tests.servers.web_server import WebServer

HELM = "helm"


class ChartUnpacker(SourceUnpacker):
    """The unpack jobs of rukpak, and a web server with charts."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.shelf = root / "charts"
        self.shelf.mkdir()
        self.server = WebServer(self.shelf)

    def put(self, data: bytes) -> HttpSource:
        """The source of an archive; its checksum makes bad content final."""
        (self.shelf / "a.tgz").write_bytes(data)
        return HttpSource(f"{self.server.url}/a.tgz", digest_of(data))


@pytest_asyncio.fixture
async def unpacker(tmp_path: Path) -> AsyncIterator[ChartUnpacker]:
    made = ChartUnpacker(tmp_path)
    async with made.server:
        yield made
    await made.jobs.close()


async def test_a_packed_chart_is_stored_without_its_directory(unpacker: ChartUnpacker) -> None:
    files = chart_files("umbrella")
    result = await unpacker.unpack(unpacker.put(packed_chart(files, "umbrella")), HELM)
    assert not result.problem
    assert stored_type(unpacker.store, result.digest) == HELM
    stored = [path for path in unpacker.files(result) if path.startswith("files/")]
    assert stored == sorted(f"files/{path}" for path in files)


async def test_a_chart_that_helm_has_pushed_is_read_from_the_registry(
    helm_program: Path, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    def helm(*arguments: str) -> None:
        subprocess.run([helm_program, *arguments], check=True, capture_output=True, env={"HOME": str(tmp_path)})

    helm("package", str(CHARTS / "web"), "--destination", str(tmp_path))
    helm("push", str(tmp_path / "web-1.2.0.tgz"), f"oci://{local_registry.address}/charts", "--plain-http")
    access = Access(allowed_cidrs=("127.0.0.0/8",), registries_conf=local_registry.registries_conf)
    unpacker = SourceUnpacker(tmp_path, access)
    source = ImageSource(f"{local_registry.address}/charts/web:1.2.0")
    result = await unpacker.unpack(source, HELM)
    assert not result.problem
    expected = {f"files/{path}" for path in chart_files("web") if path != "README.md"}
    assert {path for path in unpacker.files(result) if path.startswith("files/")} == expected
    plain = await unpacker.unpack(ImageSource(f"{local_registry.address}/charts/web:1.2.0"))
    assert not plain.problem, "it is stored as a chart, which the controller reports as a conflict"
    await unpacker.jobs.close()


async def test_a_chart_of_config_maps_is_at_the_root(unpacker: ChartUnpacker) -> None:
    result = await unpacker.unpack(ConfigMapsSource(tuple(sorted(small_chart({"a.yaml": "a: b"}).items()))), HELM)
    assert not result.problem
    assert "files/templates/a.yaml" in unpacker.files(result)


async def test_what_is_no_chart_is_refused(unpacker: ChartUnpacker) -> None:
    refused = {
        "the content has no Helm chart": packed_chart({"a/Chart.yaml": b""}, "deep"),
        "the content has several Helm charts (one, two)": tar({"one/Chart.yaml": b"", "two/Chart.yaml": b""}),
        "is a library chart": packed_chart(
            small_chart({}, Chart_yaml="apiVersion: v2\nname: x\nversion: 1.0.0\ntype: library"), "x"
        ),
    }
    for message, data in refused.items():
        assert message in (await unpacker.unpack(unpacker.put(data), HELM)).problem


async def test_links_out_of_a_chart_are_refused_and_others_are_followed(unpacker: ChartUnpacker) -> None:
    chart = [file(f"x/{path}", data) for path, data in small_chart({"a.yaml": "a: b"}).items()]
    result = await unpacker.unpack(unpacker.put(tar([*chart, link("x/templates/b.yaml", "a.yaml")])), HELM)
    assert "files/templates/b.yaml" in unpacker.files(result)
    result = await unpacker.unpack(unpacker.put(tar([*chart, link("x/templates/b.yaml", "/etc/passwd")])), HELM)
    assert '"x/templates/b.yaml"' in result.problem
