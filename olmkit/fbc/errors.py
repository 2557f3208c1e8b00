"""What can be wrong with a catalog's files. Raised by olmkit.fbc, turned into a status by whoever loads a catalog. Pure."""

from __future__ import annotations


class BadDocument(ValueError):
    """One document of a file cannot be read. `line` and `column` count from 1 in the file; 0 is unknown."""

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if not self.line:
            return self.text
        place = f"line {self.line}, column {self.column}" if self.column else f"line {self.line}"
        return f"{place}: {self.text}"


class TooLarge(BadDocument):
    """A document is larger than one may be."""


class BadCatalog(ValueError):
    """A file of a catalog cannot be read; the text begins with its path. The catalog as a whole is refused."""


class BadBlob(ValueError):
    """A blob is not what its schema says. Costs only the package it belongs to."""
