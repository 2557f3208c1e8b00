"""Makes a form from the schema of a CustomResourceDefinition, the descriptors of its publisher, and a document. Pure.

The schema and the descriptors are the publisher's, so they may be anything. What is too deep, too much, or of another type than
the schema says is shown as YAML, so a document of any form can be shown and stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from console.forms import built_in, yaml_text
from console.forms.checks import Limits
from console.forms.descriptors import ITEM, Dependency, Descriptor, Schema, Trail, by_trail, find_trail
from console.forms.field import Choice, Control, Depends, Field, Form, humanized, text_of
from console.forms.places import MISSING, Place, api_field, pointer, value_at
from olmctl.terminal import clean, shorten

MAX_DEPTH: Final = 6
BUILT_IN_DEPTH: Final = -3
"""The depth at which an object begins whose fields are known."""
MAX_FIELDS: Final = 600
MAX_UNSET_FIELDS: Final = 40
"""Fields of an optional object that is not set; one with more is a YAML box."""
MAX_CHOICES: Final = 200
MAX_RADIOS: Final = 4
MAX_ROWS: Final = 100
MAX_YAML: Final = 60_000
"""Characters of a YAML box: more cannot be sent back."""
MAX_DESCRIPTION: Final = 500
MAX_PROPERTIES: Final = 2_000
"""Fields of one object that are looked through."""
LONG_TEXT: Final = 100
_OUTSIDE: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
"""Fields of an object that the form does not have."""
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "int-or-string": (int, str),
    "array": (list,), "object": (dict,),
}  # fmt: skip
SCALARS: Final = ("string", "integer", "number", "boolean", "int-or-string")
YES_OR_NO: Final = (Choice("true", "Yes", True), Choice("false", "No", False))
NO_TRAIL: Trail = ("",)
"""The trail of fields outside of spec, which no descriptor is about."""


@dataclass(frozen=True)
class State:
    """The things that a person has opened, and what is wrong: rows of lists by name, problems by name."""

    rows: Mapping[str, int]
    problems: Mapping[str, str]


NOTHING: Final = State({}, {})


@dataclass(frozen=True)
class _Spot:
    """A place in the schema and in the document."""

    schema: Schema
    place: Place
    name: str
    trail: Trail
    value: Any
    depth: int
    is_required: bool = False
    is_active: bool = True
    """True if the object that the place is in is there, or has to be."""
    label: str = ""


def schema_form(
    schema: Schema,
    descriptors: Iterable[Descriptor],
    document: Mapping[str, Any],
    origin: Mapping[str, Any],
    state: State,
) -> Form:
    """The form of an object. `origin` is the document that it began with: what differs from it is marked as changed."""
    fields = _properties(schema)
    spec = fields.get("spec")
    is_specified = isinstance(spec, Mapping)
    placed = by_trail(descriptors, spec if isinstance(spec, Mapping) else schema)
    builder = _Builder(placed, (spec if isinstance(spec, Mapping) else schema, is_specified), origin, state)
    if is_specified and isinstance(spec, Mapping):
        value = document.get("spec", MISSING)
        root = _Spot(
            spec, ("spec",), "/spec", (), value, 0, "spec" in _required(schema) or bool(_required(spec)), label="Spec"
        )
        sections = [builder.field(root)]
    else:
        sections = []
    for name, field in fields.items():
        if name in _OUTSIDE or name == "spec" or not isinstance(field, Mapping):
            continue
        trail = NO_TRAIL if is_specified else (name,)
        place, value = (name,), document.get(name, MISSING)
        is_required = name in _required(schema)
        sections.append(builder.field(_Spot(field, place, pointer(place), trail, value, 1, is_required)))
    return Form(tuple(each for each in sections if each is not None), builder.omitted)


class _Builder:
    """Makes the fields of one form, and counts them."""

    def __init__(
        self, placed: Mapping[Trail, Descriptor], root: tuple[Schema, bool], origin: Mapping[str, Any], state: State
    ) -> None:
        self._placed = placed
        self._root, self._has_spec = root
        self._origin = origin
        self._state = state
        self._left = MAX_FIELDS
        self.omitted = 0
        self._first: dict[Trail, int] = {}
        for trail, each in placed.items():
            if each.is_hidden or each.has("advanced"):
                continue
            for length in range(len(trail) + 1):
                known = self._first.get(trail[:length], each.order)
                self._first[trail[:length]] = min(known, each.order)

    def field(self, spot: _Spot) -> Field | None:
        """The field of a place; None if it has no control."""
        descriptor = self._placed.get(spot.trail, Descriptor(""))
        if descriptor.is_hidden:
            return None
        if self._left <= 0:
            self.omitted += 1
            return None
        known = built_in.SCHEMAS.get(descriptor.built_in)
        if known is not None and kind_of(spot.schema) in (kind_of(known), "any"):
            titles = {key: spot.schema[key] for key in ("title", "description") if key in spot.schema}
            spot = replace(spot, schema={**known, **titles}, depth=BUILT_IN_DEPTH, trail=NO_TRAIL)
        kind = kind_of(spot.schema)
        if not _is_shown(spot, kind):
            return self._finished(self._yaml(spot), spot, descriptor)
        makers = {"array": self._list, "object": self._object}
        made = makers[kind](spot) if kind in makers else self._scalar(spot, kind, descriptor)
        return self._finished(made, spot, descriptor) if made is not None else None

    def _finished(self, made: Field, spot: _Spot, descriptor: Descriptor) -> Field:
        """The field with what all fields have."""
        if made.is_leaf:
            self._left -= 1
        is_set = spot.value is not MISSING and spot.value is not None
        name = str(spot.place[-1]) if spot.place else ""
        problem = self._state.problems.get(spot.name, "")
        is_open = (spot.is_required and spot.is_active) or is_set or bool(problem) or spot.trail in self._first
        is_open = is_open or any(not child.is_folded for child in made.children if made.control == Control.GROUP)
        text = descriptor.text or _words(spot.schema.get("description"), MAX_DESCRIPTION)
        return replace(
            made,
            label=descriptor.title or _words(spot.schema.get("title"), 200) or spot.label or clean(humanized(name)),
            description=shorten(text, MAX_DESCRIPTION),
            depends=self._depends(spot, descriptor.dependency),
            group=clean(descriptor.group),
            problem=problem,
            is_required=spot.is_required,
            is_folded=(descriptor.has("advanced") and not problem and not (spot.is_required and spot.is_active))
            or not is_open,
            is_changed=is_set and spot.value != value_at(self._origin, spot.place),
            has_value=is_set,
        )

    def _depends(self, spot: _Spot, dependency: Dependency | None) -> Depends | None:
        """The condition of a field; None if the field that it names is not in the schema."""
        trail = find_trail(self._root, dependency.path) if dependency is not None else None
        if dependency is None or trail is None:
            return None
        start = ("spec",) if self._has_spec else ()
        steps: list[str | int] = []
        for number, step in enumerate((*start, *trail)):
            own = spot.place[number] if number < len(spot.place) else 0
            steps.append(step if step != ITEM else own if isinstance(own, int) else 0)
        name = trail[-1] if trail[-1] != ITEM else trail[0]
        other = self._placed.get(trail)
        label = other.title if other is not None and other.title else clean(humanized(name))
        value = clean(dependency.value)
        return Depends(pointer(tuple(steps)), dependency.value, f"Counts only if {label} is {value}.")

    # --- objects, lists, maps

    def _object(self, spot: _Spot) -> Field | None:
        fields, others = _properties(spot.schema), spot.schema.get("additionalProperties")
        if fields:
            return self._group(spot, fields)
        if isinstance(others, Mapping):
            return self._map(spot, others)
        return self._yaml(spot)

    def _group(self, spot: _Spot, fields: Mapping[str, Schema]) -> Field | None:
        value = spot.value if isinstance(spot.value, Mapping) else {}
        required = _required(spot.schema)
        is_active = isinstance(spot.value, Mapping) or (spot.is_required and spot.is_active)
        is_empty_and_large = not value and spot.depth > 1 and not spot.is_required and spot.trail not in self._first
        if is_empty_and_large and _size(spot.schema, MAX_UNSET_FIELDS) > MAX_UNSET_FIELDS:
            return self._yaml(spot)

        def rank(item: tuple[int, str]) -> tuple[int, bool, bool, int]:
            number, name = item
            return (self._first.get((*spot.trail, name), 10**6), name not in required, name not in value, number)

        children = []
        for _, name in sorted(enumerate(fields), key=rank):
            place, trail = (*spot.place, name), NO_TRAIL if spot.trail == NO_TRAIL else (*spot.trail, name)
            inner = value.get(name, MISSING)
            below = _below(spot.name, name)
            at = _Spot(fields[name], place, below, trail, inner, spot.depth + 1, name in required, is_active)
            if (child := self.field(at)) is not None:
                children.append(child)
        return Field(spot.name, spot.place, Control.GROUP, "object", "", children=tuple(children)) if children else None

    def _rows(self, spot: _Spot, count: int) -> int:
        asked = self._state.rows.get(spot.name, 0)
        return min(MAX_ROWS, max(count, asked, 1 if spot.is_required and spot.is_active else 0))

    def _list(self, spot: _Spot) -> Field | None:
        items = spot.value if isinstance(spot.value, list) else []
        schema = spot.schema.get("items")
        if not isinstance(schema, Mapping) or len(items) > MAX_ROWS:
            return self._yaml(spot)
        trail = NO_TRAIL if spot.trail == NO_TRAIL else (*spot.trail, ITEM)
        rows = []
        for index in range(self._rows(spot, len(items))):
            value = items[index] if index < len(items) else MISSING
            at = _Spot(
                schema,
                (*spot.place, index),
                f"{spot.name}/{index}",
                trail,
                value,
                spot.depth + 1,
                label=str(index + 1),
            )
            if (row := self.field(at)) is not None:
                rows.append(replace(row, is_folded=False))
        kept = tuple(rows)
        return Field(spot.name, spot.place, Control.LIST, "array", "", children=kept, has_more=len(kept) < MAX_ROWS)

    def _map(self, spot: _Spot, schema: Schema) -> Field | None:
        value = spot.value if isinstance(spot.value, Mapping) else {}
        if len(value) > MAX_ROWS or not all(map(_is_plain, value)):
            return self._yaml(spot)
        keys = [*value, *[""] * (self._rows(spot, len(value)) - len(value))]
        rows = []
        for index, key in enumerate(keys):
            inner = value.get(key, MISSING) if key or index < len(value) else MISSING
            at = _Spot(
                schema, (*spot.place, key), f"{spot.name}/{index}", NO_TRAIL, inner, spot.depth + 1, label="Value"
            )
            if (row := self.field(at)) is not None:
                rows.append(replace(row, key=key, is_folded=False))
        kept = tuple(rows)
        return Field(spot.name, spot.place, Control.MAP, "object", "", children=kept, has_more=len(kept) < MAX_ROWS)

    # --- controls

    def _yaml(self, spot: _Spot) -> Field:
        text = "" if spot.value is MISSING else yaml_text.dump(spot.value)
        if len(text) > MAX_YAML:
            self.omitted += 1
            text = ""
        return Field(
            spot.name, spot.place, Control.YAML, "any", "", text, has_more=spot.value is not MISSING and not text
        )

    def _scalar(self, spot: _Spot, kind: str, descriptor: Descriptor) -> Field:
        schema, text = spot.schema, text_of(spot.value)
        if not _is_plain(text) or len(text) > MAX_YAML:
            return self._yaml(spot)
        default = schema.get("default")
        shown = clean(text_of(default)) if isinstance(default, str | int | float) else ""
        made = Field(
            spot.name, spot.place, Control.TEXT, kind, "", text, default=shorten(shown, 100), limits=_limits(schema)
        )
        if kind == "boolean":
            if spot.is_required and spot.value is MISSING and default is None:
                return replace(made, control=Control.RADIO, choices=YES_OR_NO)
            control = Control.CHECKBOX if descriptor.has("checkbox") else Control.SWITCH
            is_on = spot.value if isinstance(spot.value, bool) else default is True
            return replace(made, control=control, text=text_of(is_on))
        if descriptor.has("password") and kind == "string":
            return replace(made, control=Control.PASSWORD, text="")
        if choices := _choices(spot, kind, descriptor):
            is_few = len([each for each in choices if each.text]) <= MAX_RADIOS
            control = Control.RADIO if is_few else Control.SELECT
            return replace(made, control=control, choices=choices)
        if kind in ("integer", "number"):
            return replace(made, control=Control.NUMBER)
        if len(text) > LONG_TEXT or "\n" in text:
            return replace(made, control=Control.LONG_TEXT)
        return replace(made, reference=descriptor.reference)


def _below(name: str, step: str) -> str:
    return name + pointer((step,))


def _is_plain(text: object) -> bool:
    """Report whether a control can show a text as it is."""
    return isinstance(text, str) and text.replace("\n", "").isprintable()


def _is_shown(spot: _Spot, kind: str) -> bool:
    """Report whether the document has there what the schema says, and it is not too deep for controls."""
    if kind == "any" or (kind not in SCALARS and spot.depth >= MAX_DEPTH):
        return False
    if spot.value is MISSING or spot.value is None:
        return True
    is_boolean = isinstance(spot.value, bool)
    return isinstance(spot.value, _TYPES[kind]) and is_boolean == (kind == "boolean")


def kind_of(schema: Schema) -> str:
    """The type of a schema: one of JSON schema's, `int-or-string`, or `any`."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return "int-or-string"
    kind = schema.get("type")
    return kind if isinstance(kind, str) and kind in _TYPES else "any"


