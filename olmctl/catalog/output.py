"""The printing of documents in the format of the option --output. Called by the commands of olmctl.catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from olmkit.fbc.serialize import Format, serialize


def print_documents(values: Iterable[Mapping[str, Any]], form: Format) -> None:
    """Write the documents to standard output. The caller flushes it."""
    for value in values:
        if sys.stdout.isatty():
            sys.stdout.write(serialize(value, form).decode())
        else:
            sys.stdout.buffer.write(serialize(value, form))
