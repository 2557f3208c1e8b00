"""Selects the packages of requirements.lock that the suite needs at run time.

The lock file has the packages of the developers too; its comments `# via` say which package requires which. Pure. Only
the standard library is used, because it runs before anything is installed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

INSTALLERS = frozenset({"pip", "setuptools"})
"""They build and install the suite in the build stage, and are not in the image."""
DEVELOPMENT = frozenset({"debugpy"})
"""They are in the stage `development` alone."""
NOT_IN_IMAGE = INSTALLERS | DEVELOPMENT
EXTRA = "console"
"""The extra that the image has."""
LEFT_OUT = frozenset(
    {
        # common-expression-language requires them for its own command line, which nobody calls.
        *(
            "annotated-doc",
            "prompt-toolkit",
            "pygments",
            "rich",
            "shellingham",
            "typer",
            "wcwidth",
        ),
        # The image has Debian's time zones.
        "tzdata",
    }
)
"""Packages that others require, but that no code of the suite imports."""

_REQUIREMENT = re.compile(r"([a-z0-9._-]+)==(\S+)")
_PARENT = re.compile(r"^    #(?: via)?(?:   |) ?([A-Za-z0-9._-]+)(?: \(pyproject\.toml\))?$", re.MULTILINE)


def runtime_lock(lock: str, project: str) -> str:
    """The part of the lock file for the image: what pyproject.toml (`project`) requires, directly or not, and NOT_IN_IMAGE.

    Without LEFT_OUT. Raises KeyError if the lock file lacks a package of pyproject.toml.
    """
    blocks = _blocks(lock)
    wanted = _closure(blocks, _direct(project)) - LEFT_OUT | NOT_IN_IMAGE
    return "".join(block for name, block in blocks.items() if name in wanted)


def versions(lock: str) -> dict[str, str]:
    """The version of each package of a lock file."""
    return {found[1]: found[2] for found in map(_REQUIREMENT.match, _blocks(lock).values()) if found}


def _blocks(lock: str) -> dict[str, str]:
    """Name -> the lines of the requirement, its hashes and comments."""
    found = {}
    for block in re.split(r"(?m)^(?=[a-z0-9])", lock):
        if match := _REQUIREMENT.match(block):
            found[match[1]] = "".join(f"{line}\n" for line in block.splitlines() if line.startswith(("    ", match[1])))
    return found


def _direct(project: str) -> list[str]:
    found = tomllib.loads(project)["project"]
    requirements = [*found["dependencies"], *found.get("optional-dependencies", {}).get(EXTRA, ())]
    return [re.split(r"[^A-Za-z0-9._-]", each)[0].lower() for each in requirements]


def _closure(blocks: Mapping[str, str], names: list[str]) -> set[str]:
    requires: dict[str, set[str]] = {name: set() for name in blocks}
    for name, block in blocks.items():
        for parent in _PARENT.findall(block):
            requires.setdefault(parent.lower(), set()).add(name)
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names.extend(requires[name])
    return found
