"""The sample catalog with what `opm render` adds for people who browse it: the words of each ClusterServiceVersion, and icons."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content

_WORDS = (
    "displayName", "description", "keywords", "links", "maintainers", "maturity", "minKubeVersion", "provider", "installModes",
)  # fmt: skip
_ICONS = {
    "hello-operator": ("#2f6f5e", '<path d="M4 6h16v9H11l-4 4v-4H4z" fill="none" stroke="#fff" stroke-width="2"/>'),
    "notebook-operator": (
        "#8a4b2a",
        '<path d="M7 4h11v16H7zM7 8h11M10 4v16" fill="none" stroke="#fff" stroke-width="2"/>',
    ),
    "party-operator": (
        "#5b3f8f",
        '<circle cx="12" cy="9" r="5" fill="#fff"/><path d="M12 14v7" stroke="#fff" stroke-width="2"/>',
    ),
}


def write(directory: Path) -> Content:
    """Write the catalog below a directory; its bundles are the samples."""
    content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
    for package in content.packages():
        blobs = [_described(content, blob) for blob in content.blobs(package)]
        path = directory / package / "catalog.json"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(map(json.dumps, blobs)))
    return Content(directory, content.bundles)


def _described(content: Content, blob: dict[str, Any]) -> dict[str, Any]:
    if blob["schema"] == "olm.package" and blob["name"] in _ICONS:
        return {**blob, "icon": _icon(*_ICONS[blob["name"]])}
    if blob["schema"] != "olm.bundle" or (words := _words_of(content, blob)) is None:
        return blob
    return {**blob, "properties": [*blob["properties"], {"type": "olm.csv.metadata", "value": words}]}


def _icon(colour: str, shape: str) -> dict[str, str]:
    start = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">'
    drawn = f'{start}<rect width="24" height="24" rx="5" fill="{colour}"/>{shape}</svg>'
    return {"base64data": base64.b64encode(drawn.encode()).decode(), "mediatype": "image/svg+xml"}


def _words_of(content: Content, blob: dict[str, Any]) -> dict[str, Any] | None:
    """The value of olm.csv.metadata; None if the bundle has no ClusterServiceVersion."""
    directory = content.bundle_directory(blob)
    found = list(directory.glob("manifests/*clusterserviceversion.yaml")) if directory is not None else []
    if not found:
        return None
    csv = yaml.safe_load(found[0].read_text())
    words = {name: csv["spec"][name] for name in _WORDS if name in csv["spec"]}
    definitions = csv["spec"].get("customresourcedefinitions", {})
    return {**words, "annotations": csv["metadata"].get("annotations", {}), "crdDescriptions": definitions}
