"""The operators as a catalog: writes their bundles, and the catalog that offers them, into a directory."""

import json
from pathlib import Path
from typing import Any

import yaml

from devcluster.images import Content
from devcluster.operators.images import Images
from devcluster.operators.manifests import CHANNEL, Bundle, bundles

Body = dict[str, Any]


def write_content(directory: Path, images: Images) -> Content:
    """Write catalog and bundles below a new directory."""
    found = bundles()
    for each in found:
        write_bundle(directory / "bundles" / each.package / each.version, each, images[each.name])
    for package in sorted({each.package for each in found}):
        versions = [each for each in found if each.package == package]
        path = directory / "catalog" / package / "catalog.json"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(blob) + "\n" for blob in _blobs(package, versions)))
    return Content(directory / "catalog", directory / "bundles")


def write_bundle(directory: Path, bundle: Bundle, image: str) -> None:
    """Write a bundle, whose container runs the image, into a new directory."""
    manifests, metadata = directory / "manifests", directory / "metadata"
    manifests.mkdir(parents=True)
    metadata.mkdir()
    (manifests / f"{bundle.package}.clusterserviceversion.yaml").write_text(_yaml(bundle.csv(image)))
    for crd in bundle.crds:
        (manifests / f"{crd['metadata']['name']}.yaml").write_text(_yaml(crd))
    prefix = "operators.operatorframework.io.bundle"
    annotations = {
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.metadata.v1": "metadata/",
        f"{prefix}.package.v1": bundle.package,
        f"{prefix}.channels.v1": CHANNEL,
        f"{prefix}.channel.default.v1": CHANNEL,
    }
    (metadata / "annotations.yaml").write_text(_yaml({"annotations": annotations}))


def _blobs(package: str, versions: list[Bundle]) -> list[Body]:
    entries = [{"name": each.name, **({"replaces": each.replaces} if each.replaces else {})} for each in versions]
    return [
        {
            "schema": "olm.package",
            "name": package,
            "defaultChannel": CHANNEL,
            "description": f"The operator {package}.",
        },
        {"schema": "olm.channel", "name": CHANNEL, "package": package, "entries": entries},
        *(_bundle_blob(each) for each in versions),
    ]


def _bundle_blob(bundle: Bundle) -> Body:
    """The olm.bundle blob. The push replaces the image by the one that it has pushed."""
    identity = {"type": "olm.package", "value": {"packageName": bundle.package, "version": bundle.version}}
    kinds = [{"type": "olm.gvk", "value": each} for each in bundle.provided()]
    return {
        "schema": "olm.bundle",
        "name": bundle.name,
        "package": bundle.package,
        "image": f"registry.example.com/bundles/{bundle.package}:v{bundle.version}",
        "properties": [identity, *kinds],
    }


def _yaml(body: Body) -> str:
    return yaml.safe_dump(body, sort_keys=False)
