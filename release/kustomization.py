"""The objects of a directory of config/, as `kubectl kustomize` prints them, for commands that must not need kubectl.

Only the fields of a kustomization that config/ uses are known; any other one is an error. tests/integration/release compares the
result with that of kubectl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from olmctl.suite.manifests import containers
from olmkit.api.meta import Object
from olmkit.sources.oci.reference import parse

_FILE = "kustomization.yaml"
_FIELDS = frozenset({"apiVersion", "kind", "resources", "images", "labels"})
_IMAGE_FIELDS = frozenset({"name", "newName", "newTag", "digest"})


def objects_of(directory: Path) -> list[Object]:
    """The objects, in the order in which the kustomization names them. Raises ValueError for a field that is not known."""
    spec: dict[str, Any] = yaml.safe_load((directory / _FILE).read_text())
    if unknown := sorted(spec.keys() - _FIELDS):
        raise ValueError(f"{directory / _FILE}: unknown fields {', '.join(unknown)}")
    objects = [each for name in spec["resources"] for each in _resource(directory / name)]
    for change in spec.get("images", ()):
        if unknown := sorted(change.keys() - _IMAGE_FIELDS):
            raise ValueError(f"{directory / _FILE}: unknown fields of images {', '.join(unknown)}")
        for container in containers(objects):
            container["image"] = _changed_image(container["image"], change)
    for labels in spec.get("labels", ()):
        if labels.keys() != {"pairs"}:
            raise ValueError(f"{directory / _FILE}: of the fields of labels only pairs is known")
        for each in objects:
            each["metadata"].setdefault("labels", {}).update(labels["pairs"])
    return objects


def _changed_image(image: str, change: Mapping[str, str]) -> str:
    """The image as an entry of `images` has it: a new tag or digest replaces both the tag and the digest."""
    found = parse(image)
    if found.written != change["name"]:
        return image
    version = image.removeprefix(found.written)
    if "newTag" in change or "digest" in change:
        version = f":{change['newTag']}" if "newTag" in change else ""
        version += f"@{change['digest']}" if "digest" in change else ""
    return change.get("newName", found.written) + version


def _resource(path: Path) -> Iterator[Object]:
    if path.is_dir():
        yield from objects_of(path)
    else:
        yield from (each for each in yaml.safe_load_all(path.read_text()) if each)
