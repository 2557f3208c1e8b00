"""The rules of olm.constraint in the Common Expression Language. The one home of the library `cel`.

Called by requirements.py, which checks a rule when it reads it, and by constraints.py, which evaluates it for a bundle. A rule
sees `properties`, a list of {type, value}, and the function `semver_compare(a, b)`, which is -1, 0 or 1. It holds if its result
is true. The library is imported with the first rule, because most catalogs have none.

Rules come from catalogs. The library limits the nesting of brackets, and runs regular expressions in linear time; it limits
neither steps nor memory. The limits of this module keep a rule from overflowing the stack, from building large values and from
looping over loops; they depend on the rule and the properties alone. They do not bound seconds, and the library cannot be
interrupted: rules are evaluated in the child process of the resolver, which is killed if it exceeds its limits. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from olmkit.api.conditions import truncate
from olmkit.gocompat.versions import parse_tolerant_version

if TYPE_CHECKING:
    import cel

MAX_RULE_LENGTH = 2048
"""Characters of a rule. The library overflows the stack at 30,000 terms in a row."""
MAX_LOOPS = 16
"""Calls of all, exists, exists_one, filter, map and the like in one rule."""
MAX_ADDITIONS = 8
"""`+` in one rule. Each at most doubles the largest text or list, so that all together allow 256 times its size."""
MAX_STEPS = 1_000_000
"""Rounds of the innermost of nested loops: 1,000 properties allow two levels, 100 three."""
MAX_ERROR_BYTES = 300
"""UTF-8 bytes of an error of the library in a message."""
NOT_BOOLEAN = "cel expressions must have type Bool"

Properties = Sequence[Mapping[str, Any]]

_TEXT = r"""[rRbB]{0,2}(?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_TOKEN = re.compile(rf"(?P<text>{_TEXT})|(?P<comment>//[^\n]*)|(?P<word>[A-Za-z_]\w*)|(?P<sign>[^\s\w])")
_LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map"})
_TYPES = frozenset({"bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint"})
_VARIABLES = _TYPES | {"properties"}
_FUNCTIONS = (_TYPES - {"list", "map", "null_type"}) | {
    "contains", "duration", "endsWith", "matches", "semver_compare", "size", "startsWith", "timestamp",
}  # fmt: skip
"""The functions that a rule may call. Those of dates and of optional values are of no use for properties."""
_EXAMPLE: Properties = ({"type": "olm.package", "value": {"packageName": "example", "version": "1.0.0"}},)
"""Properties that a rule is evaluated for when it is checked."""


class BadRule(ValueError):
    """The rule cannot be compiled, has another result than true or false, or exceeds a limit. The message says which."""


def check_rule(rule: str) -> None:
    """Raises BadRule. The type of the result is known only if the rule can be evaluated for a bundle without other properties."""
    try:
        result = _evaluate(rule, _EXAMPLE)
    except _NotEvaluated:
        return
    if not isinstance(result, bool):
        raise BadRule(f"{NOT_BOOLEAN}, and the result of this one is of type {type(result).__name__}")


def rule_holds(rule: str, properties: Properties) -> bool:
    """Whether the result is true. A rule that cannot be evaluated for these properties does not hold. Raises BadRule."""
    try:
        return _evaluate(rule, properties) is True
    except _NotEvaluated:
        return False


class _NotEvaluated(Exception):
    """The rule has no result for these properties: a field that one of them does not have, or too many properties."""


def _evaluate(rule: str, properties: Properties) -> Any:
    program, nesting = _compiled(rule)
    if max(len(properties), rule.count(",") + 1) ** nesting > MAX_STEPS:
        raise _NotEvaluated
    import cel

    context = cel.Context({"properties": list(properties)}, {"semver_compare": _semver_compare})
    try:
        return program.execute(context)
    except Exception as error:  # the library raises many types; all mean that there is no result
        raise _NotEvaluated from error
    except BaseException as error:
        raise _refused(error) from error


@lru_cache(maxsize=256)
def _compiled(rule: str) -> tuple[cel.Program, int]:
    """The program, and how deep its loops are nested. Raises BadRule."""
    if len(rule) > MAX_RULE_LENGTH:
        raise BadRule(f"a rule has at most {MAX_RULE_LENGTH:,} characters, and this one has {len(rule):,}")
    loops = _loops(rule)
    import cel

    try:
        program = cel.compile(rule)
        variables, functions = program.variables(), program.functions()
    except Exception as error:
        raise BadRule(truncate(" ".join(str(error).split()), MAX_ERROR_BYTES)) from error
    except BaseException as error:
        raise _refused(error) from error
    named = [name for name in functions if name[0].isalpha()]
    for name in [*sorted(set(variables) - loops.variables - _VARIABLES), *sorted(set(named) - _FUNCTIONS)]:
        raise BadRule(f"undeclared reference to '{truncate(name, MAX_ERROR_BYTES)}'")
    return program, loops.nesting


def _refused(error: BaseException) -> BaseException:
    """What to raise for a panic of the library, which is no Exception; KeyboardInterrupt and the like stay what they are."""
    return BadRule("the rule cannot be evaluated") if type(error).__module__ == "pyo3_runtime" else error


class _Loops(NamedTuple):
    nesting: int
    variables: frozenset[str]


def _loops(rule: str) -> _Loops:
    """How deep the loops of a rule are nested, and their variables. Raises BadRule if it exceeds a limit."""
    tokens = [found[0] for found in _TOKEN.finditer(rule) if found.lastgroup in ("word", "sign")]
    is_loop: list[bool] = []
    nesting, variables = 0, list[str]()
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if token in "([{":
            is_loop.append(token == "(" and before in _LOOPS)
            variables += [after] if is_loop[-1] else []
            nesting = max(nesting, sum(is_loop))
        elif token in ")]}" and is_loop:
            is_loop.pop()
    for count, limit, what in (
        (len(variables), MAX_LOOPS, "loops"),
        (tokens.count("+"), MAX_ADDITIONS, "additions"),
    ):
        if count > limit:
            raise BadRule(f"a rule has at most {limit} {what}, and this one has {count}")
    return _Loops(nesting, frozenset(variables))


def _semver_compare(one: str, other: str) -> int:
    left, right = (parse_tolerant_version(text).precedence for text in (one, other))
    return (left > right) - (left < right)
