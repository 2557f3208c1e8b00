"""Reads what a bundle requires of other bundles from its properties, as constraints.

The properties are those of a candidate, or those that were recorded of a running bundle. Reads olm.package.required,
olm.gvk.required and olm.constraint as OLM does, with its errors; other types, such as olm.label.required, require nothing.
Properties come from catalogs: an invalid one becomes the problem of its bundle, never an exception. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmkit.fbc.schemas import GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.fields import canonical_keys
from olmkit.gocompat.text import truncate
from olmkit.gocompat.versions import BadRange, BlangRange
from operator_controller.resolve.formatting import MAX_VALUE_BYTES, quoted_value
from operator_controller.resolve.package.package_content import (
    DEPENDENCY_TYPES,
    Bundle,
    GroupVersionKind,
    Property,
    is_recorded_list,
    parse_recorded_properties,
)
from operator_controller.resolve.requirements import cel
from operator_controller.resolve.requirements.constraints import (
    AllConstraint,
    AnyConstraint,
    CelConstraint,
    Constraint,
    ConstraintScope,
    KindConstraint,
    NotConstraint,
    PackageConstraint,
    named_packages,
    scope_of,
)

MAX_CONSTRAINT_BYTES = 131_072
"""Bytes of the value of an olm.constraint, as JSON without blanks: the limit of OLM."""
MAX_CONSTRAINT_DEPTH = 16
"""Levels of all, any and not in one olm.constraint."""
_KEPT = "constraints_of"
"""The attribute in which constraints_of keeps its result, as functools.cached_property does."""
MAX_CONSTRAINTS = 1_000
"""Constraints of one bundle, those in all, any and not included."""

_GVK, _PACKAGE, _COMPOUND = ("group", "version", "kind"), ("packageName", "versionRange"), ("constraints",)
_PLAIN_GVK, _PLAIN_PACKAGE = frozenset(_GVK), frozenset(_PACKAGE)
"""The keys of nearly all values, which need no folding."""
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "gvk": _GVK, "package": _PACKAGE, "all": _COMPOUND, "any": _COMPOUND, "not": _COMPOUND, "cel": ("rule",),
}  # fmt: skip
"""The kinds of a constraint, the first that is set counts; and the fields of each."""


class _InvalidConstraint(ValueError):
    """The property is invalid. The message names the error."""


@dataclass(frozen=True, slots=True)
class BundleConstraints:
    """The constraints of one bundle. With a `problem` the bundle is no candidate, and there are no others."""

    required: tuple[Constraint, ...] = ()
    """Each is to be met by a selected bundle; the bundle itself may be the one."""
    exclusions: tuple[NotConstraint, ...] = ()
    """No constraint in them may hold for a selected bundle other than the bundle itself."""
    problem: str = ""

    @property
    def scope(self) -> ConstraintScope:
        """The bundles that may meet a required constraint, or may be excluded."""
        excluded = [each for exclusion in self.exclusions for each in exclusion.constraints]
        return scope_of([*self.required, *excluded])


_NOTHING = BundleConstraints()


def read_constraints(properties: Iterable[Property], *, checks_rules: bool = True) -> BundleConstraints:
    """The constraints in the properties of a bundle, in their order, equal ones once.

    Without `checks_rules` rules in CEL are not compiled, which takes milliseconds for each: the scope does not depend on them.
    """
    reader = _Reader(checks_rules=checks_rules)
    found: list[Constraint] = []
    for entry in properties:
        if entry.type not in DEPENDENCY_TYPES:
            continue
        try:
            found += [part for part in split(reader.read(entry)) if part not in found]
        except _InvalidConstraint as error:
            return BundleConstraints(problem=f"its property {entry.type} is invalid: {error}")
    if not found:
        return _NOTHING
    return BundleConstraints(
        tuple(each for each in found if not isinstance(each, NotConstraint)),
        tuple(each for each in found if isinstance(each, NotConstraint)),
    )


def constraints_of(bundle: Bundle) -> BundleConstraints:
    """The constraints of a bundle, read once and kept with it."""
    known: BundleConstraints | None = vars(bundle).get(_KEPT)
    if known is None:
        known = vars(bundle)[_KEPT] = read_constraints(bundle.properties)
    return known


def recorded_properties_of(text: str) -> tuple[Property, ...]:
    """The properties in an annotation, as far as they can be read: a person can edit it."""
    listed = parse_recorded_properties(text)
    return tuple(Property(kind, each.get("value")) for each in listed if isinstance(kind := each.get("type"), str))


def are_requirements_known(text: str) -> bool:
    """Report whether all that an annotation records as required can be read. If not, what runs may require anything."""
    return is_recorded_list(text) and not read_constraints(recorded_properties_of(text), checks_rules=False).problem


def split(constraint: Constraint) -> tuple[Constraint, ...]:
    """The constraints that may each be met by another bundle: those of an `all` that no single bundle can meet, else itself.

    No single bundle can meet an `all` whose constraints name different packages. An `all` without constraints requires nothing.
    """
    if not isinstance(constraint, AllConstraint):
        return (constraint,)
    if constraint.constraints and named_packages(constraint) != frozenset():
        return (constraint,)
    return tuple(part for child in constraint.constraints for part in split(child))


class _Reader:
    """Reads the properties of one bundle, and counts their constraints."""

    def __init__(self, *, checks_rules: bool) -> None:
        self._checks_rules = checks_rules
        self._count = 0

    def read(self, entry: Property) -> Constraint:
        """Raises _InvalidConstraint."""
        value = {} if entry.value is None else entry.value
        if entry.type in (PACKAGE_REQUIRED, GVK_REQUIRED):
            self._count_one()
            if not isinstance(value, dict):
                raise _InvalidConstraint("its value is no mapping")
            return _package(value, "") if entry.type == PACKAGE_REQUIRED else _kind(value, "")
        self._check_form(value, 0)
        if (
            len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
            > MAX_CONSTRAINT_BYTES
        ):
            raise _InvalidConstraint(
                f"olm.constraint value is greater than max constraint size {MAX_CONSTRAINT_BYTES} bytes"
            )
        return _constraint(value, checks_rules=self._checks_rules)

    def _check_form(self, value: Any, depth: int) -> None:
        """Raise _InvalidConstraint for unknown fields, other types, and what exceeds a limit, also in parts that do not count."""
        if depth > MAX_CONSTRAINT_DEPTH:
            raise _InvalidConstraint(f"its constraints are nested more than {MAX_CONSTRAINT_DEPTH} levels deep")
        self._count_one()
        fields = _known_fields(value, ("failureMessage", *_FIELDS))
        _text(fields, "failureMessage")
        for name, names in _FIELDS.items():
            if fields.get(name) is None:
                continue
            inner = _known_fields(fields[name], names)
            if names is not _COMPOUND:
                for key in names:
                    _text(inner, key)
                continue
            for child in _children(inner):
                self._check_form(child, depth + 1)

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MAX_CONSTRAINTS:
            raise _InvalidConstraint(f"the bundle has more than {MAX_CONSTRAINTS:,} constraints")


def _constraint(value: Any, *, checks_rules: bool) -> Constraint:
    """Makes a constraint of a value whose form has been checked."""
    fields = canonical_keys(value or {}, ("failureMessage", *_FIELDS))
    message = _text(fields, "failureMessage")
    kind = next((name for name in _FIELDS if fields.get(name) is not None), "")
    if not kind:
        raise _InvalidConstraint("constraint is empty")
    inner = canonical_keys(fields[kind], _FIELDS[kind])
    match kind:
        case "gvk":
            return _kind(inner, message)
        case "package":
            return _package(inner, message)
        case "cel":
            return _rule(_text(inner, "rule"), message, is_checked=checks_rules)
    children = tuple(_constraint(child, checks_rules=checks_rules) for child in _children(inner))
    if kind == "all":
        return AllConstraint(children, message)
    return AnyConstraint(children, message) if kind == "any" else NotConstraint(children, message)


def _package(value: dict[str, Any], message: str) -> PackageConstraint:
    fields = value if _PLAIN_PACKAGE.issuperset(value) else canonical_keys(value, _PACKAGE)
    package, versions = _text(fields, "packageName"), _text(fields, "versionRange")
    if not package:
        raise _InvalidConstraint("Package name is empty")
    if not versions:
        raise _InvalidConstraint("Package version is empty")
    try:
        return PackageConstraint(package, BlangRange.parse(versions), message)
    except BadRange as error:
        raise _InvalidConstraint(
            f"versionRange {quoted_value(versions)}: {truncate(str(error), MAX_VALUE_BYTES)}"
        ) from error


def _kind(value: dict[str, Any], message: str) -> KindConstraint:
    fields = value if _PLAIN_GVK.issuperset(value) else canonical_keys(value, _GVK)
    kind = GroupVersionKind(*(_text(fields, name) for name in _GVK))
    for name, text in zip(_GVK, kind, strict=True):
        if not text:
            raise _InvalidConstraint(f"API {name.capitalize()} is empty")
    return KindConstraint(kind, message)


def _rule(rule: str, message: str, *, is_checked: bool) -> CelConstraint:
    if not rule:
        raise _InvalidConstraint("The CEL expression is missing")
    try:
        if is_checked:
            cel.check_rule(rule)
    except cel.BadRule as error:
        raise _InvalidConstraint(f"Invalid CEL expression: {error}") from error
    return CelConstraint(rule, message)


def _known_fields(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a mapping under their names; null stands for an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _InvalidConstraint(f"a mapping of {', '.join(names)} is expected, and {_json_type(value)} is found")
    fields = canonical_keys(value, names)
    for key in fields:
        if key not in names:
            raise _InvalidConstraint(f"json: unknown field {quoted_value(key)}")
    return fields


def _children(fields: Mapping[str, Any]) -> list[Any]:
    value = fields.get("constraints")
    if value is not None and not isinstance(value, list):
        raise _InvalidConstraint(f"constraints is {_json_type(value)} and no list")
    return value or []


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise _InvalidConstraint(f"{key} is {_json_type(value)} and no string")
    return value or ""


def _json_type(value: Any) -> str:
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "a mapping"}
    return names.get(type(value), "a number")
