"""Struct types in the text of a Go file: their comments, markers and fields. Pure.

Reads declarations of types and nothing else: no expressions, no imports, no other package. What it cannot read is an error with
its line. Time grows with the length of the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

MAX_TOKENS: Final = 500_000
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\f]+)|(?P<line>\n)|(?P<comment>//[^\n]*)|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<rune>'(?:[^'\\\n]|\\.)+')"""
    r"""|(?P<word>[^\W\d]\w*)|(?P<number>\d[\w.]*)|(?P<other>.)"""
)
_OPEN, _CLOSED = frozenset("([{"), frozenset(")]}")
_TAG: Final = re.compile(r'([^\s":]+):"((?:[^"\\]|\\.)*)"')
_NO_TYPES: Final = frozenset({"chan", "func", "interface", "map", "struct"})
_END_OF_DOC: Final = "---"
"""The line of a comment behind which the text is for developers."""


class BadGo(ValueError):
    """The text is no Go that can be read; `line` is its line."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True)
class Marker:
    """A comment that begins with a plus, without it, and its line."""

    text: str
    line: int


@dataclass(frozen=True)
class Comments:
    """The comments above a declaration: its text for people, and its markers."""

    doc: str = ""
    markers: Sequence[Marker] = ()


@dataclass(frozen=True)
class GoField:
    """A field of a struct. `name` is "" for an embedded one. `types` are the types of the same package in its type."""

    name: str
    types: Sequence[str]
    is_list: bool
    json_name: str
    """The name in its tag; "" without one."""
    json_options: Sequence[str]
    comments: Comments


@dataclass(frozen=True)
class GoType:
    """A struct type."""

    name: str
    fields: Sequence[GoField]
    comments: Comments


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def read_types(text: str) -> list[GoType]:
    """The struct types that the text declares, in its order. Types with parameters are left out. Raises BadGo."""
    return list(_Reader(_tokens(text)).types())


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, line = 0, 1
    while at < len(text):
        if text.startswith(("/*", "`"), at):
            closing = "*/" if text[at] == "/" else "`"
            end = text.find(closing, at + len(closing))
            if end < 0:
                raise BadGo(f"{text[at : at + len(closing)]} has no end", line)
            kind, end = "comment" if closing == "*/" else "text", end + len(closing)
        else:
            match = _TOKEN.match(text, at)
            assert match is not None
            kind, end = str(match.lastgroup), match.end()
        part = text[at:end]
        if kind == "other" and part in "\"'":
            raise BadGo("a text has no end on its line", line)
        if kind != "space":
            found.append(_Token(kind, part, line))
        if len(found) > MAX_TOKENS:
            raise BadGo(f"has more than {MAX_TOKENS:,} words", line)
        line += part.count("\n")
        at = end
    return found


@dataclass
class _Reader:
    """Walks over the tokens of a file."""

    tokens: Sequence[_Token]
    at: int = 0
    groups: list[list[_Token]] = field(default_factory=list)
    """The groups of comments since the last code."""
    code_line: int = 0
    """The last line with code."""

    def types(self) -> Iterator[GoType]:
        depth = 0
        while (token := self.next()) is not None:
            if token.text in _OPEN:
                depth += 1
            elif token.text in _CLOSED:
                depth -= 1
            elif depth == 0 and token.text == "type" and token.kind == "word":
                yield from self._declaration()

    def next(self) -> _Token | None:
        """The next code; the comments before it are in `groups` until the next call."""
        self.groups = []
        return self._advance()

    def _advance(self) -> _Token | None:
        last_line = -1
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == "line":
                continue
            if token.kind != "comment":
                self.code_line = token.line + token.text.count("\n")
                return token
            if token.line == self.code_line:  # it is about the code before it
                continue
            if token.line != last_line + 1:
                self.groups.append([])
            self.groups[-1].append(token)
            last_line = token.line + token.text.count("\n")
        return None

    def _declaration(self) -> Iterator[GoType]:
        comments = self.comments(self.tokens[self.at - 1].line)
        first = self.next()
        if first is None or first.text != "(":
            yield from self._spec(first, comments)
            return
        while (name := self.next()) is not None and name.text != ")":
            yield from self._spec(name, self.comments(name.line))

    def _spec(self, name: _Token | None, comments: Comments) -> Iterator[GoType]:
        """One type: a struct is returned, others are skipped."""
        if name is None or name.kind != "word":
            raise BadGo("a type has no name", name.line if name else self.code_line)
        start = self.at
        found = self.next()
        if found is not None and found.text == "struct" and (opening := self.next()) is not None:
            if opening.text != "{":
                raise BadGo("a struct has no {", opening.line)
            yield GoType(name.text, tuple(self._fields(name)), comments)
            return
        self.at = start
        self._rest_of_line()

    def _rest_of_line(self) -> list[_Token]:
        """The code until the line ends outside of brackets, or before the bracket that closes what it is in."""
        found: list[_Token] = []
        depth = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if depth == 0 and (token.kind == "line" or (token.text in (";", ")", "}") and token.kind == "other")):
                break
            self.at += 1
            if token.kind in ("line", "comment"):
                continue
            depth += (token.text in _OPEN) - (token.text in _CLOSED)
            found.append(token)
            self.code_line = token.line + token.text.count("\n")
        return found

    def _fields(self, name: _Token) -> Iterator[GoField]:
        while (token := self.next()) is not None:
            if token.text == "}":
                return
            if token.text == ";":
                continue
            comments = self.comments(token.line)
            yield from _fields_of([token, *self._rest_of_line()], comments)
        raise BadGo(f"struct {name.text} has no end", name.line)

    def comments(self, line: int) -> Comments:
        """The comments of a declaration on this line: the group right above it, and markers of the one before."""
        groups = list(self.groups)
        doc = groups.pop() if groups and _last_line(groups[-1]) == line - 1 else []
        above = groups[-1] if groups else []
        return Comments(_doc(doc), (*_markers(above), *_markers(doc)))


def _last_line(group: Sequence[_Token]) -> int:
    return group[-1].line + group[-1].text.count("\n")


def _is_marker(comment: _Token) -> bool:
    return comment.text.startswith("//") and comment.text[2:].lstrip().startswith("+")


def _markers(group: Sequence[_Token]) -> Iterator[Marker]:
    for each in group:
        if _is_marker(each):
            yield Marker(each.text[2:].strip()[1:], each.line)


def _doc(group: Sequence[_Token]) -> str:
    """The text of comments: paragraphs stay, and what follows a line of dashes is left out."""
    lines: list[str] = []
    for each in group:
        if _is_marker(each):
            continue
        if each.text.startswith("//"):
            lines.append(each.text[2:].removeprefix(" ").rstrip())
        else:
            lines += [line.strip() for line in each.text[2:-2].splitlines()]
    if _END_OF_DOC in lines:
        lines = lines[: lines.index(_END_OF_DOC)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _fields_of(tokens: Sequence[_Token], comments: Comments) -> Iterator[GoField]:
    """The fields that one line declares: several names may have one type."""
    tag = ""
    if tokens[-1].kind == "text" and len(tokens) > 1:
        tag, tokens = _unquoted(tokens[-1].text), tokens[:-1]
    name, options = _json_tag(tag)
    names, kind = _names(tokens)
    types = () if any(each.text in ("struct", "interface", "func") for each in kind) else tuple(_types(kind))
    is_list = bool(kind) and kind[0].text == "["
    for each in names or [""]:
        yield GoField(each, types, is_list, name, options, comments)


def _names(tokens: Sequence[_Token]) -> tuple[list[str], Sequence[_Token]]:
    """The names of fields and the code of their type; no name for an embedded type."""
    if tokens[0].kind != "word":
        return [], tokens
    count = 1
    while count + 1 < len(tokens) and tokens[count].text == "," and tokens[count + 1].kind == "word":
        count += 2
    rest = tokens[count:]
    is_embedded = not rest or rest[0].text == "." or (rest[0].text == "[" and _closing(rest) == len(rest) - 1)
    if is_embedded:
        return [], tokens
    return [each.text for each in tokens[:count:2]], rest


def _closing(tokens: Sequence[_Token]) -> int:
    """The index of the bracket that closes the first one."""
    depth = 0
    for index, each in enumerate(tokens):
        depth += (each.text in _OPEN) - (each.text in _CLOSED)
        if depth == 0:
            return index
    return len(tokens)


def _types(tokens: Sequence[_Token]) -> Iterator[str]:
    """The names in a type that have no package."""
    for index, each in enumerate(tokens):
        around = {tokens[at].text for at in (index - 1, index + 1) if 0 <= at < len(tokens)}
        if each.kind == "word" and "." not in around and each.text not in _NO_TYPES:
            yield each.text


def _unquoted(text: str) -> str:
    """The content of a text in backquotes, or in quotes whose escapes are those of quotes and backslashes."""
    return text[1:-1] if text[0] == "`" else re.sub(r"\\(.)", r"\1", text[1:-1])


def _json_tag(tag: str) -> tuple[str, tuple[str, ...]]:
    for key, value in _TAG.findall(tag):
        if key == "json":
            name, *options = value.split(",")
            return name, tuple(options)
    return "", ()