def _properties(schema: Schema) -> dict[str, Schema]:
    """The fields of an object whose names a form can show."""
    found = schema.get("properties")
    listed = list(found.items())[:MAX_PROPERTIES] if isinstance(found, dict) else ()
    return {name: each for name, each in listed if isinstance(each, Mapping) and name.isprintable()}


def _required(schema: Schema) -> frozenset[str]:
    found = schema.get("required")
    return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()


def _size(schema: Schema, limit: int) -> int:
    """The controls below a schema, counted until they are more than `limit`."""
    count = 0
    pending: list[tuple[Schema, int]] = [(schema, 0)]
    while pending and count <= limit:
        each, depth = pending.pop()
        fields = _properties(each)
        if not fields or depth > MAX_DEPTH:
            count += 1
        else:
            pending += [(inner, depth + 1) for inner in fields.values()]
    return count


def _choices(spot: _Spot, kind: str, descriptor: Descriptor) -> tuple[Choice, ...]:
    """The values that can be chosen; none if any can be written."""
    listed = spot.schema.get("enum")
    values: list[Any] = [each for each in listed if _is_choice(each, kind)] if isinstance(listed, list) else []
    if values and (order := descriptor.choices):
        ranks = {text: number for number, text in enumerate(order)}
        values.sort(key=lambda value: ranks.get(text_of(value), len(ranks)))
    elif not values and kind in ("string", "int-or-string"):
        values = [each for each in descriptor.choices if _is_plain(each)]
    if not 0 < len(values) <= MAX_CHOICES:
        return ()
    choices = {text_of(each): Choice(text_of(each), clean(text_of(each)) or "(empty)", each) for each in values}
    if spot.value is not MISSING and (text := text_of(spot.value)) not in choices and spot.value is not None:
        choices[text] = Choice(text, f"{clean(text)} (not among the values)", spot.value)
    if not spot.is_required and "" not in choices:
        default = spot.schema.get("default")
        label = f"Default ({clean(text_of(default))})" if isinstance(default, str | int | float) else "Not set"
        choices = {"": Choice("", label, MISSING), **choices}
    return tuple(choices.values())


