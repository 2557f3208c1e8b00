"""The file PROJECT, in which kubebuilder keeps the facts of a project. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from olmctl.project.manifests import BadInput, WrongUsage
from olmkit.gocompat import documents
from olmkit.gocompat.parse_errors import ParseError

FILE: Final = Path("PROJECT")
_UNKNOWN: Final = "unknown"
_MAX_BYTES: Final = 1024**2


@dataclass(frozen=True)
class Project:
    """The facts of a project that a bundle needs."""

    package: str
    layout: str = _UNKNOWN


def read_project(package: str) -> Project:
    """The package that is given, else the name of the project; and the layout of the project. Raises BadInput."""
    if not FILE.is_file():
        if not package:
            raise WrongUsage("--package <name> must be set if PROJECT config file is not present")
        return Project(_checked(package))
    data = FILE.read_bytes()[:_MAX_BYTES]
    try:
        found = documents.read(data)
    except ParseError as error:
        raise BadInput(f"{FILE}:{max(error.line, 1)}: is no YAML: {error.text}") from None
    content = found[0] if found and isinstance(found[0], dict) else {}
    name = package or content.get("projectName")
    if not (isinstance(name, str) and name):
        raise WrongUsage('--package <name> must be set if "projectName" is not set in the PROJECT config file')
    layout = content.get("layout")
    plugins = [layout] if isinstance(layout, str) else layout if isinstance(layout, list) else []
    return Project(_checked(name), ",".join(str(each) for each in plugins))


def _checked(package: str) -> str:
    if "/" in package or package.startswith(".") or not package.isprintable():
        raise WrongUsage(f"{package!r} is no name of a package")
    return package
