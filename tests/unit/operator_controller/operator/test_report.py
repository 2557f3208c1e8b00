"""What is said of an Operator, World by World."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.operators import FINALIZER, OperatorStatus, Reason
from olmkit.errors import ApiError, Conflict, Forbidden, OlmError, Unavailable
from operator_controller.operator.decide import decide
from operator_controller.operator.evaluate import CATALOG_RETRY_DELAY
from operator_controller.operator.report import Outcome, report
from operator_controller.operator.world import (
    AddFinalizer,
    DeleteBundleDeployment,
    Done,
    NoAction,
    PackageClaim,
    RemoveFinalizer,
    World,
)
from tests.unit.operator_controller.operator.builders import NOW, bundle, deployment, image, notes, operator, world
from tests.unit.operator_controller.operator.report_rows import (
    BEST,
    INSTALLED,
    NEAR_MISS,
    READY,
    ROWS,
    RUNS_OLD,
    UNKNOWN,
    Conditions,
)


def outcome_of(seen: World) -> Outcome:
    """The outcome of a pass in which every write succeeds."""
    plan = decide(seen).plan
    return plan if isinstance(plan, OlmError) else Done(plan)


def told(seen: World, outcome: Outcome | None = None) -> tuple[dict[str, tuple[str, str, str]], OperatorStatus]:
    said = report(seen, decide(seen).evaluation, outcome if outcome is not None else outcome_of(seen))
    assert said is not None
    conditions: dict[str, tuple[str, str, str]] = {
        one.type: (one.status, one.reason, one.message) for one in said.status.conditions
    }
    assert {one.observed_generation for one in said.status.conditions} == {seen.operator.metadata.generation}
    assert said.status.observed_generation == seen.operator.metadata.generation
    assert not ("Reconciling" in conditions and "Stalled" in conditions)
    assert ("Reconciling" in conditions or "Stalled" in conditions) <= (conditions["Ready"][0] == "False")
    return conditions, said.status


@pytest.mark.parametrize(("seen", "wanted"), [pytest.param(w, c, id=name) for name, w, c in ROWS])
def test_the_conditions(seen: World, wanted: Conditions) -> None:
    assert told(seen)[0] == wanted


@pytest.mark.parametrize("seen", [pytest.param(w, id=name) for name, w, _ in ROWS])
def test_saying_it_again_changes_nothing_and_is_no_news(seen: World) -> None:
    outcome = outcome_of(seen)
    _, status = told(seen, outcome)
    raw = {**seen.raw, "status": status.dump()}
    again = report(_with(seen, raw), decide(seen).evaluation, outcome)
    assert again is not None
    assert again.status.dump() == status.dump()
    assert again.transitions == ()


def _with(seen: World, raw: Mapping[str, Any]) -> World:
    return replace(seen, raw=raw, operator=type(seen.operator).load(raw))


def test_the_fields_name_what_was_chosen_and_what_runs() -> None:
    _, status = told(
        world(runs="1.0.0", bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"))
    )
    assert status.dump() | {"conditions": None} == {
        "observedGeneration": 1,
        "conditions": None,
        "wantedVersion": "1.1.0",
        "resolvedBundleResource": image("1.1.0"),
        "installedBundleResource": image("1.0.0"),
        "installed": {
            "name": "p.v1.0.0",
            "version": "1.0.0",
            "catalog": "community",
            "channel": "stable",
            "apis": [{"group": "g.example.com", "version": "v1", "kind": "Thing"}],
        },
        "resolution": BEST,
    }


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        pytest.param(world(), "1.1.0", id="the version that was chosen"),
        pytest.param(world(operator({"version": "~1.0"})), "1.0.0", id="the one that was chosen of a range"),
        pytest.param(world(operator({"version": "9.9.9"})), "9.9.9", id="what is asked for and was not found"),
        pytest.param(world(offers=()), None, id="nothing that has a name"),
        pytest.param(world(offers=(), runs="1.0.0"), "1.0.0", id="what stays"),
        pytest.param(
            world(claims=(PackageClaim(True, True, "2", "alpha"), PackageClaim(False, False, "3", "beta"))),
            None,
            id="of a second one",
        ),
    ],
)
def test_lists_show_which_version_is_wanted(seen: World, wanted: str | None) -> None:
    assert told(seen)[1].wanted_version == wanted


def test_a_resolution_that_fails_blanks_what_was_chosen_and_not_what_runs() -> None:
    _, status = told(
        world(operator({"version": "9.9.9"}), runs="1.0.0", bundle_deployment=deployment("1.0.0", active="alpha-1.0.0"))
    )
    assert status.resolved_bundle_resource is None
    assert status.installed_bundle_resource == image("1.0.0")
    assert status.resolution == NEAR_MISS


@pytest.mark.parametrize(
    ("runs", "installed", "ready"),
    [
        pytest.param("", ("False", "InstallationFailed", "no room"), "NotInstalled", id="while nothing runs"),
        pytest.param("1.0.0", RUNS_OLD, "Upgrading", id="while the old one runs"),
    ],
)
def test_a_write_that_fails_is_tried_again(runs: str, installed: tuple[str, str, str], ready: str) -> None:
    conditions, _ = told(world(runs=runs), ApiError(500, "Internal", "no room"))
    assert conditions["Installed"] == installed
    assert conditions["Ready"] == ("False", ready, "the BundleDeployment could not be written: no room")
    assert conditions["Reconciling"][:2] == ("True", "Retrying")


def test_a_fault_of_our_own_is_named_by_its_kind() -> None:
    conditions, _ = told(world(), KeyError("x"))
    assert conditions["Ready"] == ("False", "NotInstalled", "KeyError: 'x'")
    assert conditions["Installed"] == UNKNOWN


def test_nothing_is_reported_of_a_spec_that_could_not_be_evaluated() -> None:
    assert report(world(), None, KeyError("x")) is None


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        pytest.param(world(), Conflict(409, "Conflict", ""), id="somebody wrote first"),
        pytest.param(world(), Done(AddFinalizer((FINALIZER,))), id="only the finalizer was put on"),
        pytest.param(world(operator(deleting=True)), Done(RemoveFinalizer(())), id="the Operator is gone by now"),
        pytest.param(world(operator(deleting=True, finalizers=["x/y"])), Done(NoAction()), id="only others hold it"),
        pytest.param(
            world(missing_bundle="b", missing_since=NOW - timedelta(seconds=29)),
            None,
            id="what runs cannot be seen yet",
        ),
    ],
)
def test_nothing_is_said(seen: World, outcome: Outcome | None) -> None:
    assert report(seen, decide(seen).evaluation, outcome if outcome is not None else outcome_of(seen)) is None


def test_removing_says_what_is_left_and_keeps_what_was_said() -> None:
    before = told(world(runs="1.0.0", bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")))[
        1
    ]
    raw = operator(deleting=True, status=before.dump())
    conditions, status = told(
        world(raw, runs="1.0.0", bundle_deployment=deployment("1.0.0")), Done(DeleteBundleDeployment("alpha", "u"))
    )
    assert conditions["Ready"] == ("False", "Removing", "removing the installed bundle")
    assert conditions["Reconciling"] == ("True", "Removing", "removing the installed bundle")
    assert conditions["Installed"] == RUNS_OLD
    left = deployment("1.0.0", [("Ready", "False", "Removing", "2 custom resources are left")], deleting=True)
    conditions, status = told(world(raw, runs="1.0.0", bundle_deployment=left), Done(NoAction()))
    assert conditions["Ready"][2] == "removing the installed bundle: 2 custom resources are left"
    assert status.installed_bundle_resource == image("1.0.0")


@pytest.mark.parametrize(
    ("seen", "error", "expected"),
    [
        pytest.param(
            world(operator(deleting=True), runs="1.0.0", bundle_deployment=deployment("1.0.0")),
            Forbidden(403, "Forbidden", "a webhook says no"),
            "removing the installed bundle: the BundleDeployment could not be deleted: a webhook says no",
            id="the BundleDeployment may not be deleted",
        ),
        pytest.param(
            world(operator(deleting=True)),
            Unavailable(0, "NoAnswer", "no answer"),
            "removing the installed bundle: the finalizer could not be removed: no answer",
            id="the finalizer cannot be removed",
        ),
        pytest.param(
            world(operator(deleting=True)),
            RuntimeError("a fault"),
            "removing the installed bundle: RuntimeError: a fault",
            id="what nobody foresaw",
        ),
    ],
)
def test_what_keeps_an_operator_from_going_is_said(seen: World, error: Exception, expected: str) -> None:
    conditions, _ = told(seen, error)
    assert conditions["Ready"] == ("False", "Removing", expected)
    assert conditions["Reconciling"] == ("True", "Removing", expected)


def test_a_long_story_is_cut() -> None:
    conditions, _ = told(world(bundle_deployment=deployment("1.1.0", [("Ready", "False", "NotInstalled", "ü" * 5000)])))
    assert len(conditions["Ready"][2].encode()) <= 1024


def test_what_nobody_chose_is_told_while_it_is_put_right() -> None:
    """The Bundle that runs is of another name than the one that is wanted, both from one image: annotations catch up."""
    renamed = bundle("1.1.0")
    renamed["metadata"]["annotations"] = notes("1.1.0") | {"operators.operatorframework.io/bundle-name": "p-old"}
    conditions, _ = told(
        world(runs=renamed, bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0"))
    )
    assert conditions["Ready"][:2] == ("False", "Upgrading")


def test_every_reason_of_the_api_is_said_somewhere() -> None:
    said = {reason for _, seen, _ in ROWS for _, reason, _ in told(seen)[0].values()}
    said |= {"Removing"}
    assert said == {reason.value for reason in Reason}


def test_after_is_what_the_plan_asks_for() -> None:
    plan = decide(world(bundle_deployment=deployment("1.1.0", [READY]), needs_recheck=True)).plan
    assert isinstance(plan, NoAction)
    assert plan.after == CATALOG_RETRY_DELAY