def _is_choice(value: Any, kind: str) -> bool:
    is_boolean = isinstance(value, bool)
    return isinstance(value, _TYPES[kind]) and is_boolean == (kind == "boolean") and _is_plain(text_of(value))


def _limits(schema: Schema) -> Limits:
    def number(key: str) -> float | None:
        found = schema.get(key)
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    def count(key: str) -> int | None:
        found = number(key)
        return int(found) if found is not None and found < 2**53 else None

    pattern = schema.get("pattern")
    return Limits(
        number("minimum"),
        number("maximum"),
        schema.get("exclusiveMinimum") is True,
        schema.get("exclusiveMaximum") is True,
        count("minLength"),
        count("maxLength"),
        pattern if isinstance(pattern, str) else "",
    )


def _words(text: object, limit: int) -> str:
    return shorten(clean(text[: 4 * limit]), limit) if isinstance(text, str) else ""


def fields_by_error(form: Form) -> dict[str, Field]:
    """The fields by the names that the API server has for them in its errors."""
    return {api_field(each.place): each for each in form.all()}


def innermost(fields: Mapping[str, Field], name: str, text: str) -> tuple[Field, str] | None:
    """The field of an error of the API server and its text, or the innermost field around it that the form shows; the text then
    begins with the rest of the name. None if there is none."""
    around = name
    while around and around not in fields:
        around = around[: max(around.rfind("."), around.rfind("["), 0)]
    if not around:
        return None
    rest = name.removeprefix(around).lstrip(".")
    return fields[around], f"{rest}: {text}" if rest else text
