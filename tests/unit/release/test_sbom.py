"""The bill of materials is CycloneDX: names, references and hashes of all components."""

from __future__ import annotations

from pathlib import Path

from release.debian_packages import DebianPackage
from release.sbom import make_sbom

DIGEST = "sha256:" + "ab" * 32
PACKAGES = [
    DebianPackage(Path("z.deb"), "zlib1g", "1:1.2.13.dfsg-1", "amd64", "zlib", "cd" * 32),
    DebianPackage(Path("t.deb"), "tzdata", "2026f-0+deb12u1", "all", "tzdata", "ef" * 32),
]
WHEELS = {"pyyaml": "6.0.3", "aiohttp": "3.14.5"}
MODULES = {"helm.sh/helm/v3": "v3.22.0", "github.com/old/module": "v2.0.0+incompatible"}
DOCUMENT = make_sbom("0.1.0", DIGEST, "2026-01-01T00:00:00Z", PACKAGES, WHEELS, MODULES)


def test_each_component_has_a_package_url() -> None:
    assert [each["purl"] for each in DOCUMENT["components"]] == [
        "pkg:deb/debian/zlib1g@1%3A1.2.13.dfsg-1?arch=amd64&distro=bookworm",
        "pkg:deb/debian/tzdata@2026f-0%2Bdeb12u1?arch=all&distro=bookworm",
        "pkg:pypi/aiohttp@3.14.5",
        "pkg:pypi/pyyaml@6.0.3",
        "pkg:golang/github.com/old/module@v2.0.0%2Bincompatible",
        "pkg:golang/helm.sh/helm/v3@v3.22.0",
    ]


def test_references_are_unique_and_the_image_depends_on_all() -> None:
    references = [each["bom-ref"] for each in DOCUMENT["components"]]
    assert len(set(references)) == len(references)
    (dependency,) = DOCUMENT["dependencies"]
    assert dependency == {"ref": DOCUMENT["metadata"]["component"]["bom-ref"], "dependsOn": references}


def test_one_image_has_one_serial_number() -> None:
    other = make_sbom("0.1.0", "sha256:" + "00" * 32, "2026-01-01T00:00:00Z", PACKAGES, {}, {})
    same = make_sbom("0.1.0", DIGEST, "2026-01-01T00:00:00Z", [], {}, {})
    assert DOCUMENT["serialNumber"] == same["serialNumber"] != other["serialNumber"]
    assert (DOCUMENT["bomFormat"], DOCUMENT["specVersion"]) == ("CycloneDX", "1.6")
