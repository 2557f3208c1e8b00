"""What a bundle requires, read from its properties."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.versions import BlangRange
from operator_controller.resolve.package.package_content import GroupVersionKind, Property
from operator_controller.resolve.requirements.bundle_constraints import BundleConstraints, read_constraints
from operator_controller.resolve.requirements.constraints import (
    AllConstraint,
    AnyConstraint,
    CelConstraint,
    Constraint,
    ConstraintScope,
    KindConstraint,
    NotConstraint,
    PackageConstraint,
)

GVK_VALUE = {"group": "example.com", "version": "v1", "kind": "Widget"}
GVK = KindConstraint(GroupVersionKind("example.com", "v1", "Widget"))


def package(name: str, versions: str = ">=1.0.0", message: str = "") -> PackageConstraint:
    return PackageConstraint(name, BlangRange.parse(versions), message)


def package_value(name: str, versions: str = ">=1.0.0") -> dict[str, Any]:
    return {"package": {"packageName": name, "versionRange": versions}}


def compound(kind: str, *children: Any, **others: Any) -> dict[str, Any]:
    return {kind: {"constraints": list(children)}, **others}


def read(*values: Any, type_: str = "olm.constraint") -> BundleConstraints:
    return read_constraints([Property(type_, value) for value in values])


@pytest.mark.parametrize(
    ("type_", "value", "constraint"),
    [
        pytest.param(
            "olm.package.required",
            {"packageName": "c", "versionRange": "0.1.0", "unknown": 1},
            package("c", "0.1.0"),
            id="olm.package.required requires a package; opm ignores unknown fields",
        ),
        pytest.param("olm.gvk.required", GVK_VALUE, GVK, id="olm.gvk.required requires a provider of a kind"),
        pytest.param(
            "olm.gvk.required", {"Group": "example.com", "VERSION": "v1", "kind": "Widget"}, GVK, id="keys in any case"
        ),
        pytest.param("olm.constraint", {"gvk": GVK_VALUE}, GVK, id="a constraint on a kind"),
        pytest.param("olm.constraint", package_value("c"), package("c"), id="a constraint on a package"),
        pytest.param(
            "olm.constraint",
            {"failureMessage": "c is needed", **package_value("c")},
            package("c", message="c is needed"),
            id="the failureMessage is kept",
        ),
        pytest.param(
            "olm.constraint",
            {"cel": {"rule": "properties.exists(p, p.type == 'certified')"}, "failureMessage": "m"},
            CelConstraint("properties.exists(p, p.type == 'certified')", "m"),
            id="a rule",
        ),
        pytest.param(
            "olm.constraint",
            compound("any", package_value("a"), compound("not", {"gvk": GVK_VALUE}, failureMessage="inner")),
            AnyConstraint((package("a"), NotConstraint((GVK,), "inner"))),
            id="constraints are nested, each with its own failureMessage",
        ),
        pytest.param(
            "olm.constraint",
            compound("all", package_value("a"), {"gvk": GVK_VALUE}),
            AllConstraint((package("a"), GVK)),
            id="an all that one bundle can meet stays one",
        ),
        pytest.param(
            "olm.constraint",
            compound("all", package_value("a", ">=1.0.0"), package_value("a", "<2.0.0")),
            AllConstraint((package("a"), package("a", "<2.0.0"))),
            id="two ranges of one package stay one",
        ),
        pytest.param(
            "olm.constraint", compound("any"), AnyConstraint(()), id="an any without constraints holds for nothing"
        ),
    ],
)
def test_a_property_is_read(type_: str, value: Any, constraint: Constraint) -> None:
    assert read(value, type_=type_) == BundleConstraints((constraint,))


@pytest.mark.parametrize(
    ("present", "counts"),
    [
        pytest.param(("gvk", "package", "all", "any", "not", "cel"), "gvk", id="gvk before all"),
        pytest.param(("cel", "not", "any", "all", "package"), "package", id="package before all but gvk"),
        pytest.param(("cel", "not", "any", "all"), "all", id="all before any, not and cel"),
        pytest.param(("cel", "not", "any"), "any", id="any before not and cel"),
        pytest.param(("cel", "not"), "not", id="not before cel"),
    ],
)
def test_of_several_kinds_in_one_constraint_the_first_counts(present: tuple[str, ...], counts: str) -> None:
    parts: dict[str, Any] = {
        "gvk": GVK_VALUE,
        **package_value("p"),
        **compound("all", package_value("all")),
        **compound("any", package_value("any")),
        **compound("not", package_value("not")),
        "cel": {"rule": "true"},
    }
    expected: dict[str, Constraint] = {
        "gvk": GVK,
        "package": package("p"),
        "all": AllConstraint((package("all"),)),
        "any": AnyConstraint((package("any"),)),
        "not": NotConstraint((package("not"),)),
    }
    found = read({name: parts[name] for name in present})
    assert (*found.required, *found.exclusions) == (expected[counts],)


@pytest.mark.parametrize(
    ("value", "required"),
    [
        pytest.param(
            compound("all", package_value("a"), package_value("b")), (package("a"), package("b")), id="two packages"
        ),
        pytest.param(
            compound("all", package_value("a"), {"gvk": GVK_VALUE}, package_value("b")),
            (package("a"), GVK, package("b")),
            id="two packages and a kind",
        ),
        pytest.param(
            compound("all", compound("all", package_value("a"), package_value("b")), package_value("c")),
            (package("a"), package("b"), package("c")),
            id="an all within an all",
        ),
        pytest.param(
            compound(
                "all", compound("any", package_value("a"), package_value("b")), compound("any", package_value("c"))
            ),
            (AnyConstraint((package("a"), package("b"))), AnyConstraint((package("c"),))),
            id="alternatives without a common package",
        ),
        pytest.param(compound("all"), (), id="an all without constraints requires nothing"),
    ],
)
def test_an_all_that_no_single_bundle_can_meet_is_split(value: Any, required: tuple[Constraint, ...]) -> None:
    assert read(value) == BundleConstraints(required)


def test_a_not_at_the_top_is_an_exclusion_also_in_an_all_that_is_split() -> None:
    nor = compound("not", package_value("x"), {"gvk": GVK_VALUE}, failureMessage="not with x")
    exclusion = NotConstraint((package("x"), GVK), "not with x")
    assert read(nor) == BundleConstraints((), (exclusion,))
    assert read(compound("all", package_value("a"), package_value("b"), nor)) == BundleConstraints(
        (package("a"), package("b")), (exclusion,)
    )
    assert read(nor).scope == ConstraintScope(frozenset({"x"}), frozenset({("example.com", "Widget")}))


def test_equal_properties_are_one_constraint_and_different_ranges_of_a_package_are_two() -> None:
    values = [{"packageName": "c", "versionRange": versions} for versions in (">=1.0.0", "<2.0.0", ">=1.0.0")]
    assert read(*values, type_="olm.package.required").required == (package("c"), package("c", "<2.0.0"))


def test_other_properties_require_nothing() -> None:
    ignored = ("olm.gvk", "olm.label.required", "olm.package", "olm.maxOpenShiftVersion", "x")
    assert read_constraints([Property(each, {"label": "x"}) for each in ignored]) == BundleConstraints()


DEEP: Any = package_value("a")
for _ in range(17):
    DEEP = compound("any", DEEP)


@pytest.mark.parametrize(
    ("type_", "value", "error"),
    [
        pytest.param("olm.package.required", "c", "its value is no mapping", id="a package that is a text"),
        pytest.param("olm.package.required", None, "Package name is empty", id="a package that is null"),
        pytest.param("olm.package.required", {"packageName": "c"}, "Package version is empty", id="no range"),
        pytest.param(
            "olm.package.required",
            {"packageName": "c", "versionRange": "^1.0.0"},
            'versionRange "^1.0.0": Could not parse Range "^1.0.0": Could not parse comparator "^" in "^1.0.0"',
            id="a range that cannot be read",
        ),
        pytest.param(
            "olm.package.required",
            {"packageName": 1, "versionRange": "1.0.0"},
            "packageName is a number and no string",
            id="a name that is a number",
        ),
        pytest.param("olm.gvk.required", {**GVK_VALUE, "group": ""}, "API Group is empty", id="no group"),
        pytest.param("olm.gvk.required", {"group": "g", "kind": "K"}, "API Version is empty", id="no version"),
        pytest.param("olm.gvk.required", {"group": "g", "version": "v1"}, "API Kind is empty", id="no kind"),
        pytest.param("olm.constraint", {}, "constraint is empty", id="an empty constraint"),
        pytest.param("olm.constraint", None, "constraint is empty", id="a constraint that is null"),
        pytest.param("olm.constraint", {"failureMessage": "m"}, "constraint is empty", id="a message alone"),
        pytest.param("olm.constraint", {"gvk": None}, "constraint is empty", id="a kind that is null"),
        pytest.param("olm.constraint", compound("all", None), "constraint is empty", id="an empty inner constraint"),
        pytest.param("olm.constraint", {"nope": 1}, 'json: unknown field "nope"', id="an unknown field"),
        pytest.param(
            "olm.constraint",
            {"gvk": {**GVK_VALUE, "label": "x"}},
            'json: unknown field "label"',
            id="an unknown field of a kind",
        ),
        pytest.param(
            "olm.constraint",
            compound("any", compound("not", {**package_value("a"), "value": 1})),
            'json: unknown field "value"',
            id="an unknown field of an inner constraint",
        ),
        pytest.param(
            "olm.constraint",
            {"gvk": GVK_VALUE, "cel": {"rule": "true", "language": "cel"}},
            'json: unknown field "language"',
            id="an unknown field of a part that does not count",
        ),
        pytest.param(
            "olm.constraint",
            [],
            "a mapping of failureMessage, gvk, package, all, any, not, cel is expected, and a list is found",
            id="a list",
        ),
        pytest.param(
            "olm.constraint", {"all": {"constraints": {}}}, "constraints is a mapping and no list", id="no list inside"
        ),
        pytest.param(
            "olm.constraint",
            {**package_value("a"), "failureMessage": True},
            "failureMessage is a boolean and no string",
            id="a message that is no text",
        ),
        pytest.param("olm.constraint", {"cel": {}}, "The CEL expression is missing", id="no rule"),
        pytest.param(
            "olm.constraint",
            {"cel": {"rule": "1 + 1"}},
            "Invalid CEL expression: cel expressions must have type Bool, and the result of this one is of type int",
            id="a rule without a boolean result",
        ),
        pytest.param(
            "olm.constraint",
            {**package_value("a"), "failureMessage": "x" * 131_072},
            "olm.constraint value is greater than max constraint size 131072 bytes",
            id="more bytes than OLM permits",
        ),
        pytest.param(
            "olm.constraint", DEEP, "its constraints are nested more than 16 levels deep", id="nested too deep"
        ),
        pytest.param(
            "olm.constraint",
            compound("any", *[package_value("a")] * 1_000),
            "the bundle has more than 1,000 constraints",
            id="too many constraints",
        ),
    ],
)
def test_an_invalid_property_is_the_problem_of_its_bundle(type_: str, value: Any, error: str) -> None:
    found = read_constraints([Property("olm.gvk.required", GVK_VALUE), Property(type_, value)])
    assert found == BundleConstraints(problem=f"its property {type_} is invalid: {error}")


def test_the_largest_permitted_constraint_is_read() -> None:
    value = {**package_value("a"), "failureMessage": ""}
    rest = 131_072 - len(json.dumps(value, separators=(",", ":")))
    assert read({**value, "failureMessage": "x" * rest}).problem == ""
    assert read({**value, "failureMessage": "x" * (rest + 1)}).problem != ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "1.0.0", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "gvk",
                    "package",
                    "all",
                    "any",
                    "not",
                    "cel",
                    "constraints",
                    "rule",
                    "packageName",
                    "versionRange",
                    "kind",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
)


@given(st.sampled_from(["olm.constraint", "olm.package.required", "olm.gvk.required"]), json_values)
def test_any_json_is_read_or_is_a_problem(type_: str, value: Any) -> None:
    found = read(value, type_=type_)
    assert not found.problem or found == BundleConstraints(problem=found.problem)
    assert all(not isinstance(each, NotConstraint) for each in found.required)
