"""The values of the pages of instances. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from console.commands import Command
from console.forms.field import Form
from console.views.changes import Button, Notice
from console.views.parts import state_dot

NO_NAMESPACE: Final = "_"
"""Stands for no namespace in paths."""


@dataclass(frozen=True)
class KindName:
    """A kind as it stands in paths and titles."""

    group: str
    version: str
    plural: str
    kind: str
    title: str
    is_namespaced: bool

    @property
    def path(self) -> str:
        """The path of its list."""
        return f"/instances/{self.group}/{self.version}/{self.plural}"


@dataclass(frozen=True)
class Row:
    """A row of a list. `path` leads to the instance."""

    name: str
    namespace: str
    path: str
    cells: tuple[str, ...]
    badges: tuple[str, ...]
    """The kind of the badge of each cell; "" for a cell that is text."""
    created: str


@dataclass(frozen=True)
class InstanceTable:
    """The instances of one kind. `problem`: why there are none; `more`: how many are not shown, -1 if that is not known."""

    kind: KindName
    operator: str
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    problem: str = ""
    more: int = 0
    new: Button | None = None


@dataclass(frozen=True)
class OverviewView:
    """The kinds of all installed Operators with their instances."""

    tables: tuple[InstanceTable, ...]
    namespace: str
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class ListView:
    """The instances of one kind."""

    table: InstanceTable
    namespace: str
    description: str = ""


@dataclass(frozen=True)
class Fact:
    """A value of the instance: `form` is text, age, link, badge, secret, conditions, pods or object."""

    title: str
    description: str
    form: str
    text: str = ""
    href: str = ""
    kind: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Happening:
    """An Event."""

    time: str
    is_warning: bool
    reason: str
    message: str
    count: int


@dataclass(frozen=True)
class Child:
    """An object that the instance owns."""

    kind: str
    name: str
    namespace: str
    created: str
    is_deleting: bool
    children: tuple[Child, ...] = ()
    state: str = ""
    """The state by the rules of kstatus; "" if it was not read or the kind has none."""
    message: str = ""
    path: str = ""
    """The page of the object; "" for a kind of Kubernetes, which has none."""

    @property
    def dot(self) -> str:
        """The mark of its state."""
        return state_dot(self.state)


@dataclass(frozen=True)
class InstanceView:
    """One instance. `tab` is overview, yaml, events or objects."""

    kind: KindName
    name: str
    namespace: str
    tab: str
    state: tuple[str, str]
    sub: str
    edit: Button
    save: Button
    delete: Button
    facts: tuple[Fact, ...] = ()
    conditions: tuple[tuple[str, str, str, str, str], ...] = ()
    events: tuple[Happening, ...] = ()
    children: tuple[Child, ...] = ()
    problems: tuple[str, ...] = ()
    yaml: str = ""
    origin: str = ""
    editor: EditorView | None = None

    @property
    def path(self) -> str:
        """Its path."""
        return instance_path(self.kind.path, self.namespace, self.name)


@dataclass(frozen=True)
class FieldConflict:
    """A field that cannot be changed as it is: who manages it, and the values."""

    field: str
    why: str
    before: str = ""
    now: str = ""
    mine: str = ""
    line: int = 0
    """The line of the text that the field is in; 0 if it is not known."""


@dataclass(frozen=True)
class EditorView:
    """The text of the editor, and what came of it. `line`: the line of the error, 0 for none."""

    text: str
    origin: str
    problem: str = ""
    line: int = 0
    causes: tuple[FieldConflict, ...] = ()
    conflicts: tuple[FieldConflict, ...] = ()
    moved: tuple[FieldConflict, ...] = ()
    changes: tuple[FieldConflict, ...] = ()
    is_checked: bool = False
    """True if the API server would take it."""
    is_check: bool = False
    """True if nobody asked to save it."""


@dataclass(frozen=True)
class StartChoice:
    """A document to begin with."""

    number: int
    title: str
    text: str
    is_chosen: bool
    is_first: bool


@dataclass(frozen=True)
class InstanceFormView:
    """The form or the YAML of an instance that is created or changed."""

    kind: KindName
    heading: str
    sub: str
    action: str
    back: str
    name: str
    namespace: str
    is_new: bool
    form: Form | None
    yaml: str
    base: str
    origin: str
    rows: tuple[tuple[str, int], ...]
    names: dict[str, tuple[str, ...] | None]
    """The names to choose from, by the field's reference as text; None if they may not be listed."""
    namespaces: tuple[str, ...] | None
    """The namespaces to choose from; None if they may not be listed."""
    button: Button
    watched: tuple[str, ...] = ()
    """The namespaces that the Operator serves, if these are not all."""
    starts: tuple[StartChoice, ...] = ()
    notices: tuple[Notice, ...] = ()
    problems: tuple[tuple[str, str, str], ...] = ()
    """(id of the field, its title, what is wrong)."""
    name_problem: str = ""
    namespace_problem: str = ""
    yaml_problem: str = ""
    yaml_line: int = 0
    commands: tuple[Command, ...] = ()
    take_over: Button | None = None
    """The button that writes over the fields of others; None if there are none in the way."""

    @property
    def wrong(self) -> tuple[tuple[str, str, str], ...]:
        """The id, the label and the reason of each field that is wrong."""
        own = (
            ("i-metadata-name", "Name", self.name_problem),
            ("i-metadata-namespace", "Namespace", self.namespace_problem),
        )
        return (*(each for each in own if each[2]), *self.problems)


def instance_path(kind_path: str, namespace: str, name: str) -> str:
    """The path of an instance."""
    return f"{kind_path}/{namespace or NO_NAMESPACE}/{name}"
