"""Who requires what is being deleted, from recorded requirements alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from operator_controller.resolve.answers import deletion_answers as module
from operator_controller.resolve.answers.answer import AnswerKind
from operator_controller.resolve.answers.component_solver import solve_components
from operator_controller.resolve.answers.deletion_answers import deletion_answers
from operator_controller.resolve.snapshot.cluster_snapshot import ClusterSnapshot, OperatorRequest, RecordedBundle
from tests.bundle_properties import package_required
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

KIND = {"group": "example.com", "version": "v1", "kind": "Widget"}
OWNS = {"type": "olm.gvk", "value": KIND}
NEEDS_KIND = {"type": "olm.gvk.required", "value": KIND}
RULE = {"cel": {"rule": "properties.exists(p, p.type == 'certified')"}}


def constraint(value: dict[str, Any]) -> dict[str, Any]:
    """The property that requires what the value describes."""
    return {"type": "olm.constraint", "value": value}


def package(name: str) -> dict[str, Any]:
    """The value of a constraint on a package."""
    return {"package": {"packageName": name, "versionRange": ">=1.0.0"}}


def runs(name: str, *properties: Any, **changes: Any) -> OperatorRequest:
    """An installed Operator for the package of its name."""
    recorded = RecordedBundle(f"{name}.v1", f"r/{name}", name, "1.0.0", properties=orjson.dumps(properties).decode())
    return OperatorRequest(
        **{"name": name, "uid": f"uid-{name}", "created": "", "package": name, "running": recorded, **changes}
    )


def leaves(name: str, *properties: Any, **changes: Any) -> OperatorRequest:
    """One that is being deleted."""
    return runs(name, *properties, is_deleting=True, **changes)


def recorded(operator: OperatorRequest, text: str) -> OperatorRequest:
    """The Operator with another text in the annotation."""
    assert operator.running is not None
    return replace(operator, running=replace(operator.running, properties=text))


UNKNOWN = [
    pytest.param([leaves("a"), recorded(runs("b"), "{")], id="an annotation that is no JSON"),
    pytest.param([leaves("a"), recorded(runs("b"), "[" * 100_000)], id="one that is nested too deep"),
    pytest.param([leaves("a"), recorded(runs("b"), '[2,{"type":"t"}]')], id="one with an item that is no property"),
    pytest.param([leaves("a"), runs("b", package_required("c", "?"))], id="an invalid range"),
    pytest.param([leaves("a"), runs("b", constraint({"cel": {"rule": ""}}))], id="an invalid rule"),
    pytest.param(
        [leaves("a"), runs("b", requested=recorded(runs("b"), "{").running)],
        id="an annotation of what is requested next",
    ),
]
"""Cases in which it is not known what b requires."""

Found = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""By Operator: what stays and requires it, and what is deleted before it."""
FREE: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

CERTAIN = [
    pytest.param([leaves("a"), runs("b")], {"a": FREE}, id="nothing requires it"),
    pytest.param([leaves("a"), runs("b", package_required("a"))], {"a": (("b",), ())}, id="a package requires it"),
    pytest.param(
        [leaves("a"), runs("b", package_required("a", ">=2.0.0"))], {"a": FREE}, id="another version is required"
    ),
    pytest.param([leaves("a", OWNS), runs("b", NEEDS_KIND)], {"a": (("b",), ())}, id="its kind is required"),
    pytest.param([leaves("a", OWNS), runs("b", NEEDS_KIND, OWNS)], {"a": FREE}, id="a bundle satisfies itself"),
    pytest.param(
        [leaves("a"), leaves("b", package_required("a"))],
        {"a": ((), ("b",)), "b": FREE},
        id="what requires it is deleted first",
    ),
    pytest.param(
        [leaves("a", package_required("b")), leaves("b", package_required("a"))],
        {"a": FREE, "b": FREE},
        id="they require each other",
    ),
    pytest.param(
        [leaves("a"), runs("b", constraint({"all": {"constraints": [package("a"), package("c")]}})), runs("c")],
        {"a": (("b",), ())},
        id="two packages are required",
    ),
    pytest.param(
        [leaves("a"), runs("b", requested=runs("b", package_required("a")).running)],
        {"a": (("b",), ())},
        id="the bundle that is requested next requires it, and may be installed in part",
    ),
    pytest.param(
        [leaves("a"), runs("b", constraint({"not": {"constraints": [package("a")]}}))], {"a": FREE}, id="it is excluded"
    ),
    pytest.param(
        [leaves("a", OWNS), runs("b", NEEDS_KIND), runs("c", OWNS)], {"a": FREE}, id="what stays satisfies it as well"
    ),
    pytest.param(
        [leaves("a"), runs("b", constraint({"any": {"constraints": [package("a"), package("c")]}})), runs("c")],
        {"a": FREE},
        id="one of two packages is required, and one stays",
    ),
    pytest.param(
        [leaves("c", OWNS), runs("b", NEEDS_KIND), runs("a", OWNS)],
        {"c": FREE},
        id="what stays satisfies it as well, and is preferred",
    ),
    pytest.param(
        [leaves("a", OWNS), leaves("c", OWNS), runs("b", NEEDS_KIND)],
        {"a": (("b",), ()), "c": (("b",), ())},
        id="both that satisfy it are being deleted",
    ),
    pytest.param(
        [leaves("a", OWNS), leaves("c", OWNS), leaves("b", NEEDS_KIND)],
        {"a": ((), ("b",)), "b": FREE, "c": ((), ("b",))},
        id="both that satisfy it are being deleted, and what requires it too",
    ),
    pytest.param(
        [leaves("a", OWNS), leaves("b", NEEDS_KIND), runs("c", OWNS)],
        {"a": FREE, "b": FREE},
        id="what stays satisfies what is being deleted",
    ),
]
"""Cases in which the answer is the same as that of the solver."""


