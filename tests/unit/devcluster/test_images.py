"""Catalogs as images: the images that are set, and excluded bundles."""

import json
from typing import Any

import pytest

from devcluster.errors import DevclusterError
from devcluster.images import _check_image_name, _check_names, _lines, _without, labels_of, version_of

PACKAGE: dict[str, Any] = {"schema": "olm.package", "name": "p"}


def _bundle(version: str) -> dict[str, Any]:
    properties = [{"type": "olm.package", "value": {"packageName": "p", "version": version}}]
    return {"schema": "olm.bundle", "package": "p", "name": f"p.v{version}", "image": "old", "properties": properties}


def _channel(name: str, *versions: str) -> dict[str, Any]:
    return {"schema": "olm.channel", "package": "p", "name": name, "entries": [{"name": f"p.v{v}"} for v in versions]}


def test_an_excluded_bundle_is_removed_from_channels() -> None:
    blobs = [
        PACKAGE,
        _channel("stable", "1.0.0", "2.0.0"),
        _channel("fast", "2.0.0"),
        _bundle("1.0.0"),
        _bundle("2.0.0"),
    ]
    assert _without(blobs, {"p.v2.0.0"}) == [PACKAGE, _channel("stable", "1.0.0"), _bundle("1.0.0")]


def test_images_are_set_only_for_pushed_bundles() -> None:
    lines = _lines([PACKAGE, _bundle("1.0.0"), _bundle("2.0.0")], {("p", "p.v1.0.0"): "new"}).decode().splitlines()
    assert [json.loads(line).get("image") for line in lines] == [None, "new", "old"]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        pytest.param(b"", {}, id="no annotations"),
        pytest.param(b"annotations:\n", {}, id="empty annotations"),
        pytest.param(b"annotations:\n  a: b\n  c: 1\n", {"a": "b", "c": "1"}, id="values become text"),
        pytest.param(b"annotations:\n  a: 4.10\n  b: true\n", {"a": "4.1", "b": "true"}, id="as Go reads them"),
    ],
)
def test_labels_of_a_bundle(text: bytes, labels: dict[str, str]) -> None:
    assert labels_of(text) == labels


def test_the_version_is_that_of_the_package_property() -> None:
    assert version_of(_bundle("1.2.3")) == "1.2.3"
    assert version_of({"schema": "olm.bundle", "properties": []}) == ""


@pytest.mark.parametrize("name", ["samples", "catalogs/samples:latest", "a.b/c_d/e--f:V1.0_x", "a__b:1"])
def test_repository_names(name: str) -> None:
    _check_image_name(name)


@pytest.mark.parametrize(
    "name", ["", "Catalogs/samples", "/a", "a//b", "a:b:c", "host:5000/a:b", "a b", "a:", "-a", "ä"]
)
def test_an_invalid_repository_name_is_refused_before_the_push(name: str) -> None:
    with pytest.raises(DevclusterError, match="is no name of an image in a registry: it is written like"):
        _check_image_name(name)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param(
            "p.v1.0.1", r"no bundle 'p\.v1\.0\.1' that could be left out: did you mean p\.v1\.0\.0", id="near"
        ),
        pytest.param("zzz", "no bundle 'zzz' that could be left out: 2 bundles have other names", id="far"),
    ],
)
def test_an_excluded_bundle_that_does_not_exist_is_reported(wrong: str, words: str) -> None:
    known = ["p.v1.0.0", "q.v2.0.0"]
    _check_names(["q.v2.0.0"], known)
    with pytest.raises(DevclusterError, match=words):
        _check_names(["q.v2.0.0", wrong], known)
