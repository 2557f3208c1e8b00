"""The documents in a file of a catalog: concatenated JSON objects, or YAML documents (formats 1.2).

Streams: holds one document and one chunk at a time. The first character shows which of the two forms a file has; a file whose
JSON ends early is also tried as YAML. Reads no schema and opens no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import msgspec
import orjson

from olmkit.fbc.buffer import Buffer, Readable
from olmkit.fbc.errors import BadDocument, TooLarge
from olmkit.gocompat import yaml_reader
from olmkit.gocompat.numbers import decimal, exact_json
from olmkit.gocompat.parse_errors import ParseError, excerpt_before, shorten
from olmkit.gocompat.yaml_composer import MAX_DEPTH, ReadOptions

MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
"""Bytes of one document, and of one blob with its aliases expanded. The largest public ones, which contain the objects of their
bundles, have 6 MB."""
MAX_VALUES = 200_000
"""Values and keys of one document. Each takes a few hundred bytes of memory, even if it is short."""
CATALOG_YAML: Final = ReadOptions(max_bytes=MAX_DOCUMENT_BYTES, max_values=MAX_VALUES)
"""Options for YAML of catalogs, and of the objects in them."""
UNCOUNTED_BYTES = 1024 * 1024
"""Bytes of a document whose values are not counted."""

_DECODER: Final = msgspec.json.Decoder(float_hook=decimal)
"""A decoder as fast as orjson that passes on numbers with a fraction as they are written. orjson gives the messages for what
it refuses."""
_DECODER_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
_OUTSIDE = re.compile(rb'["{}]')
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[,\[{]', re.DOTALL)
"""A string, or a character before a value."""
_QUOTE = ord('"')
_INSIDE = re.compile(rb'["\\]')
_ESCAPE = re.compile(
    r"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its value, the JSON text it came from (empty for YAML) and the line it starts on, from 1.

    Numbers with a fraction or exponent come as orjson.Fragment (olmkit.gocompat.numbers); integers may have any length.
    """

    value: Any
    text: bytes | memoryview
    line: int


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document of a YAML file, not parsed: its text, and the line it starts on, from 1."""

    text: bytes
    line: int

    def parse(self) -> Document:
        """The parsed document. Raises BadDocument, with the line in the file."""
        text = self.text if self.text.endswith(b"\n") else self.text + b"\n"
        try:
            return Document(yaml_reader.load(text, CATALOG_YAML), b"", self.line)
        except ParseError as error:
            raise _in_file(error, self.line) from error


def _in_file(error: ParseError, line: int, column: int = 1) -> BadDocument:
    """The error of a document that begins at this line and column, with its place in the file."""
    is_first_line = error.line <= 1
    before = column - 1 if error.column and is_first_line else 0
    return BadDocument(error.text, line if is_first_line else line + error.line - 1, error.column + before)


def read_documents(stream: Readable) -> Iterator[Document]:
    """The documents of a file in order. Reading stops at an error: raises BadDocument, with the line in the file."""
    for document in split_documents(stream):
        yield document if isinstance(document, Document) else document.parse()


def split_documents(stream: Readable) -> Iterator[Document | RawDocument]:
    """The documents of a file in order, those of a YAML file unparsed, so that the caller can parse them in other processes.

    Raises BadDocument as read_documents does. If a document that was returned unparsed has an error, that error comes first: the
    caller stops there, whatever follows.
    """
    buffer = Buffer(stream)
    if not buffer.opens_with_brace():
        yield from _yaml_documents(buffer)
        return
    count = 0
    while buffer.skip_space():
        try:
            document = _next_object(buffer)
        except BadDocument as error:
            if count > 1 or isinstance(error, TooLarge):
                raise
            yield from _read_as_yaml(buffer, error)
            return
        count += 1
        yield document


def _read_as_yaml(buffer: Buffer, error: BadDocument) -> Iterator[Document]:
    """The rest of a file, which is not JSON, as YAML. Raises `error` if the first document is not YAML either."""
    documents = (each.parse() for each in _yaml_documents(buffer))
    try:
        first = next(documents, None)
    except BadDocument:
        raise error from None
    if first is None:
        raise error
    yield first
    yield from documents


def _next_object(buffer: Buffer) -> Document:
    """The next JSON object. Consumes it only if it can be parsed.

    No proper prefix of an object is an object. So its end is guessed (the end of its line, or the first line that begins with a
    closing brace), and a guess that parses is right.
    """
    line = buffer.line
    if not buffer.starts_with(b"{"):
        raise BadDocument(
            f"expected the brace that opens a JSON object, found {_excerpt(buffer)}", line, buffer.column()
        )
    if not buffer.unguessed and (document := _guessed_object(buffer)) is not None:
        return document
    length = _object_length(buffer)
    if holds_too_many_values(buffer.data, buffer.at, buffer.at + length):
        raise TooLarge(f"a document holds more than {MAX_VALUES:,} values", line)
    try:
        value, text = _parse(bytes(buffer.view(length)))
    except BadDocument as error:
        raise _in_file(error, line, buffer.column()) from error
    buffer.skip(length)
    return Document(value, text, line)


def holds_too_many_values(data: bytes, start: int, end: int) -> bool:
    """Report whether a JSON text contains more than MAX_VALUES values: a few bytes of text may take a few hundred of memory."""
    if end - start <= UNCOUNTED_BYTES:
        return False
    if sum(data.count(mark, start, end) for mark in (b",", b"[", b"{")) <= MAX_VALUES:
        return False
    marks = (match for match in _MARK.finditer(data, start, end) if data[match.start()] != _QUOTE)
    return next(islice(marks, MAX_VALUES, None), None) is not None


def _guessed_object(buffer: Buffer) -> Document | None:
    """The next object if its end is where most objects end; None for several on a line, for other forms and for other text."""
    is_indented = buffer.starts_with((b"{\n", b"{\r"))
    length = buffer.length_to(b"\n}" if is_indented else b"\n", MAX_DOCUMENT_BYTES)
    if length < 0 and buffer.ended:
        length = buffer.left()
    if 0 < length <= MAX_DOCUMENT_BYTES and not holds_too_many_values(buffer.data, buffer.at, buffer.at + length):
        text, line = buffer.view(length), buffer.line
        try:
            value = _DECODER.decode(text)
        except _DECODER_ERRORS:
            buffer.unguessed = length
            return None
        buffer.skip(length, None if is_indented or buffer.ended else 1)
        return Document(value, text, line)
    buffer.unguessed = buffer.left()
    return None


def _excerpt(buffer: Buffer) -> str:
    while buffer.left() < 20 and buffer.more():
        pass
    return repr(buffer.data[buffer.at : buffer.at + 20].split(b"\n")[0].decode(errors="replace"))


def _object_length(buffer: Buffer) -> int:
    """The length in bytes of the next object, found by its braces; of all that is left when the object does not end."""
    length, depth, in_string = 0, 0, False
    while True:
        match = (_INSIDE if in_string else _OUTSIDE).search(buffer.data, buffer.at + length)
        if match is None:
            # If the last byte read is a backslash, the byte that it escapes, which is not read yet, is skipped too.
            length = max(length, buffer.left())
            _check_size(length, buffer.line)
            if not buffer.more():
                return buffer.left()
            continue
        token, length = match[0], match.end() - buffer.at
        match token:
            case b"\\":
                length += 1
            case b'"':
                in_string = not in_string
            case b"{":
                depth += 1
            case _:
                depth -= 1
                if depth == 0:
                    _check_size(length, buffer.line)
                    return length


def _check_size(length: int, line: int) -> None:
    if length > MAX_DOCUMENT_BYTES:
        raise TooLarge(f"a document is larger than {MAX_DOCUMENT_BYTES // 1024 // 1024} MiB", line)


def _parse(raw: bytes) -> tuple[Any, bytes]:
    """The value of one JSON text, and that text.

    As Go's decoder does, U+FFFD replaces bytes that are not UTF-8 and halves of surrogate pairs. Raises BadDocument with a line
    and column within the text; columns count characters.
    """
    try:
        return _DECODER.decode(raw), raw
    except _DECODER_ERRORS:
        pass
    try:
        orjson.loads(raw)
        return exact_json(raw.decode()), raw
    except RecursionError as error:
        raise BadDocument(f"nests deeper than {MAX_DEPTH} levels") from error
    except orjson.JSONDecodeError as error:
        replaced = _ESCAPE.sub(
            lambda match: "\\ufffd" if match["lone"] else match[0], raw.decode(errors="replace")
        ).encode()
        if replaced != raw:
            return _parse(replaced)
        sentence = error.msg.partition(": line ")[0]
        raise BadDocument(f"{sentence}: {excerpt_before(error.doc, error.pos)}", error.lineno, error.colno) from error


def _yaml_documents(buffer: Buffer) -> Iterator[RawDocument]:
    """YAML documents, split at lines that start with `---`, as apimachinery's reader splits them.

    That line belongs to the document after it only if nothing comes before it: a second such line makes an empty document.
    """
    parts: list[bytes] = []
    line = buffer.line
    while buffer.left() or buffer.more():
        if buffer.starts_with(b"---"):
            separator = _take_line(buffer)
            _check_separator(separator, buffer.line - 1)
            if parts:
                yield RawDocument(b"".join(parts), line)
                parts, line = [], buffer.line
                continue
            parts, line = [separator], buffer.line - 1
        else:
            parts.append(_take_to_separator(buffer))
            _check_size(sum(map(len, parts)), line)
    if parts:
        yield RawDocument(b"".join(parts), line)


def _take_line(buffer: Buffer) -> bytes:
    while (length := buffer.length_to(b"\n")) < 0 and buffer.more():
        _check_size(buffer.left(), buffer.line)
    return buffer.take(length if length > 0 else buffer.left())


def _check_separator(separator: bytes, line: int) -> None:
    rest = separator[3:].strip()
    if rest and not rest.startswith(b"#"):
        text = shorten(rest.decode(errors="replace"))
        raise BadDocument(f"invalid Yaml document separator: {text}", line)


def _take_to_separator(buffer: Buffer) -> bytes:
    """Whole lines up to the next separator or up to the end of the buffer."""
    end = buffer.data.find(b"\n---", buffer.at)
    if end < 0:
        end = buffer.data.rfind(b"\n", buffer.at)
    return buffer.take(end + 1 - buffer.at) if end >= 0 else _take_line(buffer)
