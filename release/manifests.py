"""Writes install.yaml and crds.yaml of a release: the objects of config/default, and the CRDs apart."""

from __future__ import annotations

from pathlib import Path

from olmctl.suite.manifests import Manifests, documents
from release.suite import SUITE

INSTALL_FILE, CRDS_FILE = "install.yaml", "crds.yaml"


def write_manifests(directory: Path, manifests: Manifests) -> list[Path]:
    """Write both files; returns their paths."""
    title = f"# {SUITE} {manifests.version}: {{}}\n# kubectl apply --server-side -f {CRDS_FILE} -f {INSTALL_FILE}\n"
    install, crds = directory / INSTALL_FILE, directory / CRDS_FILE
    text = documents(manifests.objects)
    install.write_text(title.format("the controllers, their permissions and their namespaces") + text)
    text = documents(manifests.crds)
    crds.write_text(title.format("the CRDs. Deleting them deletes all Catalogs and Operators") + text)
    return [install, crds]
