"""The rules about the constraints of one field: type, default, permitted values, bounds, pattern, format.

Each rule looks at one aspect; an aspect that is only widened breaks none. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.crd_safety.problem import change_of, shown

Schema = Mapping[str, Any]
Finding = tuple[Rule, str]
"""A broken rule and what changes."""
Constraint = Callable[[Schema, Schema], Iterator[Finding]]

TEXT_KEYS = frozenset({"description", "title", "example", "externalDocs", "$schema", "id"})
"""Keys of a schema that no value is checked against."""
_WIDER_FORMATS = {("int32", "int64"), ("float", "double")}


def without_text(value: Any) -> Any:
    """The schema without descriptions, at every depth."""
    if isinstance(value, Mapping):
        return {key: without_text(entry) for key, entry in value.items() if key not in TEXT_KEYS}
    return [without_text(entry) for entry in value] if isinstance(value, list) else value


def is_same(old: Any, new: Any) -> bool:
    """Report whether two JSON values are equal: 1 is 1.0, and not true."""
    if isinstance(old, int | float) and isinstance(new, int | float):
        return isinstance(old, bool) == isinstance(new, bool) and old == new
    return orjson.dumps(old, option=orjson.OPT_SORT_KEYS) == orjson.dumps(new, option=orjson.OPT_SORT_KEYS)


def type_name(schema: Schema) -> str:
    """The type as messages show it."""
    return "int-or-string" if schema.get("x-kubernetes-int-or-string") else str(schema.get("type") or "any")


def _type(old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = type_name(old), type_name(new)
    if before != after:
        yield Rule.TYPE_CHANGED, f"{before} -> {after}"
    if old.get("nullable") and not new.get("nullable"):
        yield Rule.NULLABLE_REMOVED, "null is not accepted any more"


def _default(old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("default"), new.get("default")
    if is_same(before, after):
        return
    rule = Rule.DEFAULT_ADDED if before is None else Rule.DEFAULT_REMOVED if after is None else Rule.DEFAULT_CHANGED
    yield rule, change_of(before, after)


def _required(old: Schema, new: Schema) -> Iterator[Finding]:
    """A required field with a default is never missing."""
    fields = new.get("properties") or {}
    for name in sorted(set(new.get("required") or ()) - set(old.get("required") or ())):
        if (fields.get(name) or {}).get("default") is None:
            yield Rule.REQUIRED_ADDED, f"{name} is required"


def _enum(old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("enum") or (), new.get("enum") or ()
    if after and not before:
        yield Rule.ENUM_ADDED, f"any value -> {shown(after)}"
    removed = [value for value in before if not any(is_same(value, other) for other in after)] if after else []
    if removed:
        yield Rule.ENUM_VALUE_REMOVED, f"without {', '.join(map(shown, removed))}"


def _bound(rule: Rule, key: str, *, is_upper: bool = False, exclusive: str = "") -> Constraint:
    """A bound that can be widened or removed. `exclusive`: the key that excludes the bound itself."""

    def tightness(schema: Schema) -> tuple[float, bool] | None:
        value = schema.get(key)
        if value is None or (not exclusive and not is_upper and value == 0):  # no count is below 0
            return None
        return (-value if is_upper else value), bool(exclusive and schema.get(exclusive))

    def text(schema: Schema) -> str:
        return shown(schema.get(key)) + (" (exclusive)" if exclusive and schema.get(exclusive) else "")

    def check(old: Schema, new: Schema) -> Iterator[Finding]:
        before, after = tightness(old), tightness(new)
        if after is not None and (before is None or after > before):
            yield rule, f"{text(old)} -> {text(new)}"

    return check


def _fixed(rule: Rule, key: str) -> Constraint:
    """A constraint that can be removed, and neither added nor changed."""

    def check(old: Schema, new: Schema) -> Iterator[Finding]:
        before, after = old.get(key), new.get(key)
        if after and not is_same(before, after) and (before, after) not in _WIDER_FORMATS:
            yield rule, change_of(before, after)

    return check


def _unknown_fields(old: Schema, new: Schema) -> Iterator[Finding]:
    if old.get("x-kubernetes-preserve-unknown-fields") and not new.get("x-kubernetes-preserve-unknown-fields"):
        yield Rule.UNKNOWN_FIELDS_DROPPED, "fields that the schema does not name are dropped"


def _list_type(old: Schema, new: Schema) -> Iterator[Finding]:
    defaults = {"x-kubernetes-list-type": "atomic", "x-kubernetes-map-type": "granular"}
    for key in ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"):
        before, after = (schema.get(key) or defaults.get(key) for schema in (old, new))
        if not is_same(before, after):
            yield Rule.LIST_TYPE_CHANGED, f"{key}: {change_of(before, after)}"


def _validation_rules(old: Schema, new: Schema) -> Iterator[Finding]:
    """Find the rules that are new. The message of a rule is no part of what it checks."""
    known = {_checked(rule) for rule in old.get("x-kubernetes-validations") or ()}
    for rule in new.get("x-kubernetes-validations") or ():
        if _checked(rule) not in known:
            yield Rule.VALIDATION_RULE_ADDED, shown(rule.get("rule"))


def _checked(rule: Mapping[str, Any]) -> tuple[str, bool]:
    return str(rule.get("rule")), bool(rule.get("optionalOldSelf"))


CONSTRAINTS: Mapping[tuple[str, ...], Constraint] = {
    ("type", "nullable", "x-kubernetes-int-or-string"): _type,
    ("default",): _default,
    ("required",): _required,
    ("enum",): _enum,
    ("minimum", "exclusiveMinimum"): _bound(Rule.MINIMUM_TIGHTENED, "minimum", exclusive="exclusiveMinimum"),
    ("maximum", "exclusiveMaximum"): _bound(
        Rule.MAXIMUM_TIGHTENED, "maximum", is_upper=True, exclusive="exclusiveMaximum"
    ),
    ("multipleOf",): _fixed(Rule.MULTIPLE_OF_CHANGED, "multipleOf"),
    ("minLength",): _bound(Rule.MIN_LENGTH_TIGHTENED, "minLength"),
    ("maxLength",): _bound(Rule.MAX_LENGTH_TIGHTENED, "maxLength", is_upper=True),
    ("pattern",): _fixed(Rule.PATTERN_CHANGED, "pattern"),
    ("format",): _fixed(Rule.FORMAT_CHANGED, "format"),
    ("minItems",): _bound(Rule.MIN_ITEMS_TIGHTENED, "minItems"),
    ("maxItems",): _bound(Rule.MAX_ITEMS_TIGHTENED, "maxItems", is_upper=True),
    ("minProperties",): _bound(Rule.MIN_PROPERTIES_TIGHTENED, "minProperties"),
    ("maxProperties",): _bound(Rule.MAX_PROPERTIES_TIGHTENED, "maxProperties", is_upper=True),
    ("x-kubernetes-preserve-unknown-fields",): _unknown_fields,
    ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"): _list_type,
    ("x-kubernetes-validations",): _validation_rules,
}
"""The keys of a schema -> the rule that understands them."""
