"""`olm catalog render` of images in a real registry."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from devcluster.cluster import Cluster
from devcluster.images import Registry
from olmctl.authoring.images.labels import CONFIGS_LABEL
from olmctl.main import main
from tests.servers.registry import PASSWORD, USER, basic_auth, own_registry
from tests.unit.olmkit.fbc.bundle_builders import bundle, dump
from tests.usage import error_of

LABELS = {"operators.operatorframework.io.bundle.package.v1": "p"}
PLAIN = {"manifests/n.yaml": dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})}


class Shelf:
    """Images under names of this module, and the command that renders one."""

    def __init__(self, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
        self._cluster = cluster
        self._capsys = capsys

    def push(self, name: str, files: dict[str, bytes], labels: dict[str, str]) -> str:
        """The reference by tag."""
        Registry(self._cluster.registry).push(f"render/{name}", "v1", files, labels)
        return f"{self._cluster.registry}/render/{name}:v1"

    def render(self, *arguments: str, host: str = "127.0.0.0/8") -> tuple[int, str, str]:
        """Exit status, stdout, stderr."""
        conf = str(self._cluster.registries_conf)
        status = main(["catalog", "render", *arguments, "--registries-conf", conf, "--allow-source-cidr", host])
        return status, *self._capsys.readouterr()


@pytest.fixture
def shelf(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Shelf:
    return Shelf(cluster, capsys)


def one(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("labels", [LABELS, {}], ids=["with its labels", "without them, by its files"])
def test_a_bundle(labels: dict[str, str], shelf: Shelf) -> None:
    ref = shelf.push(f"bundle-{len(labels)}", bundle(), labels)
    status, out, err = shelf.render(ref)
    assert (status, err) == (0, "")
    found = one(out)
    assert (found["name"], found["image"]) == ("p.v1.2.3", ref)
    assert {"name": "", "image": ref} in found["relatedImages"]
    assert found["properties"][-1]["type"] == "olm.bundle.object"
    _, summarized, _ = shelf.render(ref, "--migrate")
    assert one(summarized)["properties"][-1]["type"] == "olm.csv.metadata"


@pytest.mark.parametrize("labels", [LABELS | {"operators.operatorframework.io.bundle.mediatype.v1": "plain+v0"}, {}])
def test_a_plain_bundle(labels: dict[str, str], shelf: Shelf) -> None:
    ref = shelf.push(f"plain-{len(labels)}", PLAIN, labels)
    flags = ["--version", "1.0.0"] if labels else ["--version", "1.0.0", "--package", "p"]
    status, out, err = shelf.render(ref, *flags)
    assert (status, err) == (0, "")
    assert one(out) == {
        "schema": "olm.bundle",
        "name": "p.v1.0.0",
        "package": "p",
        "image": ref,
        "properties": [
            {"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}},
            {"type": "olm.bundle.mediatype", "value": "plain+v0"},
        ],
    }


def test_a_catalog(shelf: Shelf) -> None:
    files = {"configs/p/c.json": b'{"schema":"olm.package","name":"p"}', "other/x.json": b"{"}
    status, out, _ = shelf.render(shelf.push("catalog", files, {CONFIGS_LABEL: "/configs"}))
    assert (status, one(out)) == (0, {"schema": "olm.package", "name": "p"})


@pytest.mark.parametrize(
    ("name", "files", "labels", "words"),
    [
        pytest.param(
            "nothing",
            {"bin/x": b""},
            {"maintainer": "me"},
            'render "{ref}": image type could not be determined, found labels\n  maintainer=me\n',
            id="an image of something else",
        ),
        pytest.param(
            "unlabelled",
            {"bin/x": b""},
            {},
            'render "{ref}": image type could not be determined, image has no labels\n',
            id="one without labels",
        ),
        pytest.param(
            "database",
            {"database/index.db": b""},
            {"operators.operatorframework.io.index.database.v1": "/database/index.db"},
            'render "{ref}": it contains a catalog as a SQLite database',
            id="a SQLite catalog",
        ),
        pytest.param(
            "broken",
            {"configs/c.json": b"[1]"},
            {CONFIGS_LABEL: "/configs"},
            'render "{ref}": c.json: line 1: a blob must be a mapping',
            id="a catalog that cannot be read",
        ),
        pytest.param(
            "elsewhere",
            {"configs/c.json": b""},
            {CONFIGS_LABEL: "/other"},
            'has no content at "/other"',
            id="a label that lies",
        ),
    ],
)
def test_images_that_are_refused(
    name: str, files: dict[str, bytes], labels: dict[str, str], words: str, shelf: Shelf
) -> None:
    ref = shelf.push(name, files, labels)
    status, out, err = shelf.render(ref)
    assert (status, out) == (1, "")
    assert err.startswith(f'render "{ref}": ')
    assert words.format(ref=ref) in err


def test_an_image_that_is_not_there(shelf: Shelf, cluster: Cluster) -> None:
    status, out, err = shelf.render(f"{cluster.registry}/render/absent:v1")
    assert (status, out, "absent" in err, len(err.splitlines())) == (1, "", True, 1)


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        pytest.param("nothere", "docker.io/library/nothere:latest", id="a name"),
        pytest.param("my/catalog", "docker.io/my/catalog:latest", id="a path"),
        pytest.param("nothere:v1", "docker.io/library/nothere:v1", id="a name with a tag"),
    ],
)
@pytest.mark.parametrize("blocked", [False, True], ids=["not there", "not to be had"])
def test_what_may_be_a_directory_that_is_missing_or_an_image_without_its_registry(
    reference: str,
    meant: str,
    blocked: bool,
    cluster: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    conf = tmp_path / "registries.conf"
    conf.write_text(
        '[[registry]]\nprefix = "docker.io"\nblocked = true\n' if blocked else cluster.registries_conf.read_text()
    )
    flags = ["--registries-conf", str(conf), "--allow-source-cidr", "127.0.0.0/8"]
    assert main(["catalog", "render", reference, *flags]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    error = error_of(err)
    assert error.startswith(
        f'render "{reference}": there is no such directory; an image is written with its registry, '
        f'and "{meant}" cannot be pulled: '
    )
    assert len(error.splitlines()) == 1


def test_addresses_are_refused_as_by_the_controllers(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a configuration that names the registry, loopback addresses are not allowed."""
    assert main(["catalog", "render", f"{cluster.registry}/render/x:v1"]) == 1
    out, err = capsys.readouterr()
    assert (out, "loopback" in err) == ("", True)


