"""What can be wrong with a catalog's files. Raised by olmkit.fbc, turned into a status by whoever loads a catalog. Pure."""

from __future__ import annotations

from olmkit.gocompat.parse_errors import ParseError

NO_BLOBS_MESSAGE = (
    "the catalog holds no blobs: its folder (which the label of an image names) has no file with content"
    " that .indexignore does not exclude"
)
"""What catalogd and `python -m olmkit.fbc validate` say of a catalog without content."""


class BadDocument(ParseError):
    """One document of a file cannot be read.

    `opm_message` is what opm prints for the same, which may have several lines; the text is one line.
    """

    def __init__(self, text: str, line: int = 0, column: int = 0, opm_message: str = "") -> None:
        super().__init__(text, line, column)
        self.opm_message = opm_message or text


class TooLarge(BadDocument):
    """A document is larger than one may be."""


class BadCatalog(ValueError):
    """A file of a catalog cannot be read; the text begins with its path. The catalog as a whole is refused."""


class BadBlob(ValueError):
    """A blob is not what its schema says. Costs only the package it belongs to.

    `opm_message` is what opm prints; the text also names `place`: `package "p", bundle "b"`.
    """

    def __init__(self, opm_message: str, place: str = "") -> None:
        super().__init__(opm_message, place)
        self.opm_message = opm_message
        self.place = place

    def __str__(self) -> str:
        return f"{self.opm_message} ({self.place})" if self.place else self.opm_message
