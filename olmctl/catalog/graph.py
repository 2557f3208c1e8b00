"""`graph DIR --package P`: the upgrade graph of a package, to be drawn by Mermaid or Graphviz."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from olmctl.catalog.output import fail
from olmkit.fbc import catalog, graph_drawing
from olmkit.fbc.blobs import Blob
from olmkit.fbc.errors import BadBlob, BadCatalog
from olmkit.fbc.folder import read_folder
from olmkit.fbc.graph_drawing import DrawingInput
from olmkit.gocompat.text import quoted

if TYPE_CHECKING:
    from argparse import _SubParsersAction

_WRITERS = {"mermaid": graph_drawing.mermaid, "dot": graph_drawing.dot}
_SHOWN = 10
"""Names that a refusal lists."""


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's parser."""
    parser = commands.add_parser(
        "graph",
        help="draw the upgrade graph of a package",
        description="Print the upgrade graph of a package: what may be updated to what, and why.",
    )
    parser.add_argument("directory", metavar="DIR", type=Path, help="the catalog's folder; .indexignore is minded")
    parser.add_argument("--package", metavar="P", required=True, help="the package")
    parser.add_argument("--channel", metavar="C", help="only this channel")
    parser.add_argument("-o", "--output", choices=tuple(_WRITERS), default="mermaid", help="for what (default mermaid)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 when the graph is printed."""
    root, name, channel = arguments.directory, arguments.package, arguments.channel
    if not root.is_dir():
        missing = f"stat {root}: no such file or directory"
        return fail(f"{quoted(str(root))} is not a directory" if root.exists() else missing)
    try:
        packages: set[str] = set()
        parts = _parts(_of_package(read_folder(root), name, packages))
    except (BadBlob, BadCatalog) as error:
        return fail(error)
    if name not in packages:
        return fail(_unknown("package", name, f"the catalog {root}", packages))
    if channel is not None:
        names = {each.name for each in parts.channels}
        if channel not in names:
            return fail(_unknown("channel", channel, f"package {quoted(name)}", names))
        parts = replace(parts, channels=[each for each in parts.channels if each.name == channel])
    sys.stdout.write(_WRITERS[arguments.output](graph_drawing.draw(name, parts)))
    return 0


def _of_package(blobs: Iterable[Blob], name: str, packages: set[str]) -> Iterator[Blob]:
    """Those of the package; `packages` grows by the names of all."""
    for each in blobs:
        package = each.name if each.schema == catalog.PACKAGE else each.package
        if package:
            packages.add(package)
        if package == name:
            yield each


def _parts(blobs: Iterable[Blob]) -> DrawingInput:
    """Raises BadBlob."""
    package, channels, versions, deprecations = None, [], {}, []
    for each in blobs:
        match each.schema:
            case catalog.PACKAGE:
                package = catalog.package(each.value)
            case catalog.CHANNEL:
                channels.append(catalog.channel(each.value))
            case catalog.BUNDLE:
                versions[each.name] = _version(catalog.bundle(each.value))
            case catalog.DEPRECATIONS:
                deprecations.append(catalog.deprecations(each.value))
    return DrawingInput(package, channels, versions, deprecations)


def _version(bundle: catalog.Bundle) -> str:
    try:
        return bundle.version()[0]
    except BadBlob:  # drawn all the same; `validate` says what is wrong
        return ""


def _unknown(what: str, name: str, where: str, known: set[str]) -> str:
    there = get_close_matches(name, sorted(known), n=3) or sorted(known)[:_SHOWN]
    listed = ", ".join(quoted(each) for each in there)
    more = f" and {len(known) - len(there)} more" if len(known) > len(there) else ""
    return f"{where} has no {what} {quoted(name)}: it has {listed}{more}" if known else f"{where} has no {what}"