@pytest_asyncio.fixture
async def guarded(cluster: Cluster, tmp_path: Path) -> Any:
    """A registry that wants a login, with a catalog in it, and its registries.conf."""
    async with own_registry(tmp_path / "registry") as open_address:
        files = {"configs/c.json": b'{"schema":"olm.package","name":"p"}'}
        Registry(open_address).push("guarded", "v1", files, {CONFIGS_LABEL: "/configs"})
    async with own_registry(tmp_path / "registry", basic_auth(tmp_path)) as address:
        conf = tmp_path / "registries.conf"
        conf.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
        yield address, conf


async def _render(guarded: tuple[str, Path]) -> int:
    address, conf = guarded
    arguments = [f"{address}/guarded:v1", "--registries-conf", str(conf), "--allow-source-cidr", "127.0.0.0/8"]
    return await asyncio.to_thread(main, ["catalog", "render", *arguments])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Without any login."""
    for name in ("REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    return made


@pytest.mark.parametrize("kept_at", [".docker/config.json", "REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"])
async def test_logins_are_those_that_docker_and_podman_keep(
    kept_at: str,
    guarded: tuple[str, Path],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = {
        ".docker/config.json": home / ".docker" / "config.json",
        "REGISTRY_AUTH_FILE": home / "auth",
        "DOCKER_CONFIG": home / "docker" / "config.json",
        "XDG_RUNTIME_DIR": home / "containers" / "auth.json",
    }[kept_at]
    file.parent.mkdir(exist_ok=True)
    if kept_at.isupper():
        monkeypatch.setenv(kept_at, str({"DOCKER_CONFIG": file.parent, "XDG_RUNTIME_DIR": home}.get(kept_at, file)))
    logins = {guarded[0]: {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}}
    file.write_text(json.dumps({"auths": {**logins, "kept.example.com": {}}, "credsStore": "desktop"}))
    assert await _render(guarded) == 0
    assert one(capsys.readouterr().out)["name"] == "p"


@pytest.mark.parametrize(
    ("logins", "words"),
    [
        pytest.param(None, "the registry denies access to", id="no file of logins"),
        pytest.param("{}", "the registry denies access to", id="a file without logins"),
        pytest.param("{", "config.json is not valid JSON: it must be a file of logins", id="a file that is broken"),
        pytest.param(
            '{"auths":{"quay.io":{"auth":"???"}}}',
            'config.json has an auth for "quay.io" that is not user:password in base64',
            id="a login that is none",
        ),
    ],
)
async def test_without_a_login(
    logins: str | None, words: str, guarded: tuple[str, Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if logins is not None:
        (home / ".docker").mkdir()
        (home / ".docker" / "config.json").write_text(logins)
    assert await _render(guarded) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert words in err
