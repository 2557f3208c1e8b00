"""`init NAME`: the olm.package blob that a new catalog begins with, as opm prints it."""

from __future__ import annotations

import argparse
import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmctl.catalog.output import add_form, fail, print_documents
from olmkit.fbc.catalog import PACKAGE
from olmkit.fbc.documents import MAX_DOCUMENT_BYTES
from olmkit.fbc.media_types import media_type
from olmkit.gocompat.text import quoted

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's parser."""
    parser = commands.add_parser(
        "init",
        help="print the blob of a new package",
        description="Print an olm.package blob: the beginning of a catalog. Write it to a file of the catalog's folder.",
    )
    parser.add_argument("name", metavar="NAME", help="the package's name")
    parser.add_argument(
        "-c", "--default-channel", metavar="CHANNEL", default="", help="where Operators without a channel look"
    )
    parser.add_argument(
        "-d", "--description", metavar="FILE", type=Path, help="a file that describes the package, as Markdown"
    )
    parser.add_argument("-i", "--icon", metavar="FILE", type=Path, help="an image: PNG, SVG, JPEG ...")
    add_form(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 when the blob is printed."""
    blob: dict[str, Any] = {"schema": PACKAGE, "name": arguments.name, "defaultChannel": arguments.default_channel}
    if not arguments.name:
        return fail("a package needs a name")
    if arguments.icon is not None:
        data = _content(arguments.icon)
        kind = media_type(data)
        if not kind.startswith("image/"):
            return fail(f"{arguments.icon}: detected invalid type {quoted(kind)}: not an image")
        blob["icon"] = {"base64data": base64.b64encode(data).decode(), "mediatype": kind}
    if arguments.description is not None:
        try:
            blob["description"] = _content(arguments.description).decode()
        except UnicodeDecodeError:
            return fail(f"{arguments.description}: is no text in UTF-8")
    print_documents([blob], arguments.output)
    return 0


def _content(path: Path) -> bytes:
    """A file, no more of it than a blob may hold."""
    with path.open("rb") as file:
        data = file.read(MAX_DOCUMENT_BYTES // 2 + 1)
    if len(data) > MAX_DOCUMENT_BYTES // 2:
        raise OSError(0, f"is larger than {MAX_DOCUMENT_BYTES // 2 // 1024**2} MiB, too large for a catalog", str(path))
    return data
