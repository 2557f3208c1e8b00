"""The bill of materials of the image: its Debian packages, wheels and Go modules, as CycloneDX 1.6. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from release.debian_packages import RELEASE_NAME, DebianPackage
from release.suite import SUITE


def make_sbom(
    version: str,
    digest: str,
    time: str,
    packages: Iterable[DebianPackage],
    wheels: Mapping[str, str],
    modules: Mapping[str, str],
) -> dict[str, Any]:
    """The document for the image with this digest (`sha256:...`), made at `time` (RFC 3339). `wheels`: name -> version;
    `modules`: path of a Go module -> version."""
    image_reference = f"pkg:oci/{SUITE}@{quote(digest, safe='')}?tag={quote(version)}"
    components = [_debian(package) for package in packages] + [_wheel(*each) for each in sorted(wheels.items())]
    components += [_module(*each) for each in sorted(modules.items())]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, image_reference)}",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "container",
                "bom-ref": image_reference,
                "name": SUITE,
                "version": version,
                "purl": image_reference,
                "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}],
            },
        },
        "components": components,
        "dependencies": [{"ref": image_reference, "dependsOn": [each["bom-ref"] for each in components]}],
    }


def _debian(package: DebianPackage) -> dict[str, Any]:
    version = quote(package.version, safe="")
    purl = f"pkg:deb/debian/{quote(package.name)}@{version}?arch={package.architecture}&distro={RELEASE_NAME}"
    hashes = [{"alg": "SHA-256", "content": package.sha256}]
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "hashes": hashes,
    }


def _wheel(name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{quote(version)}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _module(path: str, version: str) -> dict[str, Any]:
    purl = f"pkg:golang/{path}@{quote(version)}"
    return {"type": "library", "bom-ref": purl, "name": path, "version": version, "purl": purl}
