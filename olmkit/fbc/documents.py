"""A file of a catalog to its documents: concatenated JSON objects, or YAML documents (formats 1.2).

Called by olmkit.fbc.reading. Streams: holds one document and one chunk at a time. Knows nothing of schemas and never opens a
file itself. Which of the two a file is shows its first character; JSON that ends early in a file is tried as YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from olmkit.fbc import yaml_values
from olmkit.fbc.errors import BadDocument, TooLarge

DOCUMENT_LIMIT = 32 * 1024 * 1024
"""Bytes of one document, and of one blob once the aliases in it are written out."""

_CHUNK = 1024 * 1024
_SPACE = re.compile(rb"\s+")
_OUTSIDE = re.compile(rb'["{}]')
_INSIDE = re.compile(rb'["\\]')
_ESCAPE = re.compile(
    r"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class Readable(Protocol):
    """A binary stream; may return fewer bytes than asked for, and none only at its end."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its value, the JSON text it came from (empty for YAML) and the line it starts on, from 1."""

    value: Any
    text: bytes
    line: int


def read(stream: Readable) -> Iterator[Document]:
    """The documents of a file in their order. Raises BadDocument, with the line in the file, where reading stops."""
    buffer = _Buffer(stream)
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
            yield from _yaml_instead(buffer, error)
            return
        count += 1
        yield document


def _yaml_instead(buffer: _Buffer, error: BadDocument) -> Iterator[Document]:
    """What could not be read as JSON, read as YAML from the same place; if that fails at once, `error` says why."""
    documents = _yaml_documents(buffer)
    try:
        first = next(documents, None)
    except BadDocument:
        raise error from None
    if first is None:
        raise error
    yield first
    yield from documents


