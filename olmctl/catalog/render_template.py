"""`olm catalog render-template [basic|semver] [FILE]`: print the catalog that a template makes, as `opm alpha render-template`.

The images of bundles that the template names are pulled. Nothing is printed unless all of them can be rendered.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click

from olmctl.authoring.catalog_check import CatalogCheck
from olmctl.authoring.serialize import Format
from olmctl.authoring.template import SEMVER, TYPES, BadTemplate, Template
from olmctl.catalog.output import print_sorted
from olmctl.catalog.render import RenderError, bundle_blob, migrated_blob
from olmctl.commands import FAILED, WRONG_USAGE, CommandError, warn
from olmctl.terminal import clean_lines
from olmkit.errors import OlmError
from olmkit.fbc.blobs import Blob
from olmkit.fbc.bundle_files import BadBundleFiles
from olmkit.fbc.documents import MAX_DOCUMENT_BYTES
from olmkit.fbc.errors import BadBlob
from olmkit.gocompat.text import quoted

STDIN = "-"


def render_template(arguments: Sequence[str], output: Format, migrate_level: str, **access: Any) -> int:
    """Print the catalog. Raises CommandError, UsageError, OSError."""
    kind, file = _named(arguments)
    template = read_template(file)
    if kind and TYPES[kind] != template.schema:
        raise CommandError(FAILED, f"{file}: is a template of schema {template.schema}, and {kind} is {TYPES[kind]}")
    pulled = cache(lambda image: _bundle(file, image, access))
    try:
        blobs = [migrated_blob(each, migrate_level) for each in template.rendered(pulled)]
    except (BadTemplate, BadBundleFiles) as error:
        raise CommandError(FAILED, clean_lines(f"{file}: {error}")) from None
    if problem := _problem(blobs):
        where = "the versions of the template" if template.schema == SEMVER else file
        warn(clean_lines(f"opm would not accept this catalog: correct {where}: {problem}"))
    print_sorted(blobs, output)
    return 0


def read_template(file: str) -> Template:
    """The template in a file, or on standard input. Raises CommandError, OSError."""
    if file == STDIN:
        data = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
    else:
        try:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_DOCUMENT_BYTES + 1)
        except FileNotFoundError:
            raise CommandError(WRONG_USAGE, f"{file}: there is no such file") from None
    if len(data) > MAX_DOCUMENT_BYTES:
        raise CommandError(FAILED, f"{file}: has more than {MAX_DOCUMENT_BYTES // 1024**2} MiB, and no template does")
    try:
        return Template.read(data)
    except BadTemplate as error:
        raise CommandError(FAILED, clean_lines(f"{file}: {error}")) from None


def _named(arguments: Sequence[str]) -> tuple[str, str]:
    """The type, "" if the schema says it, and the file. Raises UsageError."""
    if len(arguments) > 2:
        raise click.UsageError("give a type and a file at most")
    if len(arguments) == 2 and arguments[0] not in TYPES:
        raise click.UsageError(f"invalid template type {quoted(arguments[0])}, must be one of {', '.join(TYPES)}")
    if len(arguments) == 2:
        return arguments[0], arguments[1]
    first = arguments[0] if arguments else STDIN
    return (first, STDIN) if first in TYPES else ("", first)


def _bundle(file: str, image: str, access: Any) -> Blob:
    """The blob of the bundle in an image. Raises CommandError."""
    try:
        return bundle_blob(image, **access)
    except (*RenderError, OlmError) as error:
        raise CommandError(FAILED, clean_lines(f"{file}: render {quoted(image)}: {error}")) from None


def _problem(blobs: Sequence[Blob]) -> str:
    """opm's message for the catalog; "" if it is valid."""
    check = CatalogCheck()
    try:
        for each in blobs:
            check.add(each.schema, each.value)
    except BadBlob as error:
        return str(error)
    return check.error()
