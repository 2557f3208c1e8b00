"""The requests of `olm bundle generate`: digests of images at a real registry, and upgrade edges from catalogs."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.images import Registry
from olmctl.authoring.images.labels import CONFIGS_LABEL
from olmctl.main import main
from tests.images import tar
from tests.project_input import base, deployment, operator, write, write_all
from tests.servers.local_registry import LocalRegistry
from tests.usage import error_of

CSV = "bundle/manifests/kettle-operator.clusterserviceversion.yaml"
PACKAGE = "kettle-operator"
BLOBS = "".join(
    json.dumps(each) + "\n"
    for each in (
        {"schema": "olm.package", "name": PACKAGE, "defaultChannel": "alpha"},
        {"schema": "olm.channel", "package": PACKAGE, "name": "alpha", "entries": [{"name": f"{PACKAGE}.v0.0.9"}]},
        {
            "schema": "olm.bundle",
            "name": f"{PACKAGE}.v0.0.9",
            "package": PACKAGE,
            "image": "quay.io/tea/kettle-operator-bundle:v0.0.9",
            "properties": [{"type": "olm.package", "value": {"packageName": PACKAGE, "version": "0.0.9"}}],
        },
    )
)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "no-logins"))
    write(tmp_path, operator(), base_text=base(annotations="containerImage: registry.example.com/kettle:1\n"))
    return tmp_path


@pytest.fixture
def web_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server of files, and their directory."""
    directory = tmp_path_factory.mktemp("served")
    handler = functools.partial(_Silent, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", directory
        server.shutdown()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return


def generate(*arguments: str, registry: LocalRegistry | None = None) -> int:
    options = ["--allow-source-cidr", "127.0.0.0/8"]
    options += ["--registries-conf", str(registry.registries_conf)] if registry else []
    common = ["--package", PACKAGE, "--version", "0.1.0", "--input-dir", "deploy"]
    return main(["bundle", "generate", *common, *options, *arguments])


def test_images_get_the_digests_of_the_registry_and_are_all_listed(
    local_registry: LocalRegistry, project: Path
) -> None:
    digest = Registry(local_registry.address).push("kettle", "1", {"a": b""}, {})
    assert generate("--pin", registry=local_registry) == 0
    text = Path(CSV).read_text()
    pinned = f"registry.example.com/kettle@{digest}"
    assert f"    containerImage: {pinned}\n" in text
    assert f"              - image: {pinned}\n                name: manager\n" in text
    assert f"  relatedImages:\n  - image: {pinned}\n    name: manager\n" in text
    before = Path(CSV).stat().st_mtime_ns
    assert generate("--pin", registry=local_registry) == 0
    assert Path(CSV).stat().st_mtime_ns == before


def test_images_without_a_digest_are_named_and_nothing_is_written(
    local_registry: LocalRegistry, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, operator(deployment("second").replace("kettle:1", "no-such:1")))
    Registry(local_registry.address).push("kettle", "1", {"a": b""}, {})
    assert generate("--pin", registry=local_registry) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "these images have no digest that could be asked for:" in lines
    assert [line.partition(": ")[0] for line in lines if line.startswith("registry.example.com")] == [
        "registry.example.com/no-such:1"
    ]
    assert not Path("bundle").exists()


@pytest.mark.parametrize("kind", ["directory", "image", "file", "archive", "catalogd"])
def test_the_edge_comes_from_a_catalog(
    kind: str, local_registry: LocalRegistry, web_server: tuple[str, Path], project: Path
) -> None:
    url, served = web_server
    write_all(project, [("catalog/a.json", BLOBS)])
    write_all(served, [("catalog.json", BLOBS), ("catalogs/teas/api/v1/all", BLOBS)])
    (served / "catalog.tar").write_bytes(tar({"a/a.json": BLOBS}))
    Registry(local_registry.address).push(
        "catalog", "1", {"configs/a.json": BLOBS.encode()}, {CONFIGS_LABEL: "/configs"}
    )
    source = {
        "directory": "catalog",
        "image": "registry.example.com/catalog:1",
        "file": f"{url}/catalog.json",
        "archive": f"{url}/catalog.tar",
        "catalogd": f"{url}/catalogs/teas",
    }[kind]
    assert generate("--catalog", source, registry=local_registry) == 0
    assert f"  replaces: {PACKAGE}.v0.0.9\n" in Path(CSV).read_text()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("{url}/gone.json", "--catalog {url}/gone.json: ", id="a file that is not there"),
        pytest.param("{url}/text", "--catalog {url}/text: ", id="a page"),
        pytest.param("no-such-directory", "--catalog no-such-directory: there is no such directory", id="no directory"),
        pytest.param("broken", "--catalog broken: a.json: ", id="a catalog that cannot be read"),
    ],
)
def test_a_catalog_that_cannot_be_read_is_named(
    source: str,
    message: str,
    web_server: tuple[str, Path],
    local_registry: LocalRegistry,
    project: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, served = web_server
    write_all(served, [("text", "<html>")])
    write_all(project, [("broken/a.json", "{")])
    status = generate("--catalog", source.format(url=url), registry=local_registry)
    is_usage = source == "no-such-directory"
    assert status == (2 if is_usage else 1)
    error = capsys.readouterr().err
    assert (error_of(error) if is_usage else error).startswith(message.format(url=url))
    assert not Path("bundle").exists()