def found(*operators: OperatorRequest, **selected: set[str]) -> Found:
    answers = deletion_answers(operators, selected)
    assert {each.kind for each in answers} <= {AnswerKind.DELETING}
    return {each.operator: (each.needed_by, each.required_by_deleting) for each in answers}


@pytest.mark.parametrize(("operators", "expected"), CERTAIN)
def test_recorded_requirements_say_what_is_needed(operators: list[OperatorRequest], expected: Found) -> None:
    assert found(*operators) == found(*reversed(operators)) == expected


@pytest.mark.parametrize(("operators", "expected"), CERTAIN)
def test_the_solver_finds_the_same(operators: list[OperatorRequest], expected: Found) -> None:
    answers = solve_components(ClusterSnapshot(tuple(operators), ()), DocumentsInMemory())
    assert {
        each.operator: (each.needed_by, each.required_by_deleting)
        for each in answers
        if each.kind is AnswerKind.DELETING
    } == expected


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        pytest.param([leaves("a"), runs("b", constraint(RULE))], (("b",), ()), id="a rule may hold for it"),
        pytest.param([leaves("a", constraint(RULE))], FREE, id="its own rule"),
        pytest.param(
            [leaves("a"), runs("b", constraint({"all": {"constraints": [RULE, package("c")]}})), runs("c")],
            FREE,
            id="a rule for another package",
        ),
        pytest.param(
            [leaves("a"), runs("b", constraint({"all": {"constraints": [RULE, package("a")]}})), runs("c")],
            (("b",), ()),
            id="a rule for this package",
        ),
        pytest.param(
            [leaves("a"), runs("b", constraint({"any": {"constraints": [RULE, package("c")]}})), runs("c")],
            FREE,
            id="a rule, or what stays",
        ),
        pytest.param(
            [leaves("a"), runs("b", constraint({"any": {"constraints": [RULE]}})), runs("c")],
            (("b",), ()),
            id="what stays is not certain to satisfy the rule",
        ),
        pytest.param([leaves("a"), runs("b", constraint({"cel": {"rule": ""}}))], (("b",), ()), id="an invalid rule"),
        pytest.param([leaves("a"), runs("b", package_required("c", "?"))], (("b",), ()), id="an invalid range"),
        pytest.param([leaves("a"), recorded(runs("b"), "{")], (("b",), ()), id="an annotation that is no JSON"),
        pytest.param([leaves("a"), recorded(runs("b"), "[" * 100_000)], (("b",), ()), id="one that is nested too deep"),
        pytest.param([leaves("a"), recorded(runs("b"), "")], FREE, id="no annotation"),
        pytest.param(
            [leaves("a", OWNS), leaves("c", OWNS), runs("b", NEEDS_KIND)], (("b",), ()), id="one of two stays"
        ),
        pytest.param(
            [leaves("a"), runs("b", installing=runs("b", package_required("a")).running)],
            (("b",), ()),
            id="an upgrade requires it",
        ),
    ],
)
def test_what_is_not_certain_counts_as_required(
    operators: list[OperatorRequest], expected: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    assert found(*operators)["a"] == expected


def test_what_was_selected_before_counts() -> None:
    installing = runs("b", running=None)
    assert found(leaves("a"), installing, b={"a", "c"}) == {"a": (("b",), ())}
    assert found(leaves("a"), replace(installing, is_deleting=True), b={"a"})["a"] == FREE


def test_beyond_the_limit_everything_counts_as_required(monkeypatch: pytest.MonkeyPatch) -> None:
    operators = [leaves("a"), runs("b", package_required("c")), runs("c")]
    monkeypatch.setattr(module, "MAX_COMPARISONS", 0)
    assert found(*operators) == {"a": (("b",), ())}


def test_a_large_cluster_is_within_the_limit() -> None:
    operators = [
        runs(f"p{number}", *(package_required(f"p{number + each}") for each in range(1, 11))) for number in range(1000)
    ]
    operators[500] = replace(operators[500], is_deleting=True)
    assert found(*operators) == {"p500": (tuple(f"p{number}" for number in range(490, 500)), ())}


@pytest.mark.parametrize("operators", UNKNOWN)
def test_requirements_that_cannot_be_read_are_not_known_and_count_as_required(operators: list[OperatorRequest]) -> None:
    answers = solve_components(ClusterSnapshot(tuple(operators), ()), DocumentsInMemory())
    (answer,) = (each for each in answers if each.kind is AnswerKind.DELETING)
    assert answer.needed_by == ("b",)
    assert found(*operators)["a"] == (("b",), ())


@pytest.mark.parametrize("text", ["{", '[{"type":"olm.package.required","value":{"packageName":"a"}}]'])
def test_a_dependency_is_required_by_what_recorded_requirements_that_cannot_be_read(text: str) -> None:
    operators = (runs("a", is_dependency=True), recorded(runs("b"), text))
    answers = {each.operator: each for each in solve_components(ClusterSnapshot(operators, ()), DocumentsInMemory())}
    assert answers["a"].needed_by == ("b",)
    assert answers["a"].removed_with == answers["b"].needed_by == ()


def test_an_integer_of_any_length_in_a_recorded_requirement_changes_nothing() -> None:
    properties = package_required("a")
    text = orjson.dumps([properties]).decode().replace('"packageName"', '"x":%s,"packageName"' % ("1" * 400))
    assert found(leaves("a"), recorded(runs("b"), text), runs("c")) == {"a": (("b",), ())}
    assert found(leaves("c"), recorded(runs("b"), text), runs("a")) == {"c": FREE}
