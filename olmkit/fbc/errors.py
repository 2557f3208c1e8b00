"""The errors of a catalog's files. Raised by olmkit.fbc; catalogd.ingest and the commands of olmctl report them. Pure."""

from __future__ import annotations

from olmkit.gocompat.parse_errors import ParseError

NO_BLOBS_MESSAGE = (
    "the catalog has no blobs: its directory (which the label of an image names) has no file with content"
    " that .indexignore does not exclude"
)
"""The message of catalogd and of `olm catalog validate` for a catalog without content."""


class BadDocument(ParseError):
    """One document of a file cannot be read.

    The text is one line. `opm_message` is what opm prints, which may have several lines.
    """

    def __init__(self, text: str, line: int = 0, column: int = 0, opm_message: str = "") -> None:
        super().__init__(text, line, column)
        self.opm_message = opm_message or text


class TooLarge(BadDocument):
    """A document is larger than the limit."""


class BadCatalog(ValueError):
    """A file of a catalog cannot be read, so that the whole catalog is refused. The text begins with the file's path."""


class BadBlob(ValueError):
    """A blob does not match its schema, so that its package is invalid.

    `opm_message` is what opm prints; the text adds `place`: `package "p", bundle "b"`.
    """

    def __init__(self, opm_message: str, place: str = "") -> None:
        super().__init__(opm_message, place)
        self.opm_message = opm_message
        self.place = place

    def __str__(self) -> str:
        return f"{self.opm_message} ({self.place})" if self.place else self.opm_message
