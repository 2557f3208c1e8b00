"""Manifests and indexes: parsed, chosen from, or refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from olmkit.sources.oci import manifests
from olmkit.sources.oci.manifests import (
    DOCKER_MANIFEST,
    DOCKER_MANIFEST_LIST,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
)

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def blob(name: str, media_type: str = LAYER, size: Any = 1, **more: Any) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{name * 64}", "size": size, **more}


def image(**changes: Any) -> dict[str, Any]:
    config = blob("c", "application/vnd.oci.image.config.v1+json")
    return {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": config,
        "layers": [blob("1"), blob("2")],
        **changes,
    }


def entry(name: str, platform: str = "", media_type: str = OCI_MANIFEST, **more: Any) -> dict[str, Any]:
    system, _, architecture = platform.partition("/")
    return blob(
        name, media_type, **({"platform": {"os": system, "architecture": architecture}} if platform else {}), **more
    )


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != key}


@pytest.mark.parametrize(
    ("document", "content_type"),
    [
        pytest.param(image(), OCI_MANIFEST, id="OCI"),
        pytest.param(image(mediaType=DOCKER_MANIFEST), DOCKER_MANIFEST, id="Docker"),
        pytest.param(
            without(image(), "mediaType"), OCI_MANIFEST, id="the type is from the header, as for old OCI images"
        ),
        pytest.param(without(image(), "mediaType"), "text/plain", id="without a type, detected by its fields"),
        pytest.param(image(), DOCKER_MANIFEST_LIST, id="the type inside wins over the header"),
    ],
)
def test_an_image_is_parsed(document: dict[str, Any], content_type: str) -> None:
    manifest = manifests.parse(orjson.dumps(document), content_type)
    assert isinstance(manifest, Manifest)
    assert manifest.config.digest == "sha256:" + "c" * 64
    assert [layer.digest[7] for layer in manifest.layers] == ["1", "2"]


@pytest.mark.parametrize("media_type", [OCI_INDEX, DOCKER_MANIFEST_LIST])
def test_an_index_is_parsed(media_type: str) -> None:
    document = {"mediaType": media_type, "manifests": [entry("a", "linux/amd64"), entry("b")]}
    index = manifests.parse(orjson.dumps(document), media_type)
    assert isinstance(index, Index)
    assert [each.platform for each in index.entries] == [("linux", "amd64"), None]


@pytest.mark.parametrize(
    ("entries", "machine", "chosen"),
    [
        pytest.param(["arm64", "amd64"], "x86_64", "b", id="the machine's own"),
        pytest.param(["amd64", "arm64"], "aarch64", "b", id="the machine's own, in the words of indexes"),
        pytest.param(["ppc64le", "s390x"], "s390x", "b", id="the machine's own, with the same name"),
        pytest.param(["arm64", "amd64"], "riscv64", "b", id="else amd64: bundles and catalogs are the same for all"),
        pytest.param(["s390x", "ppc64le"], "x86_64", "a", id="else the first for linux"),
    ],
)
def test_the_platform_is_chosen(entries: list[str], machine: str, chosen: str) -> None:
    document = {"manifests": [entry(name, f"linux/{platform}") for name, platform in zip("ab", entries, strict=True)]}
    index = manifests.parse(orjson.dumps(document), OCI_INDEX)
    assert isinstance(index, Index)
    assert manifests.choose(index, machine).digest[7] == chosen


def test_windows_images_and_entries_that_are_not_images_are_skipped() -> None:
    document = {
        "manifests": [
            entry("0", "unknown/unknown"),
            entry("1", "linux/amd64", annotations={"vnd.docker.reference.type": "attestation-manifest"}),
            entry("2", "linux/amd64", "application/vnd.oci.image.index.v1+json"),
            entry("3", "windows/amd64"),
            entry("4", "linux/amd64"),
            entry("5", "linux/arm64", OCI_INDEX),
        ]
    }
    index = manifests.parse(orjson.dumps(document), OCI_INDEX)
    assert isinstance(index, Index)
    assert manifests.choose(index, "x86_64").digest[7] == "4", "an image comes before an index"
    assert manifests.choose(index, "aarch64").digest[7] == "5", "an index may be all there is for a platform"


def test_without_a_suitable_platform_the_available_ones_are_named() -> None:
    document = {"manifests": [entry("1", "windows/amd64"), entry("2", "darwin/arm64"), entry("3", "windows/amd64")]}
    index = manifests.parse(orjson.dumps(document), OCI_INDEX)
    assert isinstance(index, Index)
    with pytest.raises(manifests.InvalidManifest) as raised:
        manifests.choose(index, "x86_64")
    assert str(raised.value) == 'has no image for linux, only for "darwin/arm64, windows/amd64"'


CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
CHART_CONFIG = blob("c", "application/vnd.cncf.helm.config.v1+json")


@pytest.mark.parametrize("kind", [CHART, "application/tar+gzip"])
def test_a_chart_is_read_where_it_is_wanted_without_its_provenance(kind: str) -> None:
    provenance = blob("2", "application/vnd.cncf.helm.chart.provenance.v1.prov")
    data = orjson.dumps(image(config=CHART_CONFIG, layers=[blob("1", kind), provenance]))
    found = manifests.parse(data, "text/plain", is_chart_wanted=True)
    assert isinstance(found, Manifest)
    assert [layer.media_type for layer in found.layers] == [kind]


@pytest.mark.parametrize("layers", [[], [blob("1", CHART), blob("2", CHART)]])
def test_a_chart_has_one_layer(layers: list[Any]) -> None:
    with pytest.raises(manifests.InvalidManifest, match="layers of charts; it has to have one"):
        manifests.parse(orjson.dumps(image(config=CHART_CONFIG, layers=layers)), "text/plain", is_chart_wanted=True)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"<html>", "is not JSON", id="HTML"),
        pytest.param(b"", "is not JSON", id="empty"),
        pytest.param(b"[" * 100_000, "is not JSON", id="nesting without end"),
        pytest.param(b"[]", "is not a JSON object", id="a list"),
        pytest.param(b"{}", 'a manifest of type "text/plain"', id="an object without a type"),
        pytest.param(
            orjson.dumps({"mediaType": "application/vnd.docker.distribution.manifest.v1+prettyjws"}),
            "push it as an OCI or a Docker v2 image",
            id="Docker's first schema",
        ),
        pytest.param(
            orjson.dumps({"schemaVersion": 1, "fsLayers": [], "signatures": []}),
            "is in Docker's old format, schema 1",
            id="Docker's first schema without a type",
        ),
        pytest.param(
            orjson.dumps(
                image(artifactType="application/x.chart", config=blob("c", "application/vnd.oci.empty.v1+json"))
            ),
            'is not an image but an artifact of the type "application/x.chart"',
            id="an artefact",
        ),
        pytest.param(
            orjson.dumps(image(config=blob("c", "application/vnd.cncf.helm.config.v1+json"))),
            'is not an image but an artifact of the type "application/vnd.cncf.helm.config.v1.json"',
            id="a chart",
        ),
        pytest.param(
            orjson.dumps(image(layers=[blob("1", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip")])),
            "has a layer that is not kept in the registry",
            id="a foreign layer",
        ),
        pytest.param(
            orjson.dumps(image(layers=[blob("1", "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip")])),
            "has a layer that is not kept in the registry",
            id="a layer that must not be distributed",
        ),
        pytest.param(orjson.dumps(image(manifests=[])), "both an index and an image", id="both an index and an image"),
        pytest.param(orjson.dumps(image(config=None)), "not a descriptor", id="no config"),
        pytest.param(orjson.dumps(without(image(), "layers")), "without a list of layers", id="no layers"),
        pytest.param(orjson.dumps(image(layers={})), "without a list of layers", id="layers that are not a list"),
        pytest.param(orjson.dumps(image(layers=[7])), "not a descriptor", id="a layer that is a number"),
        pytest.param(
            orjson.dumps(image(layers=[blob("1", "text/x-helm")])),
            "does not contain a file system",
            id="a layer that is a chart",
        ),
        pytest.param(orjson.dumps(image(layers=[blob("x")])), "which is not a digest", id="an invalid digest"),
        pytest.param(
            orjson.dumps(image(layers=[{"mediaType": LAYER, "digest": 7}])), "which is not a digest", id="a digest of 7"
        ),
        pytest.param(orjson.dumps(image(layers=[blob("1", size=-1)])), "without a size", id="a size below zero"),
        pytest.param(orjson.dumps(image(layers=[blob("1", size=True)])), "without a size", id="a size that is true"),
        pytest.param(orjson.dumps(image(layers=[blob("1", size="9")])), "without a size", id="a size that is text"),
        pytest.param(orjson.dumps(image(layers=[blob("1")] * 501)), "has 501 layers", id="layers without end"),
    ],
)
def test_invalid_manifests_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(manifests.InvalidManifest, match=why):
        manifests.parse(data, "text/plain")


def test_an_index_without_images_is_refused() -> None:
    with pytest.raises(manifests.InvalidManifest, match="without an image"):
        manifests.choose(Index((Descriptor(OCI_MANIFEST, "sha256:" + "0" * 64, 1, ("unknown", "unknown")),)), "x86_64")


@pytest.mark.parametrize(
    ("config", "labels"),
    [
        pytest.param({"config": {"Labels": {"a": "b", "c": 7}}}, {"a": "b"}, id="labels that are texts"),
        pytest.param({"config": {"Labels": None}}, {}, id="null, as Docker writes it"),
        pytest.param({"config": None}, {}, id="no config"),
        pytest.param({}, {}, id="an empty config, as artifacts have"),
        pytest.param({"config": {"Labels": ["a"]}}, {}, id="labels that are a list"),
    ],
)
def test_labels(config: Any, labels: dict[str, str]) -> None:
    assert manifests.labels(orjson.dumps(config)) == labels


JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-1, 2**40) | some.text(max_size=8),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(
                ["mediaType", "manifests", "layers", "config", "digest", "size", "platform", "annotations", "Labels"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, some.sampled_from([OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST_LIST, ""]))
def test_any_json_is_parsed_or_refused(document: Any, content_type: str) -> None:
    data = orjson.dumps(document)
    said = ""
    for read in (lambda: manifests.parse(data, content_type), lambda: manifests.labels(data)):
        try:
            read()
        except manifests.InvalidManifest as error:
            said = str(error)
    assert said.startswith(("has a ", "is no image but ")) or not said
