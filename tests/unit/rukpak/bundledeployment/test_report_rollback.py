"""What a BundleDeployment reports about a rollback."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.errors import Waiting
from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import Apply, BeginRevision, Done, Keep, PhaseStep, RollBack
from rukpak.bundledeployment.ready_message import Outcome
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle
from rukpak.bundledeployment.revisions.target import asked_digest
from rukpak.bundledeployment.world import ApplyRejected, World
from tests.causes import PublishedReports
from tests.unit.rukpak.bundledeployment.rollback_worlds import (
    FAILED,
    GOOD,
    NEW,
    OLD,
    STARTING,
    V1,
    V2,
    brought_back,
    changed,
    half_way,
    rolled_back,
    running,
    unwell,
)
from tests.unit.rukpak.bundledeployment.worlds import DEFINITION, SECRET, crd, installed, plan_of, report_of, revision

BACK = f"back to {OLD} \\(revision 1\\); {NEW} \\(revision 2\\) failed: it crashes"
DENIED = ApplyRejected("Blocked", "a policy denies it", timedelta(minutes=1), refused=frozenset({SECRET}))
REJECTED = ApplyRejected("Blocked", "Secret is immutable", timedelta(minutes=1))


def applying(seen: World) -> Done:
    """Some of its objects were applied."""
    assert isinstance(seen.content, RenderedBundle)
    return Done(Apply(seen.content, (PhaseStep(2, ()),), dry_run_first=True))


def moved(seen: World) -> World:
    """The revision that failed has moved the storage version of the CRD."""
    return replace(seen, crds={DEFINITION.name: crd(served_versions=("v1", "v2"), storage_version="v2")})


def test_a_rollback_announces_no_change_of_a_storage_version() -> None:
    seen = moved(rolled_back(running(FAILED, GOOD)))
    assert evaluate(seen).irreversible == ""
    assert isinstance(plan_of(seen), Apply)


@pytest.mark.parametrize(
    ("seen", "outcome", "expected", "message"),
    [
        pytest.param(
            half_way(FAILED, GOOD),
            Done(RollBack()),
            {"Installed": "True", "Ready": "False/RollingBack", "Reconciling": "True/RollingBack"},
            f"rolling {BACK}",
            id="the rollback is recorded",
        ),
        pytest.param(
            rolled_back(running(FAILED, GOOD)),
            applying(rolled_back(running(FAILED, GOOD))),
            {"Installed": "True", "Ready": "False/RollingBack", "Reconciling": "True/RollingBack"},
            f"rolling {BACK}; returning to {OLD}, phase 2 of 6",
            id="it is being brought back",
        ),
        pytest.param(
            rolled_back(running(FAILED, GOOD)),
            REJECTED,
            {"Installed": "True", "Ready": "False/RolledBack", "Stalled": "True/RolledBack"},
            f"rolled {BACK}; cannot return to {OLD}: Secret is immutable",
            id="it cannot be brought back",
        ),
        pytest.param(
            moved(rolled_back(running(FAILED, GOOD))),
            applying(rolled_back(running(FAILED, GOOD))),
            {"Installed": "True", "Ready": "False/RollingBack", "Reconciling": "True/RollingBack"},
            f"rolling {BACK}; returning to {OLD}, phase 2 of 6",
            id="it is being brought back, and storage versions stay as they are",
        ),
        pytest.param(
            brought_back(),
            Done(Keep()),
            {"Installed": "True", "Ready": "False/RolledBack", "Stalled": "True/RolledBack"},
            f"rolled {BACK}",
            id="it runs again",
        ),
        pytest.param(
            unwell(brought_back(), STARTING),
            Done(Keep()),
            {"Installed": "True", "Ready": "False/RollingBack", "Reconciling": "True/RollingBack"},
            f"rolling {BACK}; .*engine: starts",
            id="it rolls out",
        ),
        pytest.param(
            unwell(brought_back(), Health("False", "crashes too")),
            Done(Keep()),
            {"Installed": "True", "Ready": "False/RolledBack", "Stalled": "True/RolledBack"},
            f"rolled {BACK}; .*engine: crashes too",
            id="it is not healthy either",
        ),
        pytest.param(
            brought_back(),
            Waiting("Retrying", "the registry does not answer", timedelta(minutes=1)),
            {"Installed": "True", "Ready": "False/RollingBack", "Reconciling": "True/RollingBack"},
            f"rolling {BACK}; .*the registry does not answer",
            id="a repair of it has to wait",
        ),
        pytest.param(
            unwell(running(revision(1, V1, "Failed", reason="x") | FAILED), Health("False", "crashes")),
            Done(Keep()),
            {"Installed": "True", "Ready": "False/Unhealthy", "Stalled": "True/Unhealthy"},
            ".*engine: crashes; it is not rolled back: there is no earlier revision that succeeded",
            id="there is nothing to go back to",
        ),
        pytest.param(
            replace(half_way(FAILED, GOOD), fallback_content=MissingContent()),
            REJECTED,
            {"Installed": "True", "Ready": "False/Upgrading", "Stalled": "True/Blocked"},
            f"cannot upgrade to {NEW}: Secret is immutable.*; it is not rolled back: "
            f"the content of {OLD} \\(revision 1\\) is unavailable",
            id="the earlier one is not there",
        ),
        pytest.param(
            half_way(FAILED, GOOD, rollback="Never"),
            REJECTED,
            {"Installed": "True", "Ready": "False/Upgrading", "Stalled": "True/Blocked"},
            f"cannot upgrade to {NEW}: Secret is immutable",
            id="nothing asks for a rollback",
        ),
        pytest.param(
            half_way(FAILED, GOOD),
            DENIED,
            {"Installed": "True", "Ready": "False/RollingBack", "Reconciling": "True/RollingBack"},
            f"rolling {BACK}",
            id="the next pass rolls it back, and nothing is tried again",
        ),
        pytest.param(
            half_way(FAILED, GOOD, rollback="Never"),
            DENIED,
            {"Installed": "True", "Ready": "False/Upgrading", "Stalled": "True/Blocked"},
            f"cannot upgrade to {NEW}: a policy denies it; it is tried again when .*",
            id="it is not rolled back, and tried again",
        ),
        pytest.param(
            replace(half_way(FAILED, GOOD), fallback_content=MissingContent()),
            DENIED,
            {"Installed": "True", "Ready": "False/Upgrading", "Stalled": "True/Blocked"},
            f"cannot upgrade to {NEW}: a policy denies it; it is tried again when .*; it is not rolled back: .*",
            id="it cannot be rolled back, and is tried again",
        ),
        pytest.param(
            rolled_back(running(FAILED, GOOD)),
            DENIED,
            {"Installed": "True", "Ready": "False/RolledBack", "Stalled": "True/RolledBack"},
            f"rolled {BACK}; cannot return to {OLD}: a policy denies it; it is tried again when .*",
            id="the return is denied, and tried again",
        ),
    ],
)
def test_conditions(seen: World, outcome: Outcome, expected: dict[str, str], message: str) -> None:
    conditions = {condition.type: condition for condition in report_of(seen, outcome).status.conditions}
    shown = {name: f"{one.status}/{one.reason}" for name, one in conditions.items()}
    assert {
        name: shown[name].partition("/")[0] if "/" not in text else shown[name] for name, text in expected.items()
    } == (expected)
    assert not {"Reconciling", "Stalled"} <= shown.keys()
    assert re.fullmatch(message, conditions["Ready"].message)
    assert conditions["HasValidBundle"].status == "True"


@pytest.mark.parametrize(
    ("seen", "outcome", "became"),
    [
        pytest.param(half_way(FAILED, GOOD), Done(RollBack()), "RollingBack", id="the rollback is recorded"),
        pytest.param(
            rolled_back(running(FAILED, GOOD)),
            applying(rolled_back(running(FAILED, GOOD))),
            "RollingBack",
            id="it is being brought back",
        ),
        pytest.param(rolled_back(running(FAILED, GOOD)), REJECTED, "RollingBack", id="it cannot be brought back"),
        pytest.param(unwell(brought_back(), STARTING), Done(Keep()), "RollingBack", id="it rolls out"),
        pytest.param(brought_back(), Done(Keep()), "RolledBack", id="it runs again"),
        pytest.param(
            unwell(brought_back(), Health("False", "crashes too")),
            Done(Keep()),
            "RolledBack",
            id="all of it is there, and not healthy either",
        ),
    ],
)
def test_the_outcome_of_what_failed(seen: World, outcome: Outcome, became: str) -> None:
    newest, good = list(report_of(seen, outcome).status.history or ())
    assert (newest.outcome, newest.reason, good.outcome) == (became, "it crashes", "Succeeded")


def test_what_was_brought_back_stays_rolled_back_while_it_is_repaired() -> None:
    seen = brought_back("RolledBack")
    newest, _ = list(report_of(unwell(seen, STARTING), Done(Keep())).status.history or ())
    assert newest.outcome == "RolledBack"


def test_a_rollback_that_another_revision_ends_is_a_failure() -> None:
    seen = rolled_back(half_way(FAILED, GOOD))
    history = [one.dump() for one in seen.deployment.status.history or ()]
    again = changed(seen, *history, spec={"progressDeadline": "20m"})
    outcomes = [one.outcome for one in report_of(again, Done(BeginRevision())).status.history or ()]
    assert outcomes == ["InProgress", "Failed", "Succeeded"]


def test_a_rollback_is_one_event_after_that_about_its_cause() -> None:
    """It is an outcome of its own, although its message quotes the failure."""
    cause = "Deployment.apps ship-system/engine: crashes"
    late = changed(
        back := brought_back(), revision(2, V2, "RolledBack", reason=cause, asked=asked_digest(back.raw)), GOOD
    )
    passes = (
        (unwell(running(revision(2, V2, "InProgress"), GOOD), Health("False", "crashes")), Done(Keep())),
        (unwell(running(revision(2, V2, "Failed", reason=cause), GOOD), Health("False", "crashes")), Done(RollBack())),
        (late, Done(Keep())),
    )
    published, reasons = PublishedReports(report_of(installed(), Done(Keep())).status), []
    for seen, outcome in passes:
        history = [one.dump() for one in seen.deployment.status.history or ()]
        conditions = published.status.dump()["conditions"]
        result = report_of(changed(seen, *history, conditions=conditions), outcome)
        reasons += [reason for _, reason in published.events(result)]
    assert reasons == ["Unhealthy", "RolledBack"]
