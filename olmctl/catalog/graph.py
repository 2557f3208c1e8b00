"""`olm catalog graph DIR --package P`: print the upgrade graph of a package, for people or for Mermaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from olmctl.authoring import graph_drawing
from olmctl.authoring.directory import read_directory
from olmctl.authoring.graph_drawing import DrawingInput
from olmctl.commands import fail
from olmctl.directory_files import GIVE_CATALOG, check_directory
from olmctl.terminal import clean_lines
from olmctl.terminal_output import write_document
from olmkit.fbc import catalog
from olmkit.fbc.blobs import Blob
from olmkit.fbc.errors import BadBlob, BadCatalog
from olmkit.gocompat.text import quoted

WRITERS = {"mermaid": graph_drawing.mermaid, "text": graph_drawing.plain_text}
"""The functions that write a graph, by its format: those of olmctl.cli.options.GRAPH_FORMATS."""
_MAX_LISTED_NAMES = 10
"""Names that an error lists."""


def graph(directory: str, package: str, channel: str | None, output: str) -> int:
    """Print the upgrade graph of a package."""
    root = Path(directory)
    check_directory(root, GIVE_CATALOG)
    try:
        packages: set[str] = set()
        parts = _parts(_of_package(read_directory(root), package, packages))
    except (BadBlob, BadCatalog) as error:
        return fail(error)
    if package not in packages:
        return fail(_unknown("package", package, f"the catalog {root}", packages))
    if channel is not None:
        names = {each.name for each in parts.channels}
        if channel not in names:
            return fail(_unknown("channel", channel, f"package {quoted(package)}", names))
        parts = replace(parts, channels=[each for each in parts.channels if each.name == channel])
    write_document(clean_lines(WRITERS[output](graph_drawing.draw(package, parts))))
    return 0


def _of_package(blobs: Iterable[Blob], name: str, packages: set[str]) -> Iterator[Blob]:
    """The blobs of the package. Adds the names of all packages to `packages`."""
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
    except BadBlob:  # drawn without a version; `olm catalog validate` reports the error
        return ""


def _unknown(what: str, name: str, where: str, known: set[str]) -> str:
    shown = get_close_matches(name, sorted(known), n=3) or sorted(known)[:_MAX_LISTED_NAMES]
    listed = ", ".join(quoted(each) for each in shown)
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"{where} has no {what} {quoted(name)}: it has {listed}{more}" if known else f"{where} has no {what}"
