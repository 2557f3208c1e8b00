"""Every manifest that a page of docs/ or the README shows is one that the API server accepts."""

import re
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.processes import REPOSITORY
from devcluster.suite import Suite

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]

_MANIFEST = re.compile(r"(?:<<EOF\n|```yaml\n)(apiVersion:.*?)\n(?:EOF|```)", re.DOTALL)


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    """The cluster with CRDs."""
    Suite(cluster).install()
    return cluster


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(manifest, id=f"{page.name}-{number}")
        for page in PAGES
        for number, manifest in enumerate(_MANIFEST.findall(page.read_text()))
    ],
)
def test_a_manifest_is_accepted(installed: Cluster, manifest: str) -> None:
    printed = installed.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=manifest)
    assert printed.count("created (server dry run)") == manifest.count("apiVersion:")


def test_there_are_manifests_to_look_at() -> None:
    shown = {path.name for path in PAGES if _MANIFEST.search(Path(path).read_text())}
    assert {"README.md", "catalog.md", "operator.md", "bundledeployment.md"} <= shown
