"""The rules of olm.constraint in the Common Expression Language. The one home of the library `cel`.

bundle_constraints.py checks a rule when it reads it; constraints.py evaluates it for a bundle. A rule sees `properties`, a list
of {type, value}, and the function `semver_compare(a, b)`, which is -1, 0 or 1. It holds if its result is true. The library is
imported with the first rule, because most catalogs have none. rule_evaluations.py counts the costs of all rules of one component.

Rules come from catalogs. The library limits the nesting of brackets, and runs regular expressions in linear time; it limits
neither steps nor memory, copies lists while it builds them, and compiles a regular expression at each use. The limits of this
module keep a rule from overflowing the stack and estimate the worst that its loops can cost; they depend on the rule and the
properties alone, so the same rule has the same result everywhere. What they admit takes up to a second or two for one bundle, and
the library cannot be interrupted: rules are evaluated in the child process of the resolver, which is killed if it exceeds its
limits. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from olmkit.gocompat.text import truncate
from olmkit.gocompat.versions import parse_tolerant_version

if TYPE_CHECKING:
    import cel

MAX_RULE_LENGTH = 2048
"""Characters of a rule. The library overflows the stack at 30,000 terms in a row."""
MAX_LOOPS = 16
"""Calls of all, exists, exists_one, filter and map in one rule."""
MAX_ADDITIONS = 8
"""`+` in one rule."""
MAX_COST_BYTES = 256 * 1024 * 1024
"""Bytes of properties that the evaluation for one bundle may visit or copy in the worst case, as _cost estimates it. With
properties of 100 bytes a loop over 1,600 of them is permitted, one within another over 130, and three over 40."""
COPY_COST = 3
"""A byte that `filter` copies costs as much as so many that are compared."""
LIST_COST = 16
"""The same for `map`, which makes a list for each round."""
CONTEXT_COST = 64
"""The same for the properties of the bundle: the library converts each value before it evaluates a rule."""
CALL_COST = 6 * 1024
"""Added for each evaluation."""
REGEX_COST_BYTES = 2 * 1024 * 1024
"""Added for each use of a regular expression: it may take 0.1 s to compile."""
MAX_ERROR_BYTES = 300
"""UTF-8 bytes of an error of the library in a message."""
NOT_BOOLEAN = "cel expressions must have type Bool"

Properties = Sequence[Mapping[str, Any]]

_RAW_TEXT = r"""(?:[rR][bB]?|[bB][rR])(?:\"\"\"(?s:.*?)\"\"\"|\'\'\'(?s:.*?)\'\'\'|"[^"\n]*"|'[^'\n]*')"""
_TEXT = (
    r"""[bB]?(?:\"\"\"(?s:\\.|[^\\])*?\"\"\"|\'\'\'(?s:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
)
_TOKEN = re.compile(
    rf"(?P<text>{_RAW_TEXT}|{_TEXT})|(?P<comment>//[^\n]*)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>[^\sA-Za-z0-9_])"
)
_LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map"})
_TYPES = frozenset({"bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint"})
_VARIABLES = _TYPES | {"properties"}
_FUNCTIONS = (_TYPES - {"list", "map", "null_type"}) | {
    "contains", "duration", "endsWith", "matches", "semver_compare", "size", "startsWith", "timestamp",
}  # fmt: skip
"""The functions that a rule may call. Those of dates and of optional values are of no use for properties."""
_EXAMPLE: Properties = ({"type": "olm.package", "value": {"packageName": "example", "version": "1.0.0"}},)
"""Properties that a rule is evaluated for when it is checked."""


@dataclass(frozen=True)
class RuleInput:
    """The properties of a bundle, measured once for all rules."""

    properties: Properties
    size: int
    """Characters of the properties as text."""
    longest: int
    """The length of the longest list or mapping, at any depth."""


def rule_input(properties: Properties) -> RuleInput:
    """The properties with their measures."""
    return RuleInput(properties, len(repr(properties)), _longest_list(properties))


class BadRule(ValueError):
    """The rule cannot be compiled, has another result than true or false, or exceeds a limit. The message says which."""


def check_rule(rule: str) -> None:
    """Raises BadRule. The type of the result is known only if the rule can be evaluated for a bundle without other properties."""
    try:
        result = _evaluate(rule, rule_input(_EXAMPLE))
    except _NotEvaluated:
        return
    if not isinstance(result, bool):
        raise BadRule(f"{NOT_BOOLEAN}, and the result of this one is of type {type(result).__name__}")


def rule_holds(rule: str, given: RuleInput) -> bool:
    """Report whether the result of the rule is true. A rule that cannot be evaluated for these properties does not hold. Raises
    BadRule."""
    try:
        return _evaluate(rule, given) is True
    except _NotEvaluated:
        return False


def rule_cost(rule: str, given: RuleInput) -> int:
    """The highest cost of rule_holds, in bytes that are visited: 300 million of them take about a second. Raises BadRule."""
    loops = _cost(_compiled(rule)[1], given)
    return CALL_COST + given.size * CONTEXT_COST + (loops if loops <= MAX_COST_BYTES else 0)


class _NotEvaluated(Exception):
    """The rule has no result for these properties: a field that one of them does not have, or too many properties."""


def _evaluate(rule: str, given: RuleInput) -> Any:
    program, shape = _compiled(rule)
    if _cost(shape, given) > MAX_COST_BYTES:
        raise _NotEvaluated
    import cel

    context = cel.Context({"properties": list(given.properties)}, {"semver_compare": _semver_compare})
    try:
        return program.execute(context)
    except Exception as error:  # the library raises many types; all mean that there is no result
        raise _NotEvaluated from error
    except BaseException as error:
        raise _refused(error) from error


def _cost(shape: _Shape, given: RuleInput) -> int:
    """The bytes that the loops visit at most: each comparison in each round of the innermost one may visit all properties.

    A list written in the rule may contain the properties once for each of its items. `filter` and `map` copy their result in each
    round; that of a `map` may contain such a list for each round. Each addition may double the largest value.
    """
    rounds = max(given.longest, shape.items) << shape.additions
    size = (given.size + 1) * shape.items << shape.additions
    innermost: int = rounds**shape.nesting
    copies: int = (rounds * shape.items) ** shape.maps * (LIST_COST if shape.maps else 1)
    visits = max(1, shape.comparisons) + COPY_COST * shape.filters
    return innermost * (size * copies * visits + shape.patterns * REGEX_COST_BYTES)


def _longest_list(properties: Properties) -> int:
    """The length of the longest list or mapping, at any depth."""
    longest, rest = 0, list[Any]([properties])
    while rest:
        value = rest.pop()
        if isinstance(value, dict | list | tuple):
            longest = max(longest, len(value))
            rest.extend(value.values() if isinstance(value, dict) else value)
    return longest


@lru_cache(maxsize=256)
def _compiled(rule: str) -> tuple[cel.Program, _Shape]:
    """The program, and what it may cost. Raises BadRule."""
    if len(rule) > MAX_RULE_LENGTH:
        raise BadRule(f"a rule has at most {MAX_RULE_LENGTH:,} characters, and this one has {len(rule):,}")
    shape = _shape(rule)
    import cel

    try:
        program = cel.compile(rule)
        variables, functions = program.variables(), program.functions()
    except Exception as error:
        raise BadRule(truncate(" ".join(str(error).split()), MAX_ERROR_BYTES)) from error
    except BaseException as error:
        raise _refused(error) from error
    named = [name for name in functions if name[0].isalpha()]
    for name in [*sorted(set(variables) - shape.variables - _VARIABLES), *sorted(set(named) - _FUNCTIONS)]:
        raise BadRule(f"undeclared reference to '{truncate(name, MAX_ERROR_BYTES)}'")
    return program, shape


def _refused(error: BaseException) -> BaseException:
    """Return the exception to raise for a panic of the library, which is no Exception; KeyboardInterrupt and the like stay as
    they are."""
    return BadRule("the rule cannot be evaluated") if type(error).__module__ == "pyo3_runtime" else error


class _Shape(NamedTuple):
    """The properties of a rule that its cost depends on: how deep its loops are nested, and how many of each there are."""

    nesting: int
    filters: int
    maps: int
    additions: int
    patterns: int
    comparisons: int
    """`==`, `!=` and `in`."""
    items: int
    """At least the items of its longest list, and one."""
    variables: frozenset[str]
    """The variables of its loops."""


def _shape(rule: str) -> _Shape:
    """Raises BadRule if the rule exceeds a limit."""
    tokens = [found[0] for found in _TOKEN.finditer(rule) if found.lastgroup in ("word", "sign")]
    brackets: list[str] = []
    nesting, items, variables = 0, 1, list[str]()
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if token in "([{":
            is_loop = token == "(" and before in _LOOPS
            brackets.append("loop" if is_loop else token)
            variables += [after] if is_loop else []
            nesting = max(nesting, brackets.count("loop"))
        elif token in ")]}" and brackets:
            brackets.pop()
        elif token == "," and brackets and brackets[-1] in "[{":
            items += 1
    additions = tokens.count("+")
    for count, limit, what in ((len(variables), MAX_LOOPS, "loops"), (additions, MAX_ADDITIONS, "additions")):
        if count > limit:
            raise BadRule(f"a rule has at most {limit} {what}, and this one has {count}")
    filters, maps, patterns = (tokens.count(word) for word in ("filter", "map", "matches"))
    pairs = list(pairwise(tokens))
    comparisons = tokens.count("in") + pairs.count(("=", "=")) + pairs.count(("!", "="))
    return _Shape(nesting, filters, maps, additions, patterns, comparisons, items, frozenset(variables))


def _semver_compare(one: str, other: str) -> int:
    left, right = (parse_tolerant_version(text).precedence for text in (one, other))
    return (left > right) - (left < right)
