"""What a new schema drops, and the rules that tell of it before a custom resource is read."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from olmkit.crd_safety.compare import compare
from olmkit.crd_safety.evidence import Check
from olmkit.crd_safety.forms import MAY_DROP
from olmkit.crd_safety.object_evaluation import evaluate
from olmkit.crd_safety.schemas import PRESERVES
from tests.unit.olmkit.crd_safety.definitions import definition, schema

Schema = dict[str, Any]

RESOURCE = "x-kubernetes-embedded-resource"
NAMES = st.sampled_from(["a", "kind"])
FREE: Schema = {"type": "object", PRESERVES: True}
SCALARS: st.SearchStrategy[Schema] = st.sampled_from(
    [{"type": "string"}, {"x-kubernetes-int-or-string": True}, {PRESERVES: True}, FREE]
)
KEEPING = st.sampled_from([PRESERVES, RESOURCE])


def nested(below: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    fields = st.dictionaries(NAMES, below, max_size=2)
    options = {"properties": fields, PRESERVES: st.just(True), RESOURCE: st.just(True)}
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("object")}, optional=options),
        st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": st.one_of(st.just(True), below)}),
        st.fixed_dictionaries({"type": st.just("array")}, optional={"items": below, PRESERVES: st.just(True)}),
    )


SCHEMAS = st.recursive(SCALARS, nested, max_leaves=4)
VALUES = st.recursive(st.just("x"), lambda below: st.dictionaries(NAMES, below, max_size=2), max_leaves=3)


def changed(old: Schema, draw: st.DrawFn) -> Schema:
    """The schema with one change: here, or below."""
    children = [key for key in ("properties", "items", "additionalProperties") if isinstance(old.get(key), dict)]
    where = draw(st.sampled_from([*children, *children, "here", "whole"]))
    if where == "whole":
        return draw(SCHEMAS)
    fields = dict(old.get("properties") or {})
    if where == "properties" and fields:
        name = draw(st.sampled_from(sorted(fields)))
        return {**old, "properties": {**fields, name: changed(fields[name], draw)}}
    if where in ("items", "additionalProperties"):
        return {**old, where: changed(old[where], draw)}
    name, is_named = draw(NAMES), draw(st.booleans())
    if is_named and "additionalProperties" not in old:  # the API server accepts no schema with both
        others = {key: value for key, value in fields.items() if key != name}
        return {**old, "properties": others if name in fields else {**fields, name: draw(SCHEMAS)}}
    key = draw(KEEPING)
    return {each: value for each, value in old.items() if each != key}


def value_of(known: Schema, draw: st.DrawFn) -> Any:
    """A value that the schema accepts and keeps."""
    if known.get("type") == "array":
        return [value_of(known["items"], draw)] if "items" in known else [draw(VALUES)] * bool(known.get(PRESERVES))
    if known.get("type") != "object":
        return draw(VALUES) if known.get(PRESERVES) else "x"
    found = {name: value_of(below, draw) for name, below in (known.get("properties") or {}).items()}
    others = known.get("additionalProperties")
    if others:
        found[draw(NAMES)] = "x" if others is True else value_of(others, draw)
    if known.get(PRESERVES):
        found = {draw(NAMES): draw(VALUES)} | found
    return ({"apiVersion": "v1", "kind": "Pod"} | found) if known.get(RESOURCE) else found


@st.composite
def changes(draw: st.DrawFn) -> tuple[Schema, Schema, Any]:
    """A schema, another one, and a value of the first one."""
    old = draw(SCHEMAS)
    return old, changed(old, draw), value_of(old, draw)


@given(changes())
@example((FREE, {**FREE, "properties": {"a": {"type": "object"}}}, {"a": {"b": "x"}}))
@example(
    (FREE, {**FREE, "properties": {"a": {**FREE, "properties": {"b": {"type": "object"}}}}}, {"a": {"b": {"c": "x"}}})
)
@example(({**FREE, RESOURCE: True}, {"type": "object"}, {"apiVersion": "v1", "kind": "Pod"}))
def test_no_custom_resource_loses_data_without_a_broken_rule_about_what_is_dropped(
    change: tuple[Schema, Schema, Any],
) -> None:
    old, new, value = change
    ark = {"apiVersion": "a/v1", "kind": "Boat", "metadata": {"name": "ark"}, "spec": {"size": value}}
    before, after = (dict(schema(each)) for each in (old, new))
    shown, known = evaluate(Check(after, before), [ark]), evaluate(Check(before, {PRESERVES: True}), [ark])
    if shown.lossy_count and not (shown.invalid_count or known.lossy_count or known.invalid_count):
        problems = compare(definition({"v1": before}), definition({"v1": after}))
        assert MAY_DROP & {problem.rule for problem in problems}, change
