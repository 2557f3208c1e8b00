"""The request that a page gets, and its answer: the contract between the server and console.pages.

A handler reads a PageRequest and returns an Answer. It knows no HTTP, no cookies and no other user.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from olmctl.questions.session import Session

if TYPE_CHECKING:
    from console.access import Access
    from console.previewer import Previewer
    from console.routes import Watch

FIELD_MANAGER = "olm-console"
"""The field manager of everything that the console applies."""
MAX_VALUE_BYTES = 1024 * 1024
"""The longest value of a field."""
MAX_FIELDS = 2000


class BadInput(Exception):
    """A field of the URL or of a form has a value that cannot be used: 400, with the name of the field."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name, self.message = name, message


class NotThere(Exception):
    """The page is about something that does not exist: 404. `similar` are (path, name) of what may be meant."""

    def __init__(self, message: str, similar: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.message, self.similar = message, tuple(similar)


class Fields:
    """The fields of a URL or of a form: texts by name, each of which may have several. Immutable."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        """Raises BadInput for texts that no field has: too long, or with characters that no text has."""
        self._pairs = tuple(pairs)
        self._values: dict[str, tuple[str, ...]] = {}
        if len(self._pairs) > MAX_FIELDS:
            raise BadInput("", f"there are more than {MAX_FIELDS} fields")
        for name, value in self._pairs:
            if not _is_text(name) or not _is_text(value):
                raise BadInput(name[:100], "the value is not text")
            if len(value) > MAX_VALUE_BYTES:
                raise BadInput(name[:100], f"the value is longer than {MAX_VALUE_BYTES} bytes")
            self._values[name] = (*self._values.get(name, ()), value)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Name and value of each, in their order."""
        return iter(self._pairs)

    def one(self, name: str, default: str = "") -> str:
        """The first value of a field."""
        return self._values.get(name, (default,))[0]

    def all(self, name: str) -> tuple[str, ...]:
        """All values of a field."""
        return self._values.get(name, ())

    def choice(self, name: str, allowed: Collection[str], default: str = "") -> str:
        """One of the values that are allowed; `default` without the field. Raises BadInput."""
        value = self.one(name)
        if not value:
            return default
        if value not in allowed:
            raise BadInput(name, f"{value[:100]} is none of {', '.join(sorted(allowed))}")
        return value

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number within bounds; `default` without the field. Raises BadInput."""
        value = self.one(name)
        if not value:
            return default
        if not value.isascii() or not value.isdecimal() or len(value) > 9 or not low <= int(value) <= high:
            raise BadInput(name, f"{value[:100]} is no number from {low} to {high}")
        return int(value)


def _is_text(text: str) -> bool:
    """Report whether the text can be sent on: without NUL and without bytes that are no UTF-8."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


@dataclass(frozen=True)
class User:
    """The person behind a session, for the header of the page. Decides nothing."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConsoleOptions:
    """The options of the process, as far as pages show it.

    `context` is the name of the kubeconfig's context for command lines, "" in the cluster. `cluster` names the cluster.
    """

    context: str = ""
    cluster: str = ""
    version: str = ""
    more_operators_url: str = "https://github.com/operator-framework/awesome-operators"
    docs_url: str = ""


@dataclass(frozen=True)
class PageRequest:
    """One request for a page.

    `session` reads and writes as the user. `here` is the path and the query of the page. `is_live` is True if the page is
    rendered again because something changed: nothing slow then.
    """

    session: Session
    user: User
    access: Access
    path: Mapping[str, str] = field(default_factory=dict)
    query: Fields = field(default_factory=Fields)
    form: Fields = field(default_factory=Fields)
    namespace: str | None = None
    here: str = "/"
    is_live: bool = False
    options: ConsoleOptions = field(default_factory=ConsoleOptions)
    previewer: Previewer | None = None


@dataclass(frozen=True)
class Page:
    """A template of console/templates with the value that it shows.

    `section` is the entry of the main menu that is marked. `scripts` are the modules of console/static that the page needs beside
    those of each page. `again_seconds`: a page that is live is rendered again after this time, because it waits for what no watch
    tells of; 0 for not at all. `follows` is the path of a live page whose changes this one, which is no live page itself, rests
    on. `watches` are those of a live page that are known when it is read, beside those of its route. `is_shared`: all who would
    see the same get the same value, which is then rendered once.
    """

    template: str
    value: object
    title: str
    section: str = ""
    status: int = 200
    scripts: tuple[str, ...] = ()
    again_seconds: float = 0.0
    follows: str = ""
    watches: tuple[Watch, ...] = ()
    is_shared: bool = False


@dataclass(frozen=True)
class Redirect:
    """To another page of the console, with a sentence that is shown there once. The sentence never holds a secret."""

    to: str
    flash: str = ""
    flash_kind: str = "ok"


@dataclass(frozen=True)
class Raw:
    """Bytes that are no page, such as an icon. `headers` may replace Cache-Control and Content-Security-Policy."""

    body: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    status: int = 200


Answer: TypeAlias = Page | Redirect | Raw
