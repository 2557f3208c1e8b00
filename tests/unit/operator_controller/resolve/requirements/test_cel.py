"""The rules of olm.constraint."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operator_controller.resolve.requirements.cel import BadRule, Properties, check_rule, rule_cost, rule_input
from operator_controller.resolve.requirements.cel import rule_holds as holds_for_input

PROPERTIES: Properties = [
    {"type": "olm.package", "value": {"packageName": "p", "version": "v1.2"}},
    {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}},
    {"type": "certified", "value": True},
    {"type": "sizes", "value": [1, 2.5, None, {"a": "b"}]},
]


def rule_holds(rule: str, properties: Properties) -> bool:
    return holds_for_input(rule, rule_input(properties))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param("true", True, id="a constant"),
        pytest.param("properties.exists(p, p.type == 'certified')", True, id="a type that exists"),
        pytest.param("properties.exists(p, p.type == 'other')", False, id="a type that does not"),
        pytest.param("properties.exists(p, p.type == 'certified' && p.value)", True, id="a boolean value"),
        pytest.param("properties.all(p, has(p.value))", True, id="all have a value"),
        pytest.param("properties.exists_one(p, p.type.startsWith('olm.g'))", True, id="exactly one"),
        pytest.param("properties.filter(p, p.type == 'olm.gvk').size() == 1", True, id="a filter"),
        pytest.param("properties.map(p, p.type)[2] == 'certified'", True, id="a map"),
        pytest.param("properties[3].value[3].a == 'b'", True, id="values within values"),
        pytest.param("properties.exists(p, p.type.matches('^cert.*d$'))", True, id="a regular expression"),
        pytest.param(
            "properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '1.2.0') == 0)",
            True,
            id="versions are read tolerantly",
        ),
        pytest.param("semver_compare('1.0.0-rc.1', '1.0.0') == -1", True, id="a prerelease is lower"),
        pytest.param("semver_compare('2', '1.9.9+b') == 1", True, id="a higher version"),
        pytest.param("semver_compare('1.0.0+1', '1.0.0+2') == 0", True, id="build metadata does not count"),
        pytest.param("semver_compare('latest', '1.0.0') == 0", False, id="what is no version has no result"),
        pytest.param("semver_compare(1, 2) == -1", False, id="a number is no version"),
        pytest.param("properties[9].type == 'x'", False, id="a property that does not exist"),
        pytest.param("properties.exists(p, p.value.version == 'v1')", True, id="errors do not count if one holds"),
        pytest.param("properties.all(p, p.value.version == 'v1.2')", False, id="a field that one does not have"),
        pytest.param("properties[2].value", True, id="a value that is a boolean"),
        pytest.param("properties[0].type", False, id="a value that is none is no result"),
        pytest.param("properties.exists(p, p.type.matches('('))", False, id="no regular expression"),
    ],
)
def test_a_rule_holds_if_its_result_is_true(rule: str, expected: bool) -> None:
    check_rule(rule) if rule != "properties[0].type" else None
    assert rule_holds(rule, PROPERTIES) is expected


NESTED = "properties.exists(a, " * 3 + "a.type == 'x'" + ")" * 3


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        pytest.param(
            "1 + 1",
            "cel expressions must have type Bool, and the result of this one is of type int",
            id="a result of another type",
        ),
        pytest.param(
            "properties[0].type",
            "cel expressions must have type Bool, and the result of this one is of type str",
            id="a result of another type for every bundle",
        ),
        pytest.param(
            "properties.map(p, p.type)",
            "cel expressions must have type Bool, and the result of this one is of type list",
            id="a list",
        ),
        pytest.param("bundles.exists(b, true)", "undeclared reference to 'bundles'", id="an unknown variable"),
        pytest.param(
            "properties.exists(p, q.type == 'x')", "undeclared reference to 'q'", id="an unknown variable in a loop"
        ),
        pytest.param("size(p) == 1 || semver('1')", "undeclared reference to 'p'", id="the first of two"),
        pytest.param("'a'.lowerAscii() == 'a'", "undeclared reference to 'lowerAscii'", id="an unknown function"),
        pytest.param(
            "true || " * 256 + "true", "a rule has at most 2,048 characters, and this one has 2,052", id="a long rule"
        ),
        pytest.param(
            " && ".join(["[1].all(x, true)"] * 17), "a rule has at most 16 loops, and this one has 17", id="many loops"
        ),
        pytest.param(
            " + ".join(["'a'"] * 10) + " == ''",
            "a rule has at most 8 additions, and this one has 9",
            id="many additions",
        ),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(rule: str, message: str) -> None:
    with pytest.raises(BadRule) as caught:
        check_rule(rule)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("properties.exists(", id="a part of a rule"),
        pytest.param("(" * 900 + "true" + ")" * 900, id="brackets nested deep"),
        pytest.param("[" * 1000 + "]" * 1000 + " == []", id="lists nested deep"),
        pytest.param("{1:" * 500 + "1" + "}" * 500 + " == {}", id="mappings nested deep"),
        pytest.param("true ? " * 250 + "true" + " : true" * 40, id="conditions nested deep"),
        pytest.param("properties.exists(1, true)", id="a loop without a variable"),
        pytest.param("has(properties)", id="has without a field"),
        pytest.param("\x00", id="a NUL"),
        pytest.param("'\ud800' == ''", id="half a surrogate pair"),
    ],
)
def test_a_rule_that_cannot_be_compiled_is_refused(rule: str) -> None:
    with pytest.raises(BadRule):
        check_rule(rule)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("!" * 2044 + "true", id="negations"),
        pytest.param("true" + " && true" * 255, id="conditions"),
        pytest.param("1" + " - 1" * 500 + " == 1", id="terms"),
        pytest.param("properties" + "[0]" * 600, id="indexes"),
        pytest.param("properties[0]" + ".a" * 1000, id="fields"),
        pytest.param("1" + " < 1" * 500, id="comparisons"),
    ],
)
def test_the_longest_chains_do_not_overflow_the_stack(rule: str) -> None:
    check_rule(rule)
    assert rule_holds(rule, PROPERTIES) in (True, False)


def many(count: int) -> Properties:
    return [{"type": "t", "value": "v" * 60}] * count


@pytest.mark.parametrize(
    ("rule", "permitted", "refused"),
    [
        pytest.param("properties.exists(a, a.type == 't')", 1_000, 2_000, id="one loop"),
        pytest.param(
            "properties.exists(a, properties.exists(b, a.type == b.type))", 100, 200, id="a loop within a loop"
        ),
        pytest.param(NESTED.replace("'x'", "'t'"), 30, 60, id="three loops within each other"),
        pytest.param("properties.map(a, properties).size() > 0", 50, 200, id="a map copies its result"),
        pytest.param(
            "properties" + ".filter(a, true)" * 8 + ".size() > 0", 300, 1_000, id="each filter copies its result"
        ),
        pytest.param("properties.exists(a, a.type.matches('t'))", 100, 200, id="a regular expression in a loop"),
        pytest.param("(properties + properties + properties).exists(a, a.type == 't')", 200, 700, id="additions"),
        pytest.param(
            "properties.exists(a, " + "properties != properties || " * 60 + "a.type == 't')",
            100,
            400,
            id="each comparison may visit all properties",
        ),
        pytest.param(
            r"r'\' != 'x' && properties.exists(a, properties.exists(b, true)) || r'\' == ''",
            100,
            200,
            id="a backslash at the end of a raw string hides nothing",
        ),
        pytest.param(
            '"""\\"""" != \'\' && properties.exists(a, properties.exists(b, true))',
            100,
            200,
            id="an escaped quote in a long string hides nothing",
        ),
        pytest.param(
            "// '\nproperties.exists(a, properties.exists(b, true)) // '",
            100,
            200,
            id="a quote in a comment hides nothing",
        ),
        pytest.param(
            "'properties.exists(a, properties.exists(b, true))' != ''", 10_000, 0, id="loops in a string cost nothing"
        ),
    ],
)
def test_a_rule_that_could_cost_too_much_does_not_hold(rule: str, permitted: int, refused: int) -> None:
    check_rule(rule)
    assert rule_holds(rule, many(permitted))
    if refused:
        assert not rule_holds(rule, many(refused))


def test_a_rule_costs_more_for_more_properties_and_nothing_beyond_its_limit() -> None:
    loop = "properties.exists(a, a.type == 't')"
    few, more = rule_cost(loop, rule_input(many(10))), rule_cost(loop, rule_input(many(20)))
    assert few < more
    assert rule_cost(NESTED, rule_input(many(20))) > 10 * more
    assert rule_cost(NESTED, rule_input(many(100))) < rule_cost(NESTED, rule_input(many(30)))


def test_lists_within_values_count_too() -> None:
    rule = "properties[0].value.exists(a, properties[0].value.exists(b, true))"
    assert rule_holds(rule, [{"type": "t", "value": [1] * 100}])
    assert not rule_holds(rule, [{"type": "t", "value": [1] * 2_000}])


words = st.sampled_from(
    [
        *(
            "properties",
            ".exists(p, ",
            ".map(x, ",
            ".all(",
            ".filter(",
            "p",
            "p.type",
            "'a'",
            "r'\\'",
            '"',
            "(",
            ")",
            "[",
        ),
        *(
            "]",
            ",",
            " == ",
            " + ",
            " && ",
            "!",
            "1",
            ".size()",
            ".matches(",
            "semver_compare(",
            "{",
            "}",
            ":",
            "true",
            "//",
        ),
    ]
)


@given(st.lists(words, max_size=12).map("".join))
def test_any_text_holds_or_does_not_or_is_refused(rule: str) -> None:
    with suppress(BadRule):
        check_rule(rule)
        assert rule_holds(rule, PROPERTIES) in (True, False)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(st.lists(json_values, max_size=3))
def test_any_json_can_be_the_value_of_a_property(values: list[Any]) -> None:
    properties = [{"type": "t", "value": value} for value in values]
    assert rule_holds("properties.all(p, p.type == 't')", properties)
