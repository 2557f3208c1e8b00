"""The suite as a registry+v1 bundle is valid for OLM v0, and rukpak refuses to install it over itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from devcluster.images import Content
from devcluster.watch import is_true
from olmctl.suite.manifests import load_manifests
from release.bundle import write_bundle
from release.suite import SUITE, suite_version
from tests.conditions import triple
from tests.e2e.stage import Stage

VERSION = suite_version()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("olm-v0")
    manifests = load_manifests(f"registry.example.com/olm-suite:v{VERSION}")
    write_bundle(directory, manifests, f"registry.example.com/bundle:v{VERSION}")
    return directory


def olm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((sys.executable, "-m", "olmctl", *arguments), capture_output=True, text=True, check=False)


def test_its_catalog_is_valid(written: Path) -> None:
    done = olm("catalog", "validate", str(written / "catalog"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_is_rendered_as_olm_does(written: Path) -> None:
    done = olm("bundle", "render", str(written / "bundle"))
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    names = {(each["kind"], each["metadata"]["name"]) for each in objects}
    assert {("Deployment", name) for name in ("catalogd", "rukpak", "operator-controller")} <= names
    assert ("Role", "olm-suite-catalogd-sources") in names


def test_the_suite_refuses_to_install_itself(stage: Stage, written: Path, tmp_path: Path) -> None:
    shutil.copytree(written / "bundle", tmp_path / "bundles" / SUITE / VERSION)
    pushed = stage.publish(Content(written / "catalog", tmp_path / "bundles"), [SUITE])
    stage.ready_catalog(pushed.reference)
    name = stage.operator(SUITE)
    refused = stage.operator_when(name, "is refused", lambda each: is_true(each, "Stalled"))
    crds = sorted(each["metadata"]["name"] for each in load_manifests().crds)
    sentences = (
        f"CustomResourceDefinition.apiextensions.k8s.io {crd} would replace the suite's own API: no bundle may bring it"
        for crd in crds
    )
    assert triple(refused, "Stalled")[2].startswith(f"cannot install {VERSION}: {'; '.join(sentences)}")
