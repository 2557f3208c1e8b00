"""Names in a project, and the titles and files that are made of them. Pure."""

from __future__ import annotations

import re
from typing import Final

from olmctl.project.manifests import Manifest

MAX_FILE_NAME_BYTES: Final = 255
_SEPARATORS: Final = re.compile(r"[.\-_ ]+")
_WORD: Final = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])")


def display_name(package: str) -> str:
    """A title: `lamp-operator` -> `Lamp Operator`, `myLamp` -> `My Lamp`."""
    words = " ".join(_SEPARATORS.sub(" ", package).split())
    return " ".join(word[:1].upper() + word[1:] for word in _WORD.sub(" ", words).split())


def object_file_name(manifest: Manifest) -> str:
    """The name of an object's file: NAME_GROUP_VERSION_KIND.yaml, without the core group. Raises BadInput."""
    parts = (manifest.name, *([manifest.group] if manifest.group else []), manifest.version, manifest.kind.lower())
    return _checked(manifest, f"{'_'.join(parts)}.yaml")


def crd_file_name(manifest: Manifest, group: str, plural: str) -> str:
    """The name of a CustomResourceDefinition's file: GROUP_PLURAL.yaml. Raises BadInput."""
    return _checked(manifest, f"{group}_{plural}.yaml") if group and plural else object_file_name(manifest)


def _checked(manifest: Manifest, name: str) -> str:
    if not manifest.name:
        raise manifest.refuse(("metadata",), "has no name")
    if "/" in name or "\\" in name or name.startswith(".") or not name.isprintable():
        raise manifest.refuse(("metadata", "name"), f"no file can have the name {name!r}")
    if len(name.encode()) > MAX_FILE_NAME_BYTES:
        raise manifest.refuse(("metadata", "name"), "its name is too long for a file")
    return name
