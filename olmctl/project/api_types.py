"""Finds the Go types of a project's custom resources, and completes the descriptions of these in a ClusterServiceVersion.

The types of version v1 of GROUP.example.com are in DIR/GROUP/v1 or DIR/v1, as kubebuilder writes them. No link below DIR is
followed, and no other directory is read. Files that cannot be read are named, and the others are used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from olmctl.project.api_descriptions import ApiDescription, Placed, describe
from olmctl.project.go_types import BadGo, read_types
from olmctl.project.manifests import WrongUsage
from olmctl.project.names import display_name
from olmkit.api.names import is_dns1123_label

DEFAULT_DIRECTORIES: Final = ("api", "apis")
MAX_FILES: Final = 500
"""Files of one package."""
MAX_FILE_BYTES: Final = 2 * 1024**2
MAX_BYTES: Final = 16 * 1024**2
"""Bytes of all packages."""
_LISTS: Final = ("specDescriptors", "statusDescriptors")


def described(owned: Sequence[Mapping[str, Any]], directory: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The owned definitions with what the Go types below the directory say, and notes about what was not read.

    Without a directory, those of DEFAULT_DIRECTORIES are used, if one is there. Raises WrongUsage.
    """
    if directory and not Path(directory).is_dir():
        raise WrongUsage(f"--apis-dir {directory}: no such directory")
    root = Path(directory) if directory else _default()
    if root is None:
        return [dict(each) for each in owned], []
    packages = _Packages(root, is_asked_for=bool(directory))
    found: list[tuple[int, dict[str, Any]]] = []
    for each in owned:
        description = packages.description(each)
        found.append((description.order, _merged(each, description.value)) if description else (0, dict(each)))
    if any(order for order, _ in found):
        found.sort(key=lambda each: each[0])
    return [value for _, value in found], list(dict.fromkeys(packages.notes))


def _default() -> Path | None:
    return next((path for each in DEFAULT_DIRECTORIES if _is_directory(path := Path(each))), None)


def _is_directory(path: Path) -> bool:
    """Report whether the path is a directory, and no link."""
    return path.is_dir() and not path.is_symlink()


def _merged(base: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    """The definition with what the types say. What they do not say stays as in the base, such as descriptors of other fields."""
    value = {**base, **{key: each for key, each in types.items() if each}}
    value["displayName"] = types["displayName"] or base.get("displayName") or display_name(str(base.get("kind") or ""))
    for name in _LISTS:
        new = types[name]
        paths = {each["path"] for each in new}
        kept = [each for each in base.get(name) or [] if not isinstance(each, dict) or each.get("path") not in paths]
        if new or kept:
            value[name] = [*new, *kept]
    return value


class _Packages:
    """The packages of Go types below a directory, each read once."""

    def __init__(self, root: Path, *, is_asked_for: bool) -> None:
        self.notes: list[str] = []
        self._root = root
        self._is_asked_for = is_asked_for
        self._types: dict[Path, dict[str, Placed]] = {}
        self._bytes = 0

    def description(self, owned: Mapping[str, Any]) -> ApiDescription | None:
        """The description of an owned definition; None if no type says anything about it."""
        kind, version = str(owned.get("kind") or ""), str(owned.get("version") or "")
        group = str(owned.get("name") or "").partition(".")[2]
        directory = self._directory(group.partition(".")[0], version)
        if directory is None:
            if self._is_asked_for:
                self.notes.append(
                    f"{self._root} has no directory for version {version} of {group}: {kind} is not described"
                )
            return None
        if directory not in self._types:
            self._types[directory] = self._read(directory)
        types = self._types[directory]
        if kind not in types:
            self.notes.append(f"{directory} declares no struct {kind}: it is not described")
            return None
        found = describe(kind, types)
        self.notes += found.notes
        return found

    def _directory(self, group: str, version: str) -> Path | None:
        if not (is_dns1123_label(group) and is_dns1123_label(version)):
            return None
        for path in (self._root / group / version, self._root / version):
            above = path.parent if path.parent != self._root else path
            if _is_directory(path) and not above.is_symlink():
                return path
        return None

    def _read(self, directory: Path) -> dict[str, Placed]:
        """The struct types of a package."""
        types: dict[str, Placed] = {}
        names = sorted(each.name for each in directory.iterdir() if each.suffix == ".go")
        names = [each for each in names if not each.endswith("_test.go")]
        if len(names) > MAX_FILES:
            self.notes.append(f"{directory} has {len(names):,} files, and the first {MAX_FILES} are read")
        for name in names[:MAX_FILES]:
            path = directory / name
            try:
                for each in read_types(self._text(path)):
                    types.setdefault(each.name, Placed(each, str(path)))
            except BadGo as error:
                self.notes.append(f"{path}{f':{error.line}' if error.line else ''}: is not read: {error}")
        return types

    def _text(self, path: Path) -> str:
        """The text of a file. Raises BadGo."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            why = "it is a link" if path.is_symlink() else error.strerror or "it cannot be opened"
            raise BadGo(why, 0) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise BadGo("it is no file", 0)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        self._bytes += len(data)
        if len(data) > MAX_FILE_BYTES or self._bytes > MAX_BYTES:
            raise BadGo(f"more than {MAX_FILE_BYTES:,} bytes of a file, or {MAX_BYTES:,} of all, are not read", 0)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise BadGo("it is no UTF-8", 0) from None
