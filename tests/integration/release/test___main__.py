"""`python -m release` stamps one image into every file that it writes, and refuses what is no image before it writes anything."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from olmctl.suite.manifests import load_manifests
from release.__main__ import main

DIGEST = "sha256:" + "ab" * 32
BUNDLE = "registry.example.com/bundle:v1"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param("localhost:5000/x/suite:v1", "localhost:5000/x/suite:v1", id="a port"),
        pytest.param(f"localhost:5000/suite@{DIGEST}", f"localhost:5000/suite@{DIGEST}", id="a digest"),
        pytest.param(f"example.com/suite:v1@{DIGEST}", f"example.com/suite:v1@{DIGEST}", id="a tag and a digest"),
        pytest.param("localhost:5000/suite", "localhost:5000/suite:latest", id="neither a tag nor a digest"),
        pytest.param(None, load_manifests().image, id="no image: that of config"),
    ],
)
def test_the_image_is_in_the_manifests_and_in_the_bundle(tmp_path: Path, image: str | None, expected: str) -> None:
    given = [] if image is None else ["--image", image]
    assert main(["--directory", str(tmp_path), "--bundle-image", BUNDLE, *given]) == 0
    (csv,) = (tmp_path / "olm-v0/bundle/manifests").glob("*.clusterserviceversion.yaml")
    for path in (tmp_path / "install.yaml", csv):
        lines = [line.strip(" -") for line in path.read_text().splitlines()]
        assert [line for line in lines if line.startswith("image:")] == [f"image: {expected}"] * 3, path
    catalog = (tmp_path / "olm-v0/catalog/olm-suite/catalog.yaml").read_text()
    assert f"image: {BUNDLE}\n" in catalog
    assert f"image: {expected}\n" in catalog


def test_the_checksums_are_those_of_what_was_written_and_of_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "olm-suite-0.0.1.tgz").write_text("the chart of another version")
    assert main(["--directory", str(tmp_path), "--bundle-image", BUNDLE]) == 0
    lines = (line.split("  ") for line in (tmp_path / "SHA256SUMS").read_text().splitlines())
    listed = {name: digest for digest, name in lines}
    assert {"install.yaml", "crds.yaml", "olm-v0/prerequisites.yaml", "olm-v0/catalog/olm-suite/catalog.yaml"} <= set(
        listed
    )
    assert "olm-suite-0.0.1.tgz" not in listed
    assert listed == {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in listed}


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        pytest.param("--image", "two words", id="two words"),
        pytest.param("--image", "example.com/suite@sha256:c", id="a digest that is cut off"),
        pytest.param("--image", "localhost:99999/suite", id="a port that does not exist"),
        pytest.param("--bundle-image", "Example/Bundle", id="the image of the bundle"),
    ],
)
def test_what_is_no_image_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: str, text: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--directory", str(tmp_path / "release"), flag, text])
    assert caught.value.code == 2
    assert f'argument {flag}: image reference "{text}" cannot be read: ' in capsys.readouterr().err
    assert not (tmp_path / "release").exists()
