"""The page before something is changed: the consequences, the button, and the commands that do the same. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from console.commands import Command


@dataclass(frozen=True)
class Button:
    """A button of a form. With a reason it cannot be pressed; `command` asks who may."""

    label: str
    reason: str = ""
    command: str = ""
    kind: str = "primary"
    name: str = ""
    value: str = ""


@dataclass(frozen=True)
class Notice:
    """A sentence that stands out: `kind` is info, ok, warn or bad."""

    kind: str
    title: str
    text: str = ""
    href: str = ""
    link: str = ""
    lines: tuple[str, ...] = ()
    """More sentences, each on its own line."""


@dataclass(frozen=True)
class Section:
    """A panel with facts, sentences, or rows of a table."""

    title: str
    lines: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    """Shown as it is, such as a list of objects."""
    is_worded: bool = False
    """True if the first column of the rows has words, and no names of fields or objects."""
    links: tuple[tuple[str, str], ...] = ()
    """Paths with their texts, below the lines."""


@dataclass(frozen=True)
class ChangeView:
    """The review of one change. `hidden` are fields of the form, `confirm` a name that has to be typed, `agreement` a sentence
    that has to be ticked."""

    heading: str
    sub: str
    crumbs: tuple[tuple[str, str], ...]
    action: str
    button: Button
    back: str
    notices: tuple[Notice, ...] = ()
    sections: tuple[Section, ...] = ()
    commands: tuple[Command, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()
    confirm: str = ""
    agreement: str = ""
    problem: str = ""
    others: tuple[Button, ...] = field(default=())
    """More buttons of the same form."""
    review: str = ""
    """The path that the form is sent to for this page again, when what it rests on has changed; "" for never."""
    is_pending: bool = False
    """True if the preview is being made: the page asks for itself again in a moment."""
