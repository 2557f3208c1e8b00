"""The error that Go's net/mail has for a text that is no address of RFC 5322, such as `Ada <ada@example.com>`.

Encoded words are not decoded. Pure.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from olmkit.gocompat.text import quoted

_SPECIALS: Final = frozenset('()<>[]:;@\\,"')
_COMMENT: Final = "mail: misformatted parenthetical comment"


class _NoAddress(ValueError):
    """The text is no address; the message is Go's."""


def address_error(text: str) -> str:
    """Go's error for a text that is not exactly one address; "" when it is one."""
    try:
        _Parser(text).single()
    except _NoAddress as error:
        return str(error)
    return ""


def _is_visible(character: str) -> bool:
    return "!" <= character <= "~" or character >= "\x80"


def _is_atom(character: str) -> bool:
    return character not in _SPECIALS and _is_visible(character)


class _Parser:
    """The rest of a text, which its methods read from the start."""

    def __init__(self, text: str) -> None:
        self._left = text

    def single(self) -> None:
        """Read one address and nothing else."""
        count = self._address(in_group=False)
        self._skip_comments()
        if self._left:
            raise _NoAddress(f"mail: expected single address, got {quoted(self._left)}")
        if count == 0:
            raise _NoAddress("mail: empty group")
        if count > 1:
            raise _NoAddress("mail: group with multiple addresses")

    def _address(self, *, in_group: bool) -> int:
        """Read an address, or a group of addresses; returns their number."""
        self._skip_space()
        if not self._left:
            raise _NoAddress("mail: no address")
        before = self._left
        try:
            self._address_spec()
        except _NoAddress:
            self._left = before
        else:
            self._skip_space()
            if self._takes("("):
                self._skip_comment()
            return 1
        name = self._phrase() if not self._left.startswith("<") else ""
        self._skip_space()
        if not in_group and self._takes(":"):
            return self._group()
        if not self._takes("<"):
            is_atom = all(map(_is_atom, name))
            raise _NoAddress("mail: missing '@' or angle-addr" if is_atom else "mail: no angle-addr")
        self._address_spec()
        if not self._takes(">"):
            raise _NoAddress("mail: unclosed angle-addr")
        return 1

    def _group(self) -> int:
        self._skip_space()
        if self._takes(";"):
            self._skip_comments()
            return 0
        count = 0
        while True:
            self._skip_space()
            count += self._address(in_group=True)
            self._skip_comments()
            if self._takes(";"):
                self._skip_comments()
                return count
            if not self._takes(","):
                raise _NoAddress("mail: expected comma")

    def _address_spec(self) -> None:
        self._skip_space()
        if not self._left:
            raise _NoAddress("mail: no addr-spec")
        if self._left.startswith('"'):
            if not self._quoted_string():
                raise _NoAddress("mail: empty quoted string in addr-spec")
        else:
            self._dot_atom()
        if not self._takes("@"):
            raise _NoAddress("mail: missing @ in addr-spec")
        self._skip_space()
        if not self._left:
            raise _NoAddress("mail: no domain in addr-spec")
        if self._takes("["):
            self._domain_literal()
        else:
            self._dot_atom()

    def _phrase(self) -> str:
        words: list[str] = []
        while True:
            if words:
                self._skip_comments()
            self._skip_space()
            if not self._left:
                break
            try:
                words.append(self._quoted_string() if self._left.startswith('"') else self._atom())
            except _NoAddress as error:
                if words:
                    break
                raise _NoAddress(f"mail: missing word in phrase: {error}") from None
        return " ".join(words)

    def _quoted_string(self) -> str:
        found: list[str] = []
        is_escaped = False
        for at, character in enumerate(self._left[1:], start=1):
            if is_escaped:
                if not (_is_visible(character) or character in " \t"):
                    raise _NoAddress(f"mail: bad character in quoted-string: {_rune(character)}")
                found.append(character)
                is_escaped = False
            elif character == '"':
                self._left = self._left[at + 1 :]
                return "".join(found)
            elif character == "\\":
                is_escaped = True
            elif _is_visible(character) or character in " \t":
                found.append(character)
            else:
                raise _NoAddress(f"mail: bad character in quoted-string: {_rune(character)}")
        raise _NoAddress("mail: unclosed quoted-string")

    def _atom(self) -> str:
        end = next((at for at, each in enumerate(self._left) if not _is_atom(each)), len(self._left))
        if not end:
            raise _NoAddress("mail: invalid string")
        atom, self._left = self._left[:end], self._left[end:]
        return atom

    def _dot_atom(self) -> None:
        atom = self._atom()
        if atom.startswith("."):
            raise _NoAddress("mail: leading dot in atom")
        if ".." in atom:
            raise _NoAddress("mail: double dot in atom")
        if atom.endswith("."):
            raise _NoAddress("mail: trailing dot in atom")

    def _domain_literal(self) -> None:
        text, bracket, rest = self._left.partition("]")
        for character in text:
            if character in "[\\" or not _is_visible(character):
                raise _NoAddress(f"mail: bad character in domain-literal: {_rune(character)}")
        if not bracket:
            raise _NoAddress("mail: unclosed domain-literal")
        self._left = rest
        try:
            ipaddress.ip_address(text)
        except ValueError:
            raise _NoAddress(f"mail: invalid IP address in domain-literal: {quoted(text)}") from None

    def _takes(self, character: str) -> bool:
        if not self._left.startswith(character):
            return False
        self._left = self._left[1:]
        return True

    def _skip_space(self) -> None:
        self._left = self._left.lstrip(" \t")

    def _skip_comments(self) -> None:
        self._skip_space()
        while self._takes("("):
            self._skip_comment()
            self._skip_space()

    def _skip_comment(self) -> None:
        depth, at = 1, 0
        while at < len(self._left) and depth:
            character = self._left[at]
            at += 2 if character == "\\" and at + 1 < len(self._left) else 1
            depth += (character == "(") - (character == ")")
        if depth:
            raise _NoAddress(_COMMENT)
        self._left = self._left[at:]


def _rune(character: str) -> str:
    """The character as %q writes it: in single quotes."""
    if character == "'":
        return r"'\''"
    return f"'{quoted(character)[1:-1]}'" if character != '"' else "'\"'"
