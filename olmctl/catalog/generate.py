"""`generate dockerfile DIR`: the Dockerfile that makes an image of a catalog's folder (formats 1.8)."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from olmctl.catalog.output import fail
from olmkit.fbc.checks.pull_specs import pull_spec_error
from olmkit.gocompat.text import quoted

if TYPE_CHECKING:
    from argparse import _SubParsersAction

_SCRATCH = "scratch"
_PLAIN_NAME = re.compile(r"[\w.-]+")
_UNNAMEABLE = re.compile(r"""[$*?\[\]\\"'\x00-\x1f\x7f]""")
"""What a Dockerfile gives a meaning of its own, also in the form of JSON."""


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's parser, with one below it for each thing that can be generated."""
    parser = commands.add_parser(
        "generate",
        help="write a file that building a catalog needs",
        description="Write what building a catalog needs.",
    )
    things = parser.add_subparsers(metavar="THING", required=True)
    dockerfile = things.add_parser(
        "dockerfile",
        help="write the Dockerfile of a catalog image",
        description="Write DIR.Dockerfile beside DIR. Build it with the folder that holds both as context.",
    )
    dockerfile.add_argument("directory", metavar="DIR", type=Path, help="the catalog's folder")
    dockerfile.add_argument(
        "-i", "--binary-image", metavar="IMAGE", default=_SCRATCH, help="the image to build on (default scratch: none)"
    )
    dockerfile.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 when the file is written."""
    given, image = arguments.directory, arguments.binary_image
    folder = given.absolute() if given.name not in ("", "..") else given.resolve()
    if not given.exists():
        return fail(f"stat {given}: no such file or directory")
    if not given.is_dir():
        return fail(f"provided root path {quoted(str(given))} is not a directory")
    if not folder.name or _UNNAMEABLE.search(folder.name):
        return fail(f"a Dockerfile cannot name a folder {quoted(folder.name or str(folder))}: give it another name")
    if image != _SCRATCH and (words := pull_spec_error(image)):
        return fail(f"invalid image pull spec {quoted(image)}: {words}")
    path = folder.parent / f"{folder.name}.Dockerfile"
    try:
        _write(path, _text(folder.name, image))
    except FileExistsError:
        return fail(f"path {quoted(str(path))}: file already exists: remove it, or keep it as it is")
    return 0


def _text(name: str, image: str) -> str:
    added = f"{name} /configs" if _PLAIN_NAME.fullmatch(name) else json.dumps([name, "/configs"], ensure_ascii=False)
    return f"""FROM {image}

# The files of the catalog, where the label says that they are.
ADD {added}
LABEL operators.operatorframework.io.index.configs.v1=/configs
"""


def _write(path: Path, text: str) -> None:
    """A file that is not there yet; none is left when the disk is full."""
    with path.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
