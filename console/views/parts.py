"""The values that several pages show. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.icons import hue, letters
from console.links import page_url


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
