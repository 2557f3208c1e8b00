"""Writes the manifests of a release: install.yaml, the objects of config/default; crds.yaml; console.yaml, the web console; and
v1.yaml, the kinds of OLM v1."""

from __future__ import annotations

from pathlib import Path

from olmctl.suite.manifests import SYSTEM_NAMESPACE, Manifests, documents
from olmctl.suite.web_console import key_command
from release.suite import SUITE

INSTALL_FILE, CRDS_FILE, CONSOLE_FILE, V1_FILE = "install.yaml", "crds.yaml", "console.yaml", "v1.yaml"


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
    v1 = directory / V1_FILE
    title = f"# {SUITE} {manifests.version}: the kinds of OLM v1, beside {INSTALL_FILE}, on clusters without OLM v1.\n"
    title += f"# kubectl apply --server-side -f {V1_FILE}\n"
    v1.write_text(title + documents((*manifests.v1_crds, *manifests.v1)))
    return [install, crds, console, v1]
