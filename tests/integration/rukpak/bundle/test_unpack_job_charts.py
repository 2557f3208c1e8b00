"""The unpack job with Helm charts: from an archive of a web server, and from ConfigMaps."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.credentials import credentials_of
from olmkit.sources.resolved_source import pinned
from olmkit.sources.source import ChartSource, ConfigMapsSource, HttpSource, ImageSource
from rukpak.bundle.storage import stored_type
from rukpak.bundle.unpack_result import UnpackResult
from tests.chart_files import CHARTS, chart_files, packed_chart, small_chart
from tests.images import digest_of, file, link, tar
from tests.integration.rukpak.bundle.source_unpacker import SourceUnpacker
from tests.secrets import secret
from tests.servers.local_registry import LocalRegistry
from tests.servers.web_server import WebServer

HELM = "helm"


def helm(program: Path, home: Path, *arguments: str) -> None:
    """Run the real helm."""
    subprocess.run([program, *arguments], check=True, capture_output=True, env={"HOME": str(home)})


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
    run = partial(helm, helm_program, tmp_path)
    run("package", str(CHARTS / "web"), "--destination", str(tmp_path))
    run("push", str(tmp_path / "web-1.2.0.tgz"), f"oci://{local_registry.address}/charts", "--plain-http")
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


# --- repositories


def repository(unpacker: ChartUnpacker, *versions: str, base: str = "") -> str:
    """A repository with these versions of the chart web; returns its address."""
    entries = []
    for version in versions:
        files = chart_files("web")
        files["Chart.yaml"] = files["Chart.yaml"].replace(b"1.2.0", version.encode())
        (unpacker.shelf / f"web-{version}.tgz").write_bytes(packed_chart(files, "web"))
        entries.append({"name": "web", "version": version, "urls": [f"{base}web-{version}.tgz"]})
    broken = [{"version": "x"}, "none"]
    index = {"apiVersion": "v1", "entries": {"web": [*entries, *broken], "other": []}}
    (unpacker.shelf / "index.yaml").write_text(yaml.safe_dump(index))
    return unpacker.server.url


async def installed(unpacker: SourceUnpacker, source: ChartSource) -> UnpackResult:
    """The result of the job that fetches what the first job has chosen."""
    chosen = await unpacker.unpack(source, HELM)
    assert not chosen.staged
    assert unpacker.store.path(chosen.digest) is None
    result = await unpacker.unpack(pinned(source, chosen.resolved), HELM)
    assert result.resolved == chosen.resolved
    return result


@pytest.mark.parametrize(
    ("version", "chosen"),
    [
        pytest.param("", "1.10.0", id="the newest that is no prerelease"),
        pytest.param("1.2.x", "1.2.9", id="a range"),
        pytest.param("1.2.0", "1.2.0", id="a version"),
        pytest.param(">=2.0.0-0", "2.0.0-rc.1", id="a range with prereleases"),
    ],
)
async def test_a_version_of_a_repository_is_chosen_once(unpacker: ChartUnpacker, version: str, chosen: str) -> None:
    url = repository(unpacker, "1.2.0", "1.2.9", "1.10.0", "2.0.0-rc.1")
    source = ChartSource(url, "web", version)
    result = await installed(unpacker, source)
    chart = result.resolved["chart"]
    archive = (unpacker.shelf / f"web-{chosen}.tgz").read_bytes()
    assert chart == {
        "repository": url,
        "name": "web",
        "version": chosen,
        "url": f"{url}/web-{chosen}.tgz",
        "digest": digest_of(archive),
    }
    assert "files/Chart.yaml" in unpacker.files(result)
    repository(unpacker, "9.9.9")
    again = await unpacker.unpack(pinned(source, result.resolved), HELM)
    assert again.resolved == result.resolved


@pytest.mark.parametrize(
    ("index", "name", "message"),
    [
        pytest.param("entries: {web: []}", "web", 'has no chart "web"', id="no version"),
        pytest.param("entries: {}", "../web", 'has no chart "../web"', id="no chart"),
        pytest.param("entries: {web: [{version: 1.0.0}]}", "web", "has no address of chart", id="no address"),
        pytest.param("entries: {web: [{version: 3.0.0, urls: [x]}]}", "web", "the newest are 3.0.0", id="no match"),
        pytest.param("<html>", "web", "is not the index of a repository of charts", id="a page"),
        pytest.param("a: [", "web", "cannot be read", id="no YAML"),
    ],
)
async def test_an_index_without_the_chart_is_read_again_later(
    unpacker: ChartUnpacker, index: str, name: str, message: str
) -> None:
    (unpacker.shelf / "index.yaml").write_text(index)
    with pytest.raises(Waiting) as error:
        await unpacker.unpack(ChartSource(unpacker.server.url, name, "1.x"), HELM)
    assert message in error.value.message


async def test_a_login_goes_to_the_host_of_its_secret_alone(tmp_path: Path) -> None:
    """The archive of an index may be on another server."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    values = {"username": "me", "password": "s3cret"}
    async with WebServer(elsewhere) as other:
        made = ChartUnpacker(tmp_path)
        made.server = WebServer(made.shelf, login=("me", "s3cret"))
        async with made.server:
            here = made.server.address
            login = credentials_of(secret("kubernetes.io/basic-auth", values, here, insecure=here))
            made.access = made.access.with_credentials(login)
            url = repository(made, "1.0.0", base=f"{other.url}/")
            (elsewhere / "web-1.0.0.tgz").write_bytes((made.shelf / "web-1.0.0.tgz").read_bytes())
            await installed(made, ChartSource(url, "web"))
        await made.jobs.close()
        assert len(other.requests) == 2
        assert not any("Authorization" in request.headers for request in other.requests)


async def test_a_chart_of_a_registry_is_chosen_by_its_tags(
    helm_program: Path, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    run = partial(helm, helm_program, tmp_path)
    for version in ("1.0.0", "1.1.0+build.2", "2.0.0-rc.1"):
        run("package", str(CHARTS / "kept"), "--version", version, "--destination", str(tmp_path))
        run("push", str(tmp_path / f"kept-{version}.tgz"), f"oci://{local_registry.address}/team", "--plain-http")
    access = Access(allowed_cidrs=("127.0.0.0/8",), registries_conf=local_registry.registries_conf)
    unpacker = SourceUnpacker(tmp_path, access)
    source = ChartSource(f"oci://{local_registry.address}/team", "kept")
    result = await unpacker.unpack(source, HELM)
    chart = result.resolved["chart"]
    assert (chart["version"], chart["url"]) == ("1.1.0+build.2", f"{source.repository}/kept")
    assert "files/Chart.yaml" in unpacker.files(result)
    again = await unpacker.unpack(pinned(source, result.resolved), HELM)
    assert again.resolved == result.resolved
    await unpacker.jobs.close()
