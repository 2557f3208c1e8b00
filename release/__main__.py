"""`python -m release`: writes the manifests, the Helm chart and their checksums, and on request a bundle for OLM v0.

    <directory>/install.yaml, crds.yaml, console.yaml, v1.yaml     release.manifests
    <directory>/olm-suite-<version>.tgz                   release.chart
    <directory>/olm-v0/                                   release.bundle, with --bundle-image
    <directory>/SHA256SUMS                                release.checksums

Never connects to a cluster or a registry; `make image` builds the image.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

from olmctl.suite.manifests import load_manifests
from olmkit.sources.errors import BadReference
from olmkit.sources.oci.reference import parse
from release.bundle import write_bundle
from release.chart import chart_files, write_chart
from release.checksums import write_checksums
from release.kustomization import objects_of
from release.manifests import write_manifests
from release.suite import CONFIG, SUITE

DIRECTORY = Path("build/release")
BUNDLE_DIRECTORY = "olm-v0"


def write_release(directory: Path, image: str = "", bundle_image: str = "") -> list[Path]:
    """Write a release into the directory, which must exist; returns the paths of its files.

    `image` is that of the controllers (empty: that of config/default), `bundle_image` the one that the bundle will be pushed as
    (empty: without a bundle). Raises OSError and subprocess.CalledProcessError.
    """
    manifests = load_manifests(image)
    written = write_manifests(directory, manifests)
    written.append(write_chart(directory, manifests, chart_files(manifests, objects_of(CONFIG / "prometheus"))))
    if bundle_image:
        written += write_bundle(directory / BUNDLE_DIRECTORY, manifests, bundle_image)
    return [*written, write_checksums(directory, written)]


def image_reference(text: str) -> str:
    """An argument that refers to an image, with its tag or digest. Raises ArgumentTypeError."""
    try:
        return str(parse(text))
    except BadReference as error:
        raise ArgumentTypeError(str(error)) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files and print what the directory has. Returns the exit status."""
    parser = ArgumentParser(prog="python -m release", description="Write the files of a release.")
    parser.add_argument(
        "--directory", type=Path, default=DIRECTORY, help="where they are written (default: build/release)"
    )
    parser.add_argument(
        "--image",
        type=image_reference,
        help=f"the image of the controllers, such as registry.example.com/{SUITE}:v0.1.0 (default: that of config/default)",
    )
    parser.add_argument(
        "--bundle-image",
        type=image_reference,
        help=f"write a bundle for OLM v0 into {BUNDLE_DIRECTORY}/ too, which will be pushed as this image",
    )
    given = parser.parse_args(arguments)
    given.directory.mkdir(parents=True, exist_ok=True)
    written = write_release(given.directory, given.image or "", given.bundle_image or "")
    for name in dict.fromkeys(path.relative_to(given.directory).parts[0] for path in written):
        print(given.directory / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
