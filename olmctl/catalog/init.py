"""`olm catalog init NAME`: print the olm.package blob of a new package, as `opm init` does."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from olmctl.authoring.media_types import media_type
from olmctl.authoring.serialize import Format
from olmctl.catalog.output import print_documents
from olmctl.commands import WRONG_USAGE, CommandError, fail
from olmkit.fbc.catalog import PACKAGE
from olmkit.fbc.documents import MAX_DOCUMENT_BYTES
from olmkit.gocompat.text import quoted


def init(name: str, default_channel: str, description: Path | None, icon: Path | None, output: Format) -> int:
    """Print the olm.package blob of the package NAME. Save it as a file in the catalog's directory."""
    blob: dict[str, Any] = {"schema": PACKAGE, "name": name, "defaultChannel": default_channel}
    if not name:
        raise CommandError(WRONG_USAGE, "a package needs a name")
    if icon is not None:
        data = _content(icon)
        kind = media_type(data)
        if not kind.startswith("image/"):
            return fail(f"{icon}: detected invalid type {quoted(kind)}: not an image")
        blob["icon"] = {"base64data": base64.b64encode(data).decode(), "mediatype": kind}
    if description is not None:
        try:
            blob["description"] = _content(description).decode()
        except UnicodeDecodeError:
            return fail(f"{description}: is no text in UTF-8")
    print_documents([blob], output)
    return 0


def _content(path: Path) -> bytes:
    """The content of a file. Raises CommandError, and OSError for one that is larger than a blob may be."""
    if not path.exists():
        raise CommandError(WRONG_USAGE, f"{path}: there is no such file")
    with path.open("rb") as file:
        data = file.read(MAX_DOCUMENT_BYTES // 2 + 1)
    if len(data) > MAX_DOCUMENT_BYTES // 2:
        raise OSError(0, f"is larger than {MAX_DOCUMENT_BYTES // 2 // 1024**2} MiB, too large for a catalog", str(path))
    return data