class _Buffer:
    """What was read of a stream and not yet taken, from `at` on; `line` is the line of `at`."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._ended = False
        self.data = b""
        self.at = 0
        self.line = 1

    def more(self) -> bool:
        """Read on. False at the end of the stream. Moves `at` to 0."""
        chunk = b"" if self._ended else self._stream.read(_CHUNK)
        self._ended = not chunk
        self.data = (self.data[self.at :] if self.at else self.data) + chunk
        self.at = 0
        return bool(chunk)

    def left(self) -> int:
        """Bytes read and not taken."""
        return len(self.data) - self.at

    def take(self, length: int) -> bytes:
        """The next bytes, which are then gone."""
        taken = self.data[self.at : self.at + length]
        self.line += taken.count(b"\n")
        self.at += length
        return taken

    def opens_with_brace(self) -> bool:
        """Whether the first character that is no space is `{`, if it comes early; takes nothing."""
        while not (text := self.data.lstrip()) and self.left() < _CHUNK and self.more():
            pass
        return text.startswith(b"{")

    def skip_space(self) -> bool:
        """Go to the next character that is no space. False when there is none."""
        while True:
            if match := _SPACE.match(self.data, self.at):
                self.take(match.end() - self.at)
            if self.left() or not self.more():
                return bool(self.left())

    def starts_with(self, prefix: bytes) -> bool:
        """Whether that comes next."""
        while self.left() < len(prefix) and self.more():
            pass
        return self.data.startswith(prefix, self.at)

    def length_to(self, needle: bytes) -> int:
        """Bytes up to the end of the next `needle`, looked for in one chunk at least; -1 when it is not there."""
        seen = 0
        while True:
            found = self.data.find(needle, self.at + seen)
            if found >= 0:
                return found + len(needle) - self.at
            seen = max(self.left() - len(needle) + 1, 0)
            if self.left() >= _CHUNK or not self.more():
                return -1


def _next_object(buffer: _Buffer) -> Document:
    """The JSON object that comes next; takes it only if it can be read.

    No proper prefix of an object is an object: so its end is guessed (its line, or the first line that begins with the brace
    that closes it), and a guess that parses is right.
    """
    line = buffer.line
    if not buffer.starts_with(b"{"):
        raise BadDocument(f"expected the brace that opens a JSON object, found {_excerpt(buffer)}", line)
    length = buffer.length_to(b"\n}" if buffer.starts_with(b"{\n") or buffer.starts_with(b"{\r") else b"\n")
    if length > 0:
        try:
            value = orjson.loads(buffer.data[buffer.at : buffer.at + length])
            return Document(value, buffer.take(length), line)
        except orjson.JSONDecodeError:
            pass  # several objects on a line, an object over several lines, or a fault: counting braces tells
    length = _object_length(buffer)
    value, text = _parse(buffer.data[buffer.at : buffer.at + length], line)
    buffer.take(length)
    return Document(value, text, line)


def _excerpt(buffer: _Buffer) -> str:
    while buffer.left() < 20 and buffer.more():
        pass
    return repr(buffer.data[buffer.at : buffer.at + 20].split(b"\n")[0].decode(errors="replace"))


def _object_length(buffer: _Buffer) -> int:
    """Bytes of the object that comes next, by its braces; everything that is left when it does not end."""
    length, depth, in_string = 0, 0, False
    while True:
        match = (_INSIDE if in_string else _OUTSIDE).search(buffer.data, buffer.at + length)
        if match is None:
            length = max(
                length, buffer.left()
            )  # a backslash may be the last byte so far: what it escapes is still skipped
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
    if length > DOCUMENT_LIMIT:
        raise TooLarge(f"a document is larger than {DOCUMENT_LIMIT // 1024 // 1024} MiB", line)


def _parse(raw: bytes, line: int) -> tuple[Any, bytes]:
    """The value of one JSON text, and that text.

    Mended as Go's decoder does it: U+FFFD stands for what is no UTF-8 and for half a surrogate pair.
    """
    try:
        return orjson.loads(raw), raw
    except orjson.JSONDecodeError as error:
        mended = _ESCAPE.sub(
            lambda match: "\\ufffd" if match["lone"] else match[0], raw.decode(errors="replace")
        ).encode()
        if mended != raw:
            return _parse(mended, line)
        raise BadDocument(error.msg.partition(": line ")[0], line + error.lineno - 1, error.colno) from error


def _yaml_documents(buffer: _Buffer) -> Iterator[Document]:
    """YAML documents, split where a line starts with `---`, the way apimachinery's reader does it.

    That line belongs to the document it opens only if nothing stood before it: so one too many makes an empty document.
    """
    parts: list[bytes] = []
    line = buffer.line
    while buffer.left() or buffer.more():
        if buffer.starts_with(b"---"):
            separator = _take_line(buffer)
            _check_separator(separator, buffer.line - 1)
            if parts:
                yield _yaml_document(parts, line)
                parts, line = [], buffer.line
                continue
            parts, line = [separator], buffer.line - 1
        else:
            parts.append(_take_to_separator(buffer))
            _check_size(sum(map(len, parts)), line)
    if parts:
        yield _yaml_document(parts, line)


def _take_line(buffer: _Buffer) -> bytes:
    while (length := buffer.length_to(b"\n")) < 0 and buffer.more():
        _check_size(buffer.left(), buffer.line)
    return buffer.take(length if length > 0 else buffer.left())


def _check_separator(separator: bytes, line: int) -> None:
    rest = separator[3:].strip()
    if rest and not rest.startswith(b"#"):
        text = rest[:80].decode(errors="replace")
        raise BadDocument(f"invalid Yaml document separator: {text}", line)


def _take_to_separator(buffer: _Buffer) -> bytes:
    """Whole lines up to the next separator, or as many as were read."""
    end = buffer.data.find(b"\n---", buffer.at)
    if end < 0:
        end = buffer.data.rfind(b"\n", buffer.at)
    return buffer.take(end + 1 - buffer.at) if end >= 0 else _take_line(buffer)


def _yaml_document(parts: list[bytes], line: int) -> Document:
    text = b"".join(parts)
    try:
        return Document(yaml_values.load(text if text.endswith(b"\n") else text + b"\n", DOCUMENT_LIMIT), b"", line)
    except BadDocument as error:
        raise BadDocument(error.text, line + max(error.line, 1) - 1, error.column) from error
