"""`olm catalog generate dockerfile DIR`: write the Dockerfile of a catalog image (formats 1.8)."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import click

from olmctl.commands import SETTINGS, WRONG_USAGE, CommandError, fail
from olmctl.directory_files import check_directory
from olmkit.fbc.checks.pull_specs import pull_spec_error
from olmkit.gocompat.text import quoted

_SCRATCH = "scratch"
_PLAIN_NAME = re.compile(r"[\w.-]+")
_UNSAFE_CHARACTERS = re.compile(r"""[$*?\[\]\\"'\x00-\x1f\x7f]""")
"""Characters with a special meaning in a Dockerfile, also in its JSON form."""


@click.group("generate", context_settings=SETTINGS, subcommand_metavar="COMMAND")
def generate() -> None:
    """Generate files for building a catalog image."""


def dockerfile(directory: str, binary_image: str) -> int:
    """Write DIR.Dockerfile next to DIR. Build it with the directory that contains both as the context."""
    given = Path(directory)
    absolute = given.absolute() if given.name not in ("", "..") else given.resolve()
    check_directory(given, "give the directory of a catalog")
    if not absolute.name or _UNSAFE_CHARACTERS.search(absolute.name):
        return fail(
            f"a Dockerfile cannot name a directory {quoted(absolute.name or str(absolute))}: give it another name"
        )
    if binary_image != _SCRATCH and (error := pull_spec_error(binary_image)):
        raise CommandError(WRONG_USAGE, f"invalid image pull spec {quoted(binary_image)}: {error}")
    path = absolute.parent / f"{absolute.name}.Dockerfile"
    try:
        _write(path, _text(absolute.name, binary_image))
    except FileExistsError:
        return fail(f"path {quoted(str(path))}: file already exists: remove it to write it again")
    return 0


def _text(name: str, image: str) -> str:
    added = f"{name} /configs" if _PLAIN_NAME.fullmatch(name) else json.dumps([name, "/configs"], ensure_ascii=False)
    return f"""FROM {image}

# The label names the directory of the catalog's files.
ADD {added}
LABEL operators.operatorframework.io.index.configs.v1=/configs
"""


def _write(path: Path, text: str) -> None:
    """Create the file. Raises FileExistsError if it exists; removes it again if it cannot be written whole."""
    with path.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
