"""Images pulled from a real registry, in every format and with every error."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.errors import Waiting
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import BadContent, ImageNotFound
from olmkit.sources.oci import image
from olmkit.sources.oci.image import FromLabel
from olmkit.sources.oci.registries_conf import Registries
from tests import images
from tests.images import Compression, Media, digest_of, directory, file, link, tar
from tests.servers.local_registry import LocalRegistry

LABEL = "operators.operatorframework.io.index.configs.v1"
LABELS = {LABEL: "/configs"}
NUMBERS = itertools.count()
CATALOG = tar([directory("configs"), file("configs/p/catalog.json", "{}"), file("etc/passwd", "root")])


@pytest.fixture
def repository() -> str:
    """A repository that no other test uses."""
    return f"images/{os.getpid()}-{next(NUMBERS)}"


@pytest.fixture
def registries(local_registry: LocalRegistry) -> Registries:
    return Registries.load(local_registry.registries_conf)


@pytest.fixture
def into(tmp_path: Path) -> Path:
    made = tmp_path / "into"
    made.mkdir()
    return made


def content(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("media", ["oci", "docker"])
@pytest.mark.parametrize("compression", ["gzip", "zstd", "plain"])
async def test_images_of_every_form_are_pulled(
    local_registry: LocalRegistry,
    registries: Registries,
    repository: str,
    into: Path,
    media: Media,
    compression: Compression,
) -> None:
    layers = [CATALOG, tar([file("configs/p/.wh.catalog.json"), file("configs/q/index.yaml", "---")])]
    digest = images.push(local_registry.address, repository, "v1", layers, LABELS, media, compression=compression)
    pulled = await image.pull(f"quay.io/{repository}:v1", into, registries, only=FromLabel(LABEL))
    assert content(into) == {"configs/q/index.yaml": "---"}
    assert pulled == image.PulledImage(f"quay.io/{repository}@{digest}", digest, LABELS, "configs", 1, 3)


async def test_a_moved_tag_is_resolved_to_its_new_digest(
    local_registry: LocalRegistry, registries: Registries, repository: str
) -> None:
    for layers in ([CATALOG], [CATALOG, CATALOG]):
        digest = images.push(local_registry.address, repository, "latest", layers, LABELS)
        by_address = await image.resolve(f"{local_registry.address}/{repository}", registries)
        assert by_address == image.ResolvedImage(f"{local_registry.address}/{repository}@{digest}", digest)
        assert await image.resolve(repository, registries) == image.ResolvedImage(f"{repository}@{digest}", digest)


async def test_a_digest_is_resolved_without_a_request() -> None:
    digest = "sha256:" + "0" * 64
    resolved = await image.resolve(f"registry.invalid/a:v1@{digest}", Registries())
    assert resolved == image.ResolvedImage(f"registry.invalid/a@{digest}", digest)


async def test_a_digest_is_pulled_after_its_tag_has_moved(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path
) -> None:
    old = images.push(local_registry.address, repository, "v1", [tar({"a": "old"})], {})
    images.push(local_registry.address, repository, "v1", [tar({"a": "new"})], {})
    pulled = await image.pull(f"quay.io/{repository}:v1@{old}", into, registries)
    assert pulled.digest == old
    assert content(into) == {"a": "old"}


@pytest.mark.parametrize("media", ["oci", "docker"])
async def test_an_index_selects_the_image_for_this_machine(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path, media: Media
) -> None:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    parts = {
        name: images.push(local_registry.address, repository, name, [tar({"name": name})], {"is": name}, media)
        for name in ("attestation", "other", "mine")
    }
    index = images.push_index(
        local_registry.address,
        repository,
        "v1",
        {"unknown/unknown": parts["attestation"], "linux/s390x": parts["other"], f"linux/{machine}": parts["mine"]},
        media,
        annotations={"unknown/unknown": {"vnd.docker.reference.type": "attestation-manifest"}},
    )
    pulled = await image.pull(f"quay.io/{repository}:v1", into, registries)
    assert content(into) == {"name": "mine"}
    assert pulled.digest == index, "the digest is the index's, as kubectl and skopeo show it"
    assert pulled.labels == {"is": "mine"}
    assert await image.resolve(f"quay.io/{repository}:v1", registries) == image.ResolvedImage(
        f"quay.io/{repository}@{index}", index
    )


@pytest.mark.parametrize(("depth", "fits"), [(2, True), (4, True), (5, False)])
async def test_nested_indexes_are_limited(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path, depth: int, fits: bool
) -> None:
    digest = images.push(local_registry.address, repository, "image", [tar({"a": "1"})], {})
    kind = images.MANIFEST["oci"]
    for level in range(depth):
        entry = {"mediaType": kind, "digest": digest, "size": 1, "platform": {"os": "linux", "architecture": "amd64"}}
        kind = images.INDEX["oci"]
        index = {"schemaVersion": 2, "mediaType": kind, "manifests": [entry]}
        digest = images.push_manifest(local_registry.address, repository, f"v{level + 1}", index, kind)
    ref = f"quay.io/{repository}:v{depth}"
    if fits:
        assert (await image.pull(ref, into, registries)).digest == digest
        assert content(into) == {"a": "1"}
        return
    with pytest.raises(BadContent) as raised:
        await image.pull(ref, into, registries)
    assert raised.value.message == f"image quay.io/{repository}@{digest} has more than 4 nested indexes"


async def test_a_missing_platform_is_reported_with_the_available_ones(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path
) -> None:
    digest = images.push(local_registry.address, repository, "image", [CATALOG], {})
    index = images.push_index(
        local_registry.address, repository, "v1", {"windows/amd64": digest, "windows/arm64": digest}
    )
    with pytest.raises(BadContent) as raised:
        await image.pull(f"quay.io/{repository}:v1", into, registries)
    expected = f'image quay.io/{repository}@{index} has no image for linux, only for "windows/amd64, windows/arm64"'
    assert raised.value.message == expected


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        pytest.param(None, {"a/b", "a/c/d", "e"}, id="everything"),
        pytest.param("a", {"a/b", "a/c/d"}, id="a directory"),
        pytest.param("/a/c/", {"a/c/d"}, id="a directory with slashes"),
        pytest.param(("e", "a/c"), {"e", "a/c/d"}, id="several"),
        pytest.param("/", {"a/b", "a/c/d", "e"}, id="the root"),
    ],
)
async def test_only_selected_paths_are_unpacked(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path, only: Any, expected: set[str]
) -> None:
    images.push(local_registry.address, repository, "v1", [tar({"a/b": "1", "a/c/d": "2", "e": "3"})], {})
    await image.pull(f"quay.io/{repository}:v1", into, registries, only=only)
    assert set(content(into)) == expected


async def test_progress_is_reported(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path
) -> None:
    images.push(local_registry.address, repository, "v1", [tar({"a": os.urandom(3_000_000).hex()}), CATALOG], {})
    lines: list[str] = []
    await image.pull(f"quay.io/{repository}:v1", into, registries, progress=lines.append)
    assert lines[0] == "reading the manifest"
    assert "pulling layer 1 of 2, 0 MB of 3 MB" in lines
    assert "pulling layer 2 of 2, 3 MB of 3 MB" in lines
    assert lines[-1] == "unpacking layer 2 of 2"


@pytest.mark.parametrize("version", ["v404", "@sha256:" + "0" * 64])
async def test_a_missing_image(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path, version: str
) -> None:
    images.push(local_registry.address, repository, "v1", [CATALOG], {})
    for name in (repository, "images/no-such-repository"):
        ref = f"quay.io/{name}{'' if version.startswith('@') else ':'}{version}"
        with pytest.raises(ImageNotFound) as raised:
            await image.pull(ref, into, registries)
        assert raised.value.reason == "ImageNotFound"
        expected = f'image "{ref}" not found: registry {local_registry.address} has no such tag or repository (404)'
        assert str(raised.value) == f"{expected}: correct the reference, or push the image"


@pytest.mark.parametrize(
    ("labels", "layers", "reason", "message"),
    [
        pytest.param(
            {},
            [CATALOG],
            "MissingLabel",
            f'catalog image "REF" is missing the required label "{LABEL}"',
            id="a missing label",
        ),
        pytest.param(
            {LABEL: "/catalog"},
            [CATALOG],
            "MissingContent",
            'image REF has no content at "/catalog", where its content should be',
            id="a label with a missing path",
        ),
        pytest.param(
            {LABEL: "/configs/../../etc"},
            [CATALOG],
            "UnsafeContent",
            'image REF selects "/configs/../../etc": a path outside the image',
            id="a label with a path outside the image",
        ),
        pytest.param(
            LABELS,
            [CATALOG, tar([file("configs/../../x", "")])],
            "UnsafeContent",
            'layer 2 of image REF contains "configs/../../x": a path outside the image',
            id="a path outside the image",
        ),
        pytest.param(
            LABELS,
            [tar([file("/configs/a", "")])],
            "UnsafeContent",
            'layer 1 of image REF contains "/configs/a": an absolute path',
            id="an absolute path",
        ),
        pytest.param(
            LABELS,
            [CATALOG, tar([link("configs/a", "../../../etc/passwd")]), CATALOG],
            "UnsafeContent",
            'layer 2 of image REF contains "configs/a", a link to "../../../etc/passwd", which is outside the image',
            id="a link outside the image",
        ),
        pytest.param(
            LABELS,
            [b"no archive"],
            "UnsupportedImage",
            "layer 1 of image REF is not a complete tar archive: truncated header",
            id="a layer that is not an archive",
        ),
        pytest.param(
            LABELS,
            [tar([file("configs/a", bytes(200_000))])],
            "TooLarge",
            "layer 1 of image REF makes the image larger than what is read of one",
            id="too large",
        ),
    ],
)
async def test_an_error_of_content_names_its_digest(
    local_registry: LocalRegistry,
    registries: Registries,
    repository: str,
    into: Path,
    labels: dict[str, str],
    layers: list[bytes],
    reason: str,
    message: str,
) -> None:
    digest = images.push(local_registry.address, repository, "v1", layers, labels)
    ref = f"quay.io/{repository}@{digest}"
    with pytest.raises(BadContent) as raised:
        await image.pull(
            f"quay.io/{repository}:v1", into, registries, only=FromLabel(LABEL), limits=ContentLimits(bytes=100_000)
        )
    assert raised.value.ref == ref
    assert raised.value.reason == reason
    assert raised.value.message == message.replace("REF", ref)


def without_layers(manifest: dict[str, Any]) -> dict[str, Any]:
    return {**manifest, "layers": []}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(
            lambda manifest: {**manifest, "layers": [{**manifest["layers"][0], "mediaType": "application/x-chart"}]},
            'has a layer of type "application/x-chart": it does not contain a file system',
            id="a layer of another type",
        ),
        pytest.param(
            lambda manifest: {**manifest, "layers": [{**manifest["layers"][0], "size": 10**12}]},
            "is 1,000,000,000,000 bytes compressed; at most 4,294,967,296 are read",
            id="a layer with a claimed size of a terabyte",
        ),
        pytest.param(
            lambda manifest: {**manifest, "config": {**manifest["config"], "size": 10**9}},
            "has a config of 1,000,000,000 bytes",
            id="a config with a claimed size of a gigabyte",
        ),
        pytest.param(
            lambda manifest: {**manifest, "config": manifest["layers"][0]},
            'is not an image but an artifact of the type "application/vnd.oci.image.layer.v1.tar+gzip"',
            id="a layer in place of the config",
        ),
    ],
)
async def test_unusable_manifests(
    local_registry: LocalRegistry,
    registries: Registries,
    repository: str,
    into: Path,
    change: Callable[[Any], Any],
    words: str,
) -> None:
    manifest = change(images.push_blobs(local_registry.address, repository, [CATALOG], LABELS))
    digest = images.push_manifest(local_registry.address, repository, "v1", manifest, images.MANIFEST["oci"])
    with pytest.raises(BadContent) as raised:
        await image.pull(f"quay.io/{repository}:v1", into, registries)
    assert raised.value.message == f"image quay.io/{repository}@{digest} {words}"


async def test_an_image_without_layers_is_empty(
    local_registry: LocalRegistry, registries: Registries, repository: str, into: Path
) -> None:
    manifest = without_layers(images.push_blobs(local_registry.address, repository, [CATALOG], LABELS))
    images.push_manifest(local_registry.address, repository, "v1", manifest, images.MANIFEST["oci"])
    pulled = await image.pull(f"quay.io/{repository}:v1", into, registries)
    assert (pulled.files, content(into)) == (0, {})


async def test_the_digest_of_an_image_is_that_of_its_manifest(local_registry: LocalRegistry, repository: str) -> None:
    """The tests above rely on this property of the fixture."""
    manifest = images.push_blobs(local_registry.address, repository, [CATALOG], LABELS)
    body = json.dumps(manifest).encode()
    digest = images.push_manifest(local_registry.address, repository, "v1", body, images.MANIFEST["oci"])
    assert digest == digest_of(body)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    made = tmp_path / "small"
    made.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(made)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield made
    subprocess.run(["umount", str(made)], check=True)


@pytest.mark.parametrize("size", [900_000, 3_000_000], ids=["full while unpacking", "full while pulling"])
async def test_a_full_disk_is_reported(
    local_registry: LocalRegistry, registries: Registries, repository: str, small_disk: Path, size: int
) -> None:
    images.push(local_registry.address, repository, "v1", [tar({"a": os.urandom(size)})], {})
    with pytest.raises(Waiting) as raised:
        await image.pull(f"quay.io/{repository}:v1", small_disk, registries)
    assert raised.value.reason == "DiskFull"
    assert "free some space or give the cache a larger volume" in raised.value.message
    assert str(small_disk) not in raised.value.message
