"""The image of an installation that names none."""

from __future__ import annotations

import click
import pytest

from olmctl.suite.kept_settings import kept_image
from olmctl.suite.manifests import VERSION_LABEL, load_manifests
from olmkit.api.meta import Object

VERSION = load_manifests().version
MIRROR = "mirror.example.com:5000/team/suite"
DIGEST = f"{MIRROR}@sha256:{'0' * 64}"


def controller(version: str, image: str, name: str = "catalogd") -> Object:
    """A Deployment with a container that somebody has added."""
    containers = [{"name": "added", "image": "example.com/added:v1"}, {"name": name, "image": image}]
    metadata = {"name": name, "labels": {VERSION_LABEL: version}}
    return {"kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": {"containers": containers}}}}


@pytest.mark.parametrize(
    ("version", "image", "expected"),
    [
        pytest.param(VERSION, f"{MIRROR}:{VERSION}", f"{MIRROR}:{VERSION}", id="this version"),
        pytest.param(VERSION, f"{MIRROR}:test", f"{MIRROR}:test", id="this version with another tag"),
        pytest.param(VERSION, DIGEST, DIGEST, id="this version by digest"),
        pytest.param("v0.0.1", f"{MIRROR}:v0.0.1", f"{MIRROR}:{VERSION}", id="an older version"),
        pytest.param("v0.0.1", MIRROR, f"{MIRROR}:{VERSION}", id="an older version without a tag"),
    ],
)
def test_the_image_that_is_installed_is_kept(version: str, image: str, expected: str) -> None:
    controllers = [controller(version, image, name) for name in ("catalogd", "rukpak")]
    assert kept_image(load_manifests(), controllers) == expected


def test_an_interrupted_upgrade_goes_on_with_its_image() -> None:
    controllers = [controller(VERSION, f"{MIRROR}:{VERSION}"), controller("v0.0.1", f"{MIRROR}:v0.0.1", "rukpak")]
    assert kept_image(load_manifests(), controllers) == f"{MIRROR}:{VERSION}"


def test_a_command_that_was_made_with_an_image_installs_it() -> None:
    assert kept_image(load_manifests(f"{MIRROR}:{VERSION}"), []) == f"{MIRROR}:{VERSION}"


@pytest.mark.parametrize(
    ("controllers", "texts"),
    [
        pytest.param(
            [], ("olm-suite is not installed", f"--image registry.example.com/olm-suite:{VERSION}"), id="none"
        ),
        pytest.param([controller("v0.0.1", DIGEST)], (f"{DIGEST} (catalogd)",), id="a digest of another version"),
        pytest.param([controller(VERSION, "Bad Image")], ("Bad Image (catalogd)",), id="no image"),
        pytest.param([controller(VERSION, "")], (f"Name the image of {VERSION}",), id="no container of that name"),
        pytest.param(
            [controller(VERSION, "a:1"), controller(VERSION, "a:2", "rukpak")],
            ("a:1 (catalogd), a:2 (rukpak)",),
            id="different images",
        ),
    ],
)
def test_an_image_that_is_not_known_must_be_named(controllers: list[Object], texts: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError) as raised:
        kept_image(load_manifests(), controllers)
    assert [text for text in ("--image is missing", *texts) if text not in str(raised.value)] == []
