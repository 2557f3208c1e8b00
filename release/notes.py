"""`python -m release.notes TAG`: prints the section of CHANGELOG.md for the version that a tag names.

Called by the workflow of a release, before anything is published: a tag that is not of the version in pyproject.toml, and a
version without a section, are refused. Writes nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from devcluster.processes import REPOSITORY
from release.suite import suite_version


def release_notes(tag: str, version: str, changelog: str) -> str:
    """The section `## <version>` of a changelog, without its heading.

    `tag` has to be `v<version>`. Raises ValueError with what to do.
    """
    if tag != f"v{version}":
        raise ValueError(f"the tag {tag} is not v{version}, the version in pyproject.toml: change one of them")
    section = re.search(rf"^## {re.escape(version)}( [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    text = section[2].strip() if section else ""
    if not text:
        raise ValueError(f'CHANGELOG.md says nothing about {version}: rename the heading "Unreleased" to "{version}"')
    return f"{text}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the section. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m release.notes", description="Print what a release brings.")
    parser.add_argument("tag", metavar="TAG", help="the tag of the release, such as v0.2.0")
    given = parser.parse_args(arguments)
    try:
        notes = release_notes(given.tag, suite_version(), (REPOSITORY / "CHANGELOG.md").read_text())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(notes, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
