"""More rows of test_report.py: an Operator that waits for what its bundle requires."""

from __future__ import annotations

from dataclasses import replace

from olmkit.api.failures import FailureReason
from operator_controller.operator.world import Neighbour, World
from operator_controller.resolve.answers.answer import (
    Answer,
    AnswerKind,
    Dependency,
    Member,
    PackageToInstall,
    RefusalFacts,
)
from tests.unit.operator_controller.operator.report_rows import Conditions, both
from tests.unit.operator_controller.operator.worlds import image, world

DEPENDENCY = Dependency("q", "2.0.0", "community", "q.v2.0.0", "p v1.1.0 requires q >=2.0.0")
MEMBERS = (
    Member("p", "p.v1.1.0", "1.1.0", requires=("q",), is_changed=True),
    Member("q", "q.v2.0.0", "2.0.0", requires=(), is_changed=True),
)


def requiring(**changes: object) -> World:
    """The World of an Operator whose bundle requires package q; changes of its answer."""
    observed = world()
    assert observed.resolution is not None
    answer = observed.resolution.answer
    assert isinstance(answer, Answer)
    fields = {"dependencies": (DEPENDENCY,), "members": MEMBERS, "after": ("q",), **changes}
    return replace(observed, resolution=replace(observed.resolution, answer=replace(answer, **fields)))  # type: ignore[arg-type]


def with_neighbour(observed: World, **changes: object) -> World:
    """The World in which package q has an Operator of its name."""
    neighbour = replace(Neighbour("q", "q"), **changes)  # type: ignore[arg-type]
    return replace(observed, neighbours={"q": neighbour})


MISSING = requiring(to_install=(PackageToInstall("q", "2.0.0", "community", ("alpha",)),))
NOT_ATTEMPTED = (
    "Unknown",
    "InstallationStatusUnknown",
    "installation has not been attempted as dependencies are not installed",
)
RESOLVED = ("True", "Success", f'resolved to "{image("1.1.0")}"')


def _waiting(text: str) -> Conditions:
    message = f"waiting for dependencies: {text}"
    progress = both("Reconciling", "WaitingForDependencies", message, "WaitingForDependencies")
    return {"Resolved": RESOLVED, "Installed": NOT_ATTEMPTED, **progress}


CONFLICT = "Unable to resolve because p latest and q v1.0.0 both own kind K of group g"
REFUSED_TEXT = f"{CONFLICT}; q is being deleted"
NOT_RESOLVED = ("Unknown", "InstallationStatusUnknown", "installation has not been attempted as resolution failed")


def _refused(**changes: object) -> World:
    return requiring(
        kind=AnswerKind.CONFLICT,
        is_resolved=False,
        message=CONFLICT,
        text=REFUSED_TEXT,
        refusal=RefusalFacts(FailureReason.CONFLICT),
        bundle=None,
        dependencies=(),
        **changes,
    )


def _not_resolved(kind: str, reason: str) -> Conditions:
    resolved = ("False", "ResolutionFailed", CONFLICT)
    return {"Resolved": resolved, "Installed": NOT_RESOLVED, **both(kind, "NotResolved", REFUSED_TEXT, reason)}


DEPENDENCY_ROWS: list[tuple[str, World, Conditions]] = [
    ("a dependency has no Operator yet", MISSING, _waiting("q 2.0.0 (its Operator is being created)")),
    (
        "a dependency is being installed",
        with_neighbour(requiring(), message="installing 2.0.0: phase 2 of 7"),
        _waiting("q 2.0.0 (installing 2.0.0: phase 2 of 7)"),
    ),
    (
        "two requirements are satisfied by one dependency",
        with_neighbour(requiring(dependencies=(DEPENDENCY, DEPENDENCY)), message="installing 2.0.0: phase 2 of 7"),
        _waiting("q 2.0.0 (installing 2.0.0: phase 2 of 7)"),
    ),
    (
        "a dependency is being deleted",
        with_neighbour(requiring(), bundle="q.v2.0.0", is_deleting=True),
        _waiting("q 2.0.0 (its Operator is being deleted)"),
    ),
    (
        "a dependency cannot be installed",
        with_neighbour(requiring(), message="bundle q.v2.0.0 has webhooks", is_stalled=True),
        {
            "Resolved": RESOLVED,
            "Installed": NOT_ATTEMPTED,
            **both("Stalled", "Blocked", "waiting for dependencies: q 2.0.0 (bundle q.v2.0.0 has webhooks)", "Blocked"),
        },
    ),
    (
        "a conflict with what is being deleted",
        _refused(awaited=("q is being deleted",)),
        _not_resolved("Reconciling", "WaitingForOperators"),
    ),
    (
        "a conflict that a catalog may lift that is not read",
        _refused(is_final=False),
        _not_resolved("Reconciling", "WaitingForCatalog"),
    ),
    ("a conflict that nothing under way lifts", _refused(), _not_resolved("Stalled", "Blocked")),
]
