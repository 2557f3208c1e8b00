"""What commands of olmkit.fbc that print documents share: the flag -o, and the printing. Called by its siblings only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from olmkit.fbc.serialize import FORMATS, Format, serialize
from olmkit.gocompat.text import quoted


def add_form(parser: argparse.ArgumentParser) -> None:
    """The flag -o, also --output."""
    parser.add_argument(
        "-o", "--output", metavar="json|yaml", type=_form, default="json", help="form of the documents (default json)"
    )


def print_documents(values: Iterable[Mapping[str, Any]], form: Format) -> None:
    """All of them to stdout, which is left to be flushed by the caller."""
    for value in values:
        sys.stdout.buffer.write(serialize(value, form))


def warn(sentence: str) -> None:
    """A line to stderr that changes nothing."""
    print(f"warning: {sentence}", file=sys.stderr)


def fail(sentence: object) -> int:
    """A line to stderr, and the exit status that goes with it."""
    print(sentence, file=sys.stderr)
    return 1


def _form(given: str) -> Format:
    for form in FORMATS:
        if given == form:
            return form
    raise argparse.ArgumentTypeError(f"invalid --output value {quoted(given)}, expected (json|yaml)")
