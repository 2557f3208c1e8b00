"""The bundles of the operators can be rendered, and their catalog is valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devcluster.operators.content import write_content
from devcluster.operators.images import unpushed_images
from devcluster.operators.manifests import bundles
from olmctl.main import main

BUNDLES = {each.name: each for each in bundles()}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("operators") / "content"
    write_content(found, unpushed_images("registry.example.com"))
    return found


def test_the_catalog_is_valid(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["catalog", "validate", str(directory / "catalog")])
    assert (capsys.readouterr().err, status) == ("", 0)


@pytest.mark.parametrize("name", BUNDLES)
def test_each_bundle_can_be_rendered(directory: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = directory / "bundles" / BUNDLES[name].package / BUNDLES[name].version
    status = main(["bundle", "render", str(bundle), "--output", "json"])
    output = capsys.readouterr()
    assert (output.err, status) == ("", 0)
    assert "Deployment" in {each["kind"] for each in json.loads(output.out)}
