"""The values that several pages show. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from console.icons import hue, letters
from console.links import page_url

Item = TypeVar("Item")

ALL = "all"
"""The value of the parameter `page` that asks for all pages at once."""


@dataclass(frozen=True)
class Pager:
    """The place of a page in a long list: the numbers of its first and last item, and the paths of other pages ("" for none)."""

    first: int
    last: int
    total: int
    previous: str
    next: str
    all: str


def paged(
    items: Sequence[Item], size: int, page: int, href: Callable[..., str], *, is_all: bool
) -> tuple[tuple[Item, ...], Pager]:
    """The items of a page, or of the last one if there are not so many pages. `href(page=...)` is the path of another page."""
    pages = max((len(items) + size - 1) // size, 1)
    page = min(page, pages)
    start = 0 if is_all else (page - 1) * size
    shown = tuple(items if is_all else items[start : start + size])
    pager = Pager(
        first=start + 1 if shown else 0,
        last=start + len(shown),
        total=len(items),
        previous=href(page=str(page - 1)) if not is_all and page > 1 else "",
        next=href(page=str(page + 1)) if not is_all and page < pages else "",
        all=href(page=ALL) if not is_all and pages > 1 else "",
    )
    return shown, pager


@dataclass(frozen=True)
class Badge:
    """A short mark: `kind` is its colour (ok, warn, bad, info, type or ""), `icon` is shown before the text."""

    kind: str
    text: str
    icon: str = ""


@dataclass(frozen=True)
class Tile:
    """The picture of a package: its icon, or letters where it has none. `href` is the path of the icon."""

    letters: str
    hue: int
    href: str = ""


@dataclass(frozen=True)
class Note:
    """A message above a page. `command` is what a person can run about it."""

    kind: str
    title: str
    text: str = ""
    icon: str = "info"
    href: str = ""
    link: str = ""
    command: str = ""


@dataclass(frozen=True)
class Button:
    """An action. With a `reason` it cannot be used, and says why; `commands` are for somebody who may use it.

    `path` is a page, or with `is_post` what a form sends, with the hidden `fields`.
    """

    text: str
    path: str
    icon: str = ""
    kind: str = ""
    reason: str = ""
    commands: tuple[str, ...] = ()
    is_post: bool = False
    fields: tuple[tuple[str, str], ...] = ()
    about: str = ""
    """The object of the action, for people who hear the page."""


def unless(refusal: str, button: Button) -> Button:
    """The button, which cannot be used if there is a refusal: that concerns everybody, so that no command is named."""
    return replace(button, reason=refusal, commands=()) if refusal else button


@dataclass(frozen=True)
class Tab:
    """One page of several about the same thing."""

    text: str
    path: str
    is_current: bool = False
    count: str = ""
    key: str = ""
    """The single key that opens it."""


@dataclass(frozen=True)
class ConditionView:
    """A condition of an object."""

    type: str
    badge: Badge
    reason: str
    message: str
    since: str = ""


def tile(name: str, *, catalog: str = "", package: str = "", digest: str = "", has_icon: bool = False) -> Tile:
    """The tile of a package or of something of it."""
    href = page_url("icons", catalog, package, d=digest[:19]) if has_icon and catalog and package else ""
    return Tile(letters(name), hue(name), href)


def plural(count: int, one: str, many: str = "") -> str:
    """The number with its noun, such as `1 package` or `12 packages`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def joined(names: Sequence[str], limit: int = 5) -> str:
    """The names as a list of words; those beyond the limit are counted."""
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"


def revision(obj: Mapping[str, Any]) -> int:
    """A number that a later write of an object of the same kind has greater: it orders what happens within one second, the
    precision of times. 0 if the API server has versions of another form."""
    metadata = obj.get("metadata")
    text = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else 0


_BAD_STATES = frozenset({"Failed", "Missing", "Unhealthy", "Blocked", "NotResolved", "DeletionBlocked", "RolledBack"})


def state_dot(state: str) -> str:
    """The mark of a state in a tree: "" for a good one, bad, or wait."""
    return "" if state in ("Ready", "Healthy", "Succeeded") else "bad" if state in _BAD_STATES else "wait"
