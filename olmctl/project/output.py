"""Writes the files of a bundle: those that differ, each at once by a rename; and removes files of earlier runs.

A file that this command, or operator-sdk, has generated is recognised by its name and its bytes: those that its object would
get. Never follows a link at the place of a file or out of the project, and never removes a file that somebody has written or
changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from olmctl.authoring.yaml_writer import kubernetes_document
from olmctl.file_replacement import make_directory, replace_file
from olmctl.project.manifests import BadInput, read_manifests
from olmctl.project.names import crd_file_name, object_file_name

_DUPLICATE = "dup"


def write_files(files: Mapping[Path, str], directory: Path) -> list[str]:
    """Write the files that differ from what is there; returns their paths. `directory` is the one that was named for them.

    Raises OSError, also before the first file is written: a link may lead one out of this directory, or out of the current one.
    """
    for parent in sorted({path.parent for path in files}):
        make_directory(parent, directory, Path())
    changed = []
    for path, text in files.items():
        data = text.encode()
        if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
            replace_file(path, data)
            changed.append(path.as_posix())
    return changed


def stale_files(directory: Path, written: frozenset[str], *, is_generated: bool) -> tuple[list[Path], list[Path]]:
    """The files of a directory of manifests that are not `written` now: those of an earlier run, and those of somebody else.

    `is_generated` says whether an earlier run is known to have written into the directory.
    """
    earlier: list[Path] = []
    foreign: list[Path] = []
    if directory.is_dir():
        for path in sorted(directory.iterdir()):
            if path.name not in written:
                (earlier if is_generated and _is_generated(path) else foreign).append(path)
    return earlier, foreign


def _is_generated(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.suffix != ".yaml":
        return False
    data = path.read_bytes()
    try:
        manifests = read_manifests(data, path.name)
        if len(manifests) != 1:
            return False
        (manifest,) = manifests
        spec = manifest.body.get("spec")
        names = spec.get("names") if isinstance(spec, dict) else None
        own = object_file_name(manifest)
        if manifest.kind == "CustomResourceDefinition" and isinstance(spec, dict) and isinstance(names, dict):
            own = crd_file_name(manifest, str(spec.get("group")), str(names.get("plural")))
        if manifest.kind == "ClusterServiceVersion":
            own = path.name if path.name.endswith(".clusterserviceversion.yaml") else ""
    except BadInput:
        return False
    name = path.name
    if name.startswith(_DUPLICATE) and name != own:
        name = name.partition("_")[2]
    return name == own and "namespace" not in manifest.metadata and data == kubernetes_document(manifest.body).encode()
