"""Changes of the text of a catalog's file: a document is added, or an entry of a channel, and everything else stays as it is.

Comments, the order of keys, quotes and indents of what is not changed are kept byte for byte. A new document is written as its
neighbour is: YAML, or JSON with the same indent. Each new text is read, and has the documents that are meant, or is refused.
Pure.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmctl.authoring.serialize import Format, serialize
from olmctl.authoring.yaml_insertion import with_item
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.documents import Document, read_documents
from olmkit.fbc.errors import BadDocument

_SEPARATOR = re.compile(r"^---[^\n]*(?:\n|\Z)", re.MULTILINE)
_ENTRIES = "entries"


class NotEditable(ValueError):
    """The text of a file is in a form that cannot be changed in place; the text follows the path."""


@dataclass(frozen=True)
class Piece:
    """One document of a text: where it is, and its blob."""

    start: int
    end: int
    blob: Blob


@dataclass(frozen=True)
class CatalogText:
    """The text of a file with its documents."""

    text: str
    pieces: tuple[Piece, ...]
    form: Format

    @classmethod
    def read(cls, data: bytes) -> CatalogText:
        """The documents of a file. Raises BadDocument, BadCatalog and BadBlob, NotEditable."""
        blobs = [parse_blob(document) for document in read_documents(io.BytesIO(data))]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise NotEditable("is not UTF-8") from None
        form: Format = "json" if text.lstrip().startswith("{") else "yaml"
        spans = list(_json_spans(text) if form == "json" else _yaml_spans(text))
        if form == "json" and len(spans) != len(blobs):  # YAML that begins with a brace
            form, spans = "yaml", list(_yaml_spans(text))
        if len(spans) != len(blobs):
            raise NotEditable("mixes JSON and YAML")
        return cls(text, tuple(Piece(*span, blob) for span, blob in zip(spans, blobs, strict=True)), form)

    def with_entry(self, piece: Piece, entry: Mapping[str, Any]) -> CatalogText:
        """The text with one more entry, at the end of the channel in `piece`. Raises NotEditable, as all changes do."""
        listed = piece.blob.value.get(_ENTRIES) or []
        if not isinstance(listed, list):
            raise NotEditable(f"the {_ENTRIES} of channel {piece.blob.name} are no list")
        value = {**piece.blob.value, _ENTRIES: [*listed, dict(entry)]}
        return self.with_item(piece, (_ENTRIES,), entry, value)

    def with_item(
        self, piece: Piece, path: Sequence[str | int], item: Mapping[str, Any], value: Mapping[str, Any], **place: int
    ) -> CatalogText:
        """The text with one more item in a sequence of `piece`, whose value is then `value`. `place` as of
        olmctl.authoring.yaml_insertion.with_item."""
        old = self.text[piece.start : piece.end]
        new = with_item(old, path, item, **place) if self.form == "yaml" else None
        return self._with(piece, new, value)

    def with_lines(self, piece: Piece, lines: str, value: Mapping[str, Any]) -> CatalogText:
        """The text with these lines at the end of `piece`, whose value is then `value`."""
        old = self.text[piece.start : piece.end]
        return self._with(piece, f"{old.rstrip()}\n{lines}" if self.form == "yaml" else None, value)

    def _with(self, piece: Piece, new: str | None, value: Mapping[str, Any]) -> CatalogText:
        """The text with `new` in the place of `piece`; without it, or if its value is another one, the value is written anew."""
        if new is None or _stored(new) != _line(value):
            return self.with_replaced(piece, value)
        return self._checked(self.text[: piece.start] + new + self.text[piece.end :], self._lines(value, instead=piece))

    def with_replaced(self, piece: Piece, value: Mapping[str, Any]) -> CatalogText:
        """The text with another value in the place of `piece`."""
        new = self._document(value, self.text[piece.start : piece.end])
        return self._checked(self.text[: piece.start] + new + self.text[piece.end :], self._lines(value, instead=piece))

    def with_document(self, after: Piece | None, value: Mapping[str, Any]) -> CatalogText:
        """The text with one more document, after `after`, or at the end."""
        end = after.end if after else len(self.text)
        like = after or (self.pieces[-1] if self.pieces else None)
        near = self.text[like.start : like.end] if like else ""
        before, behind = self.text[:end], self.text[end:]
        if before and not before.endswith("\n"):
            before += "\n"
        if self.form == "json":
            text = f"{before}{self._document(value, near)}\n{behind.lstrip()}"
        else:
            text = f"{before}---\n{self._document(value, near)}{behind}"
        return self._checked(text, self._lines(value, after=like))

    def _lines(
        self, value: Mapping[str, Any], *, instead: Piece | None = None, after: Piece | None = None
    ) -> list[bytes]:
        """The documents as they are stored, with `value` in the place of one, or after one."""
        found = [_line(value)] if not self.pieces else []
        for each in self.pieces:
            if each is not instead:
                found.append(each.blob.line)
            if each is instead or each is after:
                found.append(_line(value))
        return found

    def _checked(self, text: str, lines: list[bytes]) -> CatalogText:
        """A changed text. Raises NotEditable unless it has these documents, BadDocument and BadBlob."""
        found = CatalogText.read(text.encode())
        if [each.blob.line for each in found.pieces] != lines:
            raise NotEditable("cannot be changed: the new text would be read as other documents")
        return found

    def _document(self, value: Mapping[str, Any], like: str) -> str:
        """A value as a document, written as its neighbour."""
        if self.form == "yaml":
            return serialize(value, "yaml").decode().removeprefix("---\n")
        ordered = json.loads(serialize(value, "json"))
        if like and "\n" not in like:
            separators = (", ", ": ") if '": ' in like else (",", ":")
            return json.dumps(ordered, ensure_ascii=False, separators=separators)
        return json.dumps(ordered, ensure_ascii=False, indent=_indent(like))


def _indent(text: str) -> int | str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else 4


def _yaml_spans(text: str) -> Iterator[tuple[int, int]]:
    """The places of the documents between separators, without blank ones."""
    start = 0
    for separator in _SEPARATOR.finditer(text):
        if text[start : separator.start()].strip():
            yield start, separator.start()
        start = separator.end()
    if text[start:].strip():
        yield start, len(text)


def _json_spans(text: str) -> Iterator[tuple[int, int]]:
    """The places of the objects. Ends at what is no JSON."""
    decoder = json.JSONDecoder()
    at = 0
    while match := re.compile(r"\s*(?=\S)").match(text, at):
        try:
            _, end = decoder.raw_decode(text, match.end())
        except (json.JSONDecodeError, RecursionError):
            return
        yield match.end(), end
        at = end


def _line(value: Mapping[str, Any]) -> bytes:
    """A document as it is stored, which compares its numbers too."""
    return parse_blob(Document(value, b"", 1)).line


def _stored(text: str) -> bytes:
    """The one document in a text as it is stored; b"" if it is none."""
    try:
        found = [parse_blob(each).line for each in read_documents(io.BytesIO(text.encode()))]
    except BadDocument:
        return b""
    return found[0] if len(found) == 1 else b""
