"""Writes install.yaml, crds.yaml and console.yaml of a release: the objects of config/default, the CRDs, the web console."""

from __future__ import annotations

from pathlib import Path

from olmctl.suite.manifests import SYSTEM_NAMESPACE, Manifests, documents
from olmctl.suite.web_console import key_command
from release.suite import SUITE

INSTALL_FILE, CRDS_FILE, CONSOLE_FILE = "install.yaml", "crds.yaml", "console.yaml"


def write_manifests(directory: Path, manifests: Manifests) -> list[Path]:
    """Write the files; returns their paths."""
    title = f"# {SUITE} {manifests.version}: {{}}\n# kubectl apply --server-side -f {CRDS_FILE} -f {INSTALL_FILE}\n"
    install, crds = directory / INSTALL_FILE, directory / CRDS_FILE
    text = documents(manifests.objects)
    install.write_text(title.format("the controllers, their permissions and their namespaces") + text)
    text = documents(manifests.crds)
    crds.write_text(title.format("the CRDs. Deleting them deletes all Catalogs and Operators") + text)
    console = directory / CONSOLE_FILE
    title = f"# {SUITE} {manifests.version}: the web console, beside {INSTALL_FILE}. Its Secret comes first:\n"
    title += f"#   {key_command(SYSTEM_NAMESPACE)}\n# kubectl apply --server-side -f {CONSOLE_FILE}\n"
    console.write_text(title + documents(manifests.console))
    return [install, crds, console]
