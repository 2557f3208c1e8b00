"""For which bundles a constraint holds, which bundles it concerns, and how messages name it."""

from __future__ import annotations

import pytest

from olmkit.gocompat.versions import BlangRange, parse_version
from operator_controller.resolve.package.package_content import Bundle, GroupVersionKind, Property
from operator_controller.resolve.requirements.constraints import (
    AllConstraint,
    AnyConstraint,
    CelConstraint,
    Constraint,
    ConstraintScope,
    KindConstraint,
    NotConstraint,
    PackageConstraint,
    describe,
    holds,
    scope_of,
)


def package(name: str, versions: str = ">=1.0.0", message: str = "") -> PackageConstraint:
    return PackageConstraint(name, BlangRange.parse(versions), message)


def kind(name: str, group: str = "example.com") -> KindConstraint:
    return KindConstraint(GroupVersionKind(group, "v1", name))


BUNDLE = Bundle(
    "c.v1.2.0",
    "r/c",
    parse_version("1.2.0"),
    properties=(
        Property("olm.gvk", {"group": "example.com", "version": "v1", "kind": "Widget"}),
        Property("olm.gvk", {"group": "example.com", "version": "v1"}),
        Property("olm.gvk", "nonsense"),
        Property("certified", True),
    ),
)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param(package("c"), True, id="a package and a range that contains the version"),
        pytest.param(package("c", "<1.2.0"), False, id="a package and a range that does not"),
        pytest.param(package("d"), False, id="another package"),
        pytest.param(kind("Widget"), True, id="a provided kind"),
        pytest.param(kind("Widget", "example.org"), False, id="the kind in another group"),
        pytest.param(kind(""), False, id="an olm.gvk without a kind provides nothing"),
        pytest.param(AllConstraint((package("c"), kind("Widget"))), True, id="all hold"),
        pytest.param(AllConstraint((package("c"), kind("Gadget"))), False, id="one of all does not"),
        pytest.param(AllConstraint(()), True, id="all of none"),
        pytest.param(AnyConstraint((package("d"), kind("Widget"))), True, id="any holds"),
        pytest.param(AnyConstraint((package("d"), kind("Gadget"))), False, id="none of any does"),
        pytest.param(AnyConstraint(()), False, id="any of none"),
        pytest.param(NotConstraint((package("d"), kind("Gadget"))), True, id="not: none holds"),
        pytest.param(NotConstraint((package("d"), kind("Widget"))), False, id="not: one holds"),
        pytest.param(NotConstraint(()), True, id="not of none"),
        pytest.param(CelConstraint("properties.exists(p, p.type == 'certified' && p.value)"), True, id="a rule"),
        pytest.param(CelConstraint("properties[0].value.packageName == 'd'"), False, id="a rule that does not hold"),
        pytest.param(CelConstraint("properties[9].value"), False, id="a rule that fails for this bundle"),
    ],
)
def test_a_constraint_holds_for_one_bundle(constraint: Constraint, expected: bool) -> None:
    assert holds(constraint, "c", BUNDLE) is expected


def test_a_bundle_without_a_version_is_in_no_range() -> None:
    assert not holds(package("c"), "c", Bundle("c", "r/c", None))


ANYTHING = CelConstraint("true")


@pytest.mark.parametrize(
    ("constraint", "scope"),
    [
        pytest.param(package("c"), ConstraintScope(packages=frozenset("c")), id="a package"),
        pytest.param(kind("W"), ConstraintScope(kinds=frozenset({("example.com", "W")})), id="a kind in any version"),
        pytest.param(ANYTHING, ConstraintScope(any_package=True), id="a rule may hold for any package"),
        pytest.param(
            NotConstraint((package("c"),)), ConstraintScope(any_package=True), id="a not holds for all others"
        ),
        pytest.param(
            AnyConstraint((package("c"), kind("W"))),
            ConstraintScope(frozenset("c"), frozenset({("example.com", "W")})),
            id="alternatives together",
        ),
        pytest.param(
            AnyConstraint((package("c"), ANYTHING)),
            ConstraintScope(frozenset("c"), any_package=True),
            id="or any package",
        ),
        pytest.param(
            AllConstraint((ANYTHING, kind("W"), package("c"))),
            ConstraintScope(packages=frozenset("c")),
            id="of an all the narrowest part",
        ),
        pytest.param(AllConstraint(()), ConstraintScope(any_package=True), id="an all of nothing holds for any bundle"),
        pytest.param(AnyConstraint(()), ConstraintScope(), id="an any of nothing holds for no bundle"),
    ],
)
def test_a_constraint_concerns_packages_and_kinds(constraint: Constraint, scope: ConstraintScope) -> None:
    assert scope_of([constraint]) == scope


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        pytest.param(package("C", "0.1.0"), "C v0.1.0", id="an exact version"),
        pytest.param(package("C", "=0.1.0-rc.1"), "C v0.1.0-rc.1", id="an exact version with an operator"),
        pytest.param(package("C", ">=1.0.0 <2.0.0"), 'C ">=1.0.0 <2.0.0"', id="a range"),
        pytest.param(kind("Widget"), "a provider of example.com/v1 Widget", id="a kind"),
        pytest.param(kind("Secret", ""), "a provider of v1 Secret", id="a kind of the core group"),
        pytest.param(package("C", "1.0.0", 'say "C"'), r'C v1.0.0 ("say \"C\"")', id="the author's message in quotes"),
        pytest.param(
            package("C", "1.0.0", "a\n" + "b" * 300), 'C v1.0.0 ("a\\n' + "b" * 195 + '…")', id="a message on one line"
        ),
        pytest.param(
            AnyConstraint((package("A", "1.0.0"), package("B", "2.0.0"), kind("Widget"))),
            "A v1.0.0, B v2.0.0 or a provider of example.com/v1 Widget",
            id="alternatives",
        ),
        pytest.param(
            AnyConstraint(tuple(package(f"p{number}", "1.0.0") for number in range(12))),
            ", ".join(f"p{number} v1.0.0" for number in range(10)) + " and 2 more",
            id="many alternatives are shortened",
        ),
        pytest.param(AnyConstraint(()), "one of no constraints", id="no alternatives"),
        pytest.param(
            AllConstraint((package("A", "1.0.0"), NotConstraint((kind("X"), kind("Y"))))),
            "one bundle that is all of: A v1.0.0 and (none of: a provider of example.com/v1 X or a provider of example.com/v1 Y)",
            id="all, and an inner list in brackets",
        ),
        pytest.param(
            CelConstraint("true", "be true"), 'a bundle that satisfies the rule "true" ("be true")', id="a rule"
        ),
        pytest.param(package("a\nb", "1.0.0"), r"a\nb v1.0.0", id="a hostile name stays on one line"),
    ],
)
def test_a_constraint_is_described(constraint: Constraint, text: str) -> None:
    assert describe(constraint) == text
