"""Writes install.yaml and crds.yaml of a release: the objects of config/default, and the CRDs apart.

Called as `python -m release.manifests [--folder FOLDER] [--image IMAGE]` by `make release`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from olmctl.suite.manifests import Manifests, documents, load_manifests

FOLDER = Path(__file__).resolve().parent.parent / "build" / "release"
INSTALL_FILE, CRDS_FILE = "install.yaml", "crds.yaml"


def write_manifests(folder: Path, manifests: Manifests) -> list[Path]:
    """Write both files; returns their paths."""
    title = f"# olm-suite {manifests.version}: {{}}\n# kubectl apply --server-side -f {CRDS_FILE} -f {INSTALL_FILE}\n"
    install, crds = folder / INSTALL_FILE, folder / CRDS_FILE
    text = documents(manifests.objects)
    install.write_text(title.format("the controllers, their permissions and their namespaces") + text)
    text = documents(manifests.crds)
    crds.write_text(title.format("the CRDs. Deleting them deletes all Catalogs and Operators") + text)
    return [install, crds]


def arguments(description: str) -> Namespace:
    """The arguments of a command that writes files of a release; the folder exists afterwards."""
    parser = ArgumentParser(description=description)
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where the files are written (default: build/release)"
    )
    parser.add_argument("--image", default="", help="the image of the controllers (default: that of config/default)")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    return given


def main() -> int:
    """Write the files and print their paths."""
    given = arguments("Write install.yaml and crds.yaml.")
    for path in write_manifests(given.folder, load_manifests(given.image)):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
