"""The directory of a bundle or a catalog as an image: what is in it, and what is refused."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from olmctl.authoring.images.contents import Content, bundle_content, catalog_content
from olmctl.commands import CommandError

BUNDLE = SAMPLES / "bundles" / "hello-operator" / "0.1.0"
ANNOTATIONS = "metadata/annotations.yaml"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of a bundle, to change."""
    return Path(shutil.copytree(BUNDLE, tmp_path / "bundle"))


def names(content: Content, scratch: Path) -> list[str]:
    """The files in the layer of the image."""
    layer = content.image(scratch).blobs[1].read()
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        return [each.name for each in archive if each.isfile()]


def test_a_bundle_has_its_files_and_its_annotations_as_labels(bundle: Path, tmp_path: Path) -> None:
    (bundle / "README.md").write_text("no part of a bundle")
    (bundle / "tests" / "scorecard").mkdir(parents=True)
    (bundle / "tests" / "scorecard" / "config.yaml").write_text("kind: Configuration\n")
    found = bundle_content(bundle)
    assert found.name == "hello-operator.v0.1.0"
    assert names(found, tmp_path) == [
        "manifests/hello-operator-metrics_v1_service.yaml",
        "manifests/hello-operator.clusterserviceversion.yaml",
        "manifests/hello.example.com_greetings.yaml",
        "metadata/annotations.yaml",
        "tests/scorecard/config.yaml",
    ]
    prefix = "operators.operatorframework.io.bundle"
    assert found.image(tmp_path).configuration["config"]["Labels"] == {
        f"{prefix}.channel.default.v1": "stable",
        f"{prefix}.channels.v1": "candidate,stable",
        f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.metadata.v1": "metadata/",
        f"{prefix}.package.v1": "hello-operator",
    }


def test_two_builds_have_one_digest(bundle: Path, tmp_path: Path) -> None:
    first = bundle_content(BUNDLE).image(tmp_path).digest
    for path in bundle.rglob("*.yaml"):
        os.utime(path, (0, 0))
        path.chmod(0o700)
    assert bundle_content(bundle).image(tmp_path).digest == first
    (bundle / "manifests" / "hello-operator-metrics_v1_service.yaml").unlink()
    assert bundle_content(bundle).image(tmp_path).digest != first


def test_a_plain_bundle(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    found = bundle_content(tmp_path)
    assert found.labels == {
        "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
        "operators.operatorframework.io.bundle.mediatype.v1": "plain+v0",
    }


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        pytest.param(
            ANNOTATIONS, "registry+v1", "helm", r'to have value "registry\+v1" instead of "helm"', id="a type"
        ),
        pytest.param(ANNOTATIONS, "manifests/", "../x", 'to have value "manifests/" instead of "../x"', id="a folder"),
        pytest.param(
            ANNOTATIONS, "candidate,stable", "1.5", "channels.v1 is no string: write it in quotes", id="a number"
        ),
        pytest.param(
            ANNOTATIONS,
            "operators.operatorframework.io.bundle.channels.v1",
            "x",
            'Missing annotation "operators.operatorframework.io.bundle.channels.v1"',
            id="no channels",
        ),
        pytest.param(
            ANNOTATIONS,
            "candidate,stable",
            '"stable\\nb"',
            r'the value "stable\\nb" of .*channels\.v1 has a line break',
            id="a channel of two lines",
        ),
        pytest.param(
            ANNOTATIONS,
            "annotations:",
            'annotations:\n  "a\\nLABEL b": c',
            r'the key "a\\nLABEL b" has a blank or a line break',
            id="a key of two lines",
        ),
        pytest.param(ANNOTATIONS, "annotations:", "annotations: [", "Could not find annotations file", id="no YAML"),
        pytest.param(
            "manifests/hello-operator.clusterserviceversion.yaml",
            "kind: ClusterServiceVersion",
            "kind: Nothing",
            "no ClusterServiceVersion found",
            id="no ClusterServiceVersion",
        ),
        pytest.param(
            "manifests/hello.example.com_greetings.yaml",
            "kind: CustomResourceDefinition",
            "kind: [",
            "manifests/hello.example.com_greetings.yaml: ",
            id="a manifest that does not parse",
        ),
    ],
)
def test_a_bundle_with_a_fault_is_refused_by_name(path: str, old: str, new: str, words: str, bundle: Path) -> None:
    text = (bundle / path).read_text()
    assert old in text
    (bundle / path).write_text(text.replace(old, new))
    with pytest.raises(CommandError, match=words) as raised:
        bundle_content(bundle)
    assert str(raised.value).startswith(f"{bundle}: ")


def test_what_is_no_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="none: there is no such directory: give the directory of a"):
        bundle_content(tmp_path / "none")
    (bundle / "manifests" / "link.yaml").symlink_to("/etc/passwd")
    with pytest.raises(CommandError, match="is a link that leads outside the bundle"):
        bundle_content(bundle)
    (bundle / "manifests" / "link.yaml").unlink()
    (bundle / ANNOTATIONS).unlink()
    with pytest.raises(CommandError, match=r"it has no metadata/annotations\.yaml"):
        bundle_content(bundle)
    shutil.rmtree(bundle / "metadata")
    with pytest.raises(CommandError, match=r"it has a ClusterServiceVersion, but no metadata/annotations\.yaml"):
        bundle_content(bundle)
    shutil.rmtree(bundle / "manifests")
    with pytest.raises(CommandError, match='has no "manifests" directory with files in it'):
        bundle_content(bundle)
    (bundle / "Chart.yaml").write_text("name: a")
    with pytest.raises(CommandError, match="it is a Helm chart"):
        bundle_content(bundle)


def test_a_catalog_has_the_files_that_are_not_ignored(tmp_path: Path) -> None:
    catalog = Path(shutil.copytree(SAMPLES / "catalog", tmp_path / "catalog"))
    (catalog / "README.md").write_text("# no blob")
    with pytest.raises(CommandError, match=r"is no valid catalog in README.md"):
        catalog_content(catalog)
    (catalog / ".indexignore").write_text("README.md\n")
    found = catalog_content(catalog)
    assert found.labels == {"operators.operatorframework.io.index.configs.v1": "/configs"}
    assert names(found, tmp_path) == [
        f"configs/{package}/catalog.yaml"
        for package in ("hello-operator", "message-board", "notebook-operator", "party-operator")
    ]
    with pytest.raises(CommandError, match="none: there is no such directory: give the directory of a"):
        catalog_content(tmp_path / "none")


def test_values_of_others_that_are_no_text_become_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = Path(shutil.copytree(BUNDLE, tmp_path / "b"))
    with (bundle / ANNOTATIONS).open("a") as file:
        file.write("  com.redhat.delivery.backport: true\n  a.number: 4.5\n  a.text: 'yes'\n")
    labels = bundle_content(bundle).labels
    assert (labels["com.redhat.delivery.backport"], labels["a.number"], labels["a.text"]) == ("true", "4.5", "yes")
    assert capsys.readouterr().err.splitlines() == [
        'warning: metadata/annotations.yaml: the value of a.number is no string: its label is "4.5"',
        'warning: metadata/annotations.yaml: the value of com.redhat.delivery.backport is no string: its label is "true"',
    ]
