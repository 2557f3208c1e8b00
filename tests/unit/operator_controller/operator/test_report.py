"""The status of an Operator, World by World."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.conditions import StatusReport
from olmkit.api.operator_status import OperatorStatus
from olmkit.api.operators import FINALIZER, Reason
from olmkit.errors import ApiError, Conflict, Forbidden, OlmError, Unavailable
from operator_controller.operator.decide import decide
from operator_controller.operator.evaluation import Outstanding
from operator_controller.operator.report import report
from operator_controller.operator.world import (
    AddFinalizer,
    DeleteBundleDeployment,
    Done,
    Keep,
    Outcome,
    PackageClaim,
    ProtectDeployment,
    RemoveFinalizer,
    World,
)
from operator_controller.resolve.answers.answer import AnswerState
from tests.causes import PublishedReports, assert_causes
from tests.unit.operator_controller.operator.dependency_rows import DEPENDENCY_ROWS
from tests.unit.operator_controller.operator.install_settings_rows import INSTALL_SETTINGS_ROWS
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
from tests.unit.operator_controller.operator.report_rows_held import ROWS as HELD_ROWS
from tests.unit.operator_controller.operator.rollback_rows import ROLLBACK_ROWS
from tests.unit.operator_controller.operator.unanswered_rows import UNANSWERED_ROWS
from tests.unit.operator_controller.operator.worlds import (
    NOW,
    bundle,
    bundle_annotations,
    deployment,
    image,
    offer,
    operator,
    world,
)

ALL_ROWS = [*ROWS, *INSTALL_SETTINGS_ROWS, *HELD_ROWS, *ROLLBACK_ROWS, *UNANSWERED_ROWS, *DEPENDENCY_ROWS]


def outcome_of(observed: World) -> Outcome:
    """The outcome of a pass in which every write succeeds."""
    plan = decide(observed).plan
    return plan if isinstance(plan, OlmError) else Done(plan)


def reported(observed: World, outcome: Outcome | None = None) -> tuple[dict[str, tuple[str, str, str]], OperatorStatus]:
    status_report = report(
        observed, decide(observed).evaluation, outcome if outcome is not None else outcome_of(observed)
    )
    assert status_report is not None
    assert_causes(observed.operator.status, status_report)
    conditions: dict[str, tuple[str, str, str]] = {
        one.type: (one.status, one.reason, one.message) for one in status_report.status.conditions
    }
    assert {one.observed_generation for one in status_report.status.conditions} == {
        observed.operator.metadata.generation
    }
    assert status_report.status.observed_generation == observed.operator.metadata.generation
    assert not ("Reconciling" in conditions and "Stalled" in conditions)
    assert ("Reconciling" in conditions or "Stalled" in conditions) <= (conditions["Ready"][0] == "False")
    return conditions, status_report.status


@pytest.mark.parametrize(("observed", "expected"), [pytest.param(w, c, id=name) for name, w, c in ALL_ROWS])
def test_the_conditions(observed: World, expected: Conditions) -> None:
    assert reported(observed)[0] == expected


@pytest.mark.parametrize("observed", [pytest.param(w, id=name) for name, w, _ in ALL_ROWS])
def test_the_same_report_again_has_no_transitions(observed: World) -> None:
    outcome = outcome_of(observed)
    _, status = reported(observed, outcome)
    raw = {**observed.raw, "status": status.dump()}
    again = report(_with(observed, raw), decide(observed).evaluation, outcome)
    assert again is not None
    assert again.status.dump() == status.dump()
    assert again.transitions == ()


@pytest.mark.parametrize(("observed", "expected"), [pytest.param(w, c, id=name) for name, w, c in ALL_ROWS])
def test_a_step_that_concerns_others_reports_the_same(observed: World, expected: Conditions) -> None:
    """The BundleDeployment is protected as its Operator before anything else: the Operator is not Ready for one pass."""
    assert reported(observed, Done(ProtectDeployment("alpha", "u", True)))[0] == expected


def _with(observed: World, raw: Mapping[str, Any]) -> World:
    return replace(observed, raw=raw, operator=type(observed.operator).load(raw))


def test_the_fields_name_the_resolved_and_the_running_bundle() -> None:
    _, status = reported(
        world(runs="1.0.0", bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"))
    )
    assert status.dump() | {"conditions": None} == {
        "observedGeneration": 1,
        "conditions": None,
        "wantedVersion": "1.1.0",
        "resolvedBundleResource": image("1.1.0"),
        "installedBundleResource": image("1.0.0"),
        "wanted": {"name": "p.v1.1.0", "version": "1.1.0", "image": image("1.1.0"), "applied": False},
        "deprecations": {"known": True},
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
    ("observed", "expected"),
    [
        pytest.param(world(), "1.1.0", id="the resolved version"),
        pytest.param(world(operator({"version": "~1.0"})), "1.0.0", id="the resolved version of a range"),
        pytest.param(world(operator({"version": "9.9.9"})), "9.9.9", id="the requested version if it was not found"),
        pytest.param(world(offers=()), None, id="none without a request and a result"),
        pytest.param(world(offers=(), runs="1.0.0"), "1.0.0", id="the version that stays"),
        pytest.param(
            world(claims=(PackageClaim(True, True, "2", "alpha"), PackageClaim(False, False, "3", "beta"))),
            None,
            id="none for a second Operator",
        ),
    ],
)
def test_the_wanted_version(observed: World, expected: str | None) -> None:
    assert reported(observed)[1].wanted_version == expected


@pytest.mark.parametrize(
    ("runs", "state", "message"),
    [
        pytest.param("", "installing p.v1.1.0, phase 2 of 7", "installing 1.1.0: phase 2 of 7", id="a phase"),
        pytest.param("", "installing p.v1.1.0", "installing 1.1.0", id="nothing else"),
        pytest.param("", "installing p.v1.1.0; it stays", "installing 1.1.0: it stays", id="a note"),
        pytest.param("", "installing p.v1.1.0: waiting", "installing 1.1.0: waiting", id="a reason"),
        pytest.param("", "installing p.v1.1.01, x", "installing 1.1.0: installing p.v1.1.01, x", id="another bundle"),
        pytest.param(
            "1.0.0",
            "upgrading to p.v1.1.0, phase 1 of 7",
            "upgrading from 1.0.0 to 1.1.0: phase 1 of 7",
            id="an upgrade",
        ),
        pytest.param(
            "1.0.0",
            "cannot upgrade to p.v1.1.0: refused",
            "upgrading from 1.0.0 to 1.1.0: cannot upgrade to p.v1.1.0: refused",
            id="a failure",
        ),
    ],
)
def test_what_is_installed_is_named_once(runs: str, state: str, message: str) -> None:
    conditions = [("Ready", "False", "Installing", state), ("Reconciling", "True", "Installing", state)]
    active = {"active": f"alpha-{runs}"} if runs else {}
    observed = world(runs=runs, bundle_deployment=deployment("1.1.0", conditions, **active))
    assert reported(observed)[0]["Ready"][2] == message


def test_a_lower_version_is_no_upgrade() -> None:
    state = "downgrading to p.v1.0.0, phase 1 of 7"
    conditions = [("Ready", "False", "Installing", state), ("Reconciling", "True", "Installing", state)]
    asked = operator({"version": "1.0.0", "upgradeConstraintPolicy": "Ignore"})
    below = deployment("1.0.0", conditions, active="alpha-1.1.0")
    message = reported(world(asked, runs="1.1.0", bundle_deployment=below))[0]["Ready"][2]
    assert message == "downgrading from 1.1.0 to 1.0.0: phase 1 of 7"


def test_texts_of_a_catalog_are_printable_and_names_are_exact() -> None:
    hostile = "st\x1b[31m\u202e"
    plain = offer("1.0.0")
    assert plain.package is not None
    channels = [{**each, "name": hostile} for each in plain.package["channels"]]
    deprecation = {"reference": {"schema": "olm.bundle", "name": "p.v1.0.0"}, "message": "has\na \x9b31mbug"}
    changed = {**plain.package, "channels": channels, "defaultChannel": hostile, "deprecations": [deprecation]}
    offers = (replace(plain, package=changed),)
    annotations = bundle_annotations("1.0.0", channel=hostile)
    state = deployment("1.0.0", (INSTALLED, READY), active="alpha-1.0.0", annotations=annotations)
    running = bundle("1.0.0", channel=hostile)
    conditions, status = reported(world(offers=offers, runs=running, bundle_deployment=state))
    text = r'1.0.0 of channel st\x1b[31m\u202e in catalog "community": the only version; it is deprecated: has a \x9b31mbug'
    assert conditions["Ready"] == ("True", "Succeeded", text)
    assert status.resolution == text
    assert conditions["Deprecated"][2] == r"has a \x9b31mbug"
    assert status.installed is not None
    assert status.installed.channel == hostile


def test_a_failed_resolution_clears_the_resolved_bundle_and_not_the_installed_one() -> None:
    _, status = reported(
        world(operator({"version": "9.9.9"}), runs="1.0.0", bundle_deployment=deployment("1.0.0", active="alpha-1.0.0"))
    )
    assert status.resolved_bundle_resource is None
    assert status.installed_bundle_resource == image("1.0.0")
    assert status.resolution == NEAR_MISS


@pytest.mark.parametrize(
    ("runs", "installed", "ready"),
    [
        pytest.param("", ("False", "InstallationFailed", "no room"), "Retrying", id="while nothing runs"),
        pytest.param("1.0.0", RUNS_OLD, "Upgrading", id="while an older version runs"),
    ],
)
def test_a_failed_write_is_reported_as_retried(runs: str, installed: tuple[str, str, str], ready: str) -> None:
    conditions, _ = reported(world(runs=runs), ApiError(500, "Internal", "no room"))
    assert conditions["Installed"] == installed
    assert conditions["Ready"] == ("False", ready, "the BundleDeployment could not be written: no room")
    assert conditions["Reconciling"][:2] == ("True", "Retrying")


def test_an_unexpected_error_is_reported_by_its_class() -> None:
    conditions, _ = reported(world(), KeyError("x"))
    assert conditions["Ready"] == ("False", "Retrying", "KeyError: 'x'")
    assert conditions["Installed"] == UNKNOWN


def test_nothing_is_reported_without_an_evaluation() -> None:
    assert report(world(), None, KeyError("x")) is None


@pytest.mark.parametrize(
    ("observed", "outcome"),
    [
        pytest.param(world(), Conflict(409, "Conflict", ""), id="a conflict"),
        pytest.param(world(), Done(AddFinalizer((FINALIZER,))), id="the finalizer was added"),
        pytest.param(world(operator(deleting=True)), Done(RemoveFinalizer(())), id="the finalizer was removed"),
        pytest.param(
            world(operator(deleting=True, finalizers=["x/y"])), Done(Keep()), id="only finalizers of others are left"
        ),
        pytest.param(
            world(missing_bundle="b", missing_since=NOW - timedelta(seconds=29)),
            None,
            id="the active Bundle is not visible yet",
        ),
        pytest.param(
            world(
                operator(status={"observedGeneration": 1}),
                resolution=AnswerState(since=NOW - timedelta(seconds=59)),
                runs="1.0.0",
                bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
            ),
            None,
            id="the first answer after a restart takes less than a minute",
        ),
    ],
)
def test_no_status_is_written(observed: World, outcome: Outcome | None) -> None:
    assert (
        report(observed, decide(observed).evaluation, outcome if outcome is not None else outcome_of(observed)) is None
    )


def test_a_deletion_reports_what_is_left_and_keeps_other_conditions() -> None:
    before = reported(
        world(runs="1.0.0", bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"))
    )[1]
    raw = operator(deleting=True, status=before.dump())
    conditions, status = reported(
        world(raw, runs="1.0.0", bundle_deployment=deployment("1.0.0")), Done(DeleteBundleDeployment("alpha", "u", "7"))
    )
    assert conditions["Ready"] == ("False", "Removing", "removing the installed bundle")
    assert conditions["Reconciling"] == ("True", "Removing", "removing the installed bundle")
    assert conditions["Installed"] == RUNS_OLD
    left = deployment("1.0.0", [("Ready", "False", "Removing", "2 custom resources are left")], deleting=True)
    conditions, status = reported(world(raw, runs="1.0.0", bundle_deployment=left), Done(Keep()))
    assert conditions["Ready"][2] == "removing the installed bundle: 2 custom resources are left"
    assert status.installed_bundle_resource == image("1.0.0")


@pytest.mark.parametrize(
    ("observed", "error", "expected"),
    [
        pytest.param(
            world(operator(deleting=True), runs="1.0.0", bundle_deployment=deployment("1.0.0")),
            Forbidden(403, "Forbidden", "a webhook rejected it"),
            "removing the installed bundle: the BundleDeployment could not be deleted: a webhook rejected it",
            id="the BundleDeployment may not be deleted",
        ),
        pytest.param(
            world(operator(deleting=True)),
            Unavailable(0, "NoAnswer", "no answer"),
            "removing the Operator: the finalizer could not be removed: no answer",
            id="the finalizer cannot be removed",
        ),
        pytest.param(
            world(operator(deleting=True)),
            RuntimeError("a fault"),
            "removing the Operator: RuntimeError: a fault",
            id="an unexpected error",
        ),
        pytest.param(
            world(operator(deleting=True), bundle_deployment=deployment("1.0.0")),
            RuntimeError("a fault"),
            "removing the BundleDeployment: RuntimeError: a fault",
            id="nothing was installed",
        ),
    ],
)
def test_an_error_of_the_deletion_is_reported(observed: World, error: Exception, expected: str) -> None:
    conditions, _ = reported(observed, error)
    assert conditions["Ready"] == ("False", "Removing", expected)
    assert conditions["Reconciling"] == ("True", "Removing", expected)


def test_a_long_message_is_truncated() -> None:
    conditions, _ = reported(
        world(bundle_deployment=deployment("1.1.0", [("Ready", "False", "Installing", "ü" * 5000)]))
    )
    assert len(conditions["Ready"][2].encode()) <= 1024


def test_a_running_bundle_of_another_name_is_an_upgrade() -> None:
    """The running Bundle has another name than the desired one and the same image: only annotations change."""
    renamed = bundle("1.1.0")
    renamed["metadata"]["annotations"] = bundle_annotations("1.1.0") | {
        "operators.operatorframework.io/bundle-name": "p-old"
    }
    conditions, _ = reported(
        world(runs=renamed, bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0"))
    )
    assert conditions["Ready"][:2] == ("False", "Upgrading")


def test_every_reason_of_the_api_is_reported() -> None:
    reasons = {reason for _, observed, _ in ALL_ROWS for _, reason, _ in reported(observed)[0].values()}
    reasons |= {"Removing", "DeletionBlocked"}  # test_dependencies.py has the latter
    reasons |= {"WaitingForDependants"}  # test_planned_bundle.py
    assert reasons == {reason.value for reason in Reason}


def test_a_recheck_is_the_task_of_the_resolver() -> None:
    plan = decide(world(bundle_deployment=deployment("1.1.0", [READY]), needs_recheck=True)).plan
    assert plan == Keep()


def test_a_resolution_in_progress_is_not_reported_at_first() -> None:
    observed = world(resolution=AnswerState(since=NOW))
    decision = decide(observed)
    assert isinstance(decision.evaluation, Outstanding)
    assert report(observed, decision.evaluation, outcome_of(observed)) is None


NOT_OFFERED = world(operator({"version": "7.0.0"}))
CLAIM = PackageClaim(True, True, "2", "alpha")


def stalled(reason: str, message: str) -> World:
    """rukpak installs nothing, and retries nothing."""
    kind = "Installed" if reason == "InstallFailed" else "HasValidBundle"
    conditions = [
        (kind, "False", reason, message),
        ("Ready", "False", "Installing", message),
        ("Stalled", "True", "Blocked", message),
    ]
    return world(bundle_deployment=deployment("1.1.0", conditions))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(
            NOT_OFFERED,
            world(operator({"version": "8.0.0"})),
            [("Warning", "ResolutionFailed")],
            id="another version that no catalog offers",
        ),
        pytest.param(NOT_OFFERED, world(operator({"version": "7.0.0"})), [], id="the same version"),
        pytest.param(
            world(claims=(CLAIM, PackageClaim(False, False, "1", "beta"))),
            world(claims=(CLAIM, PackageClaim(False, False, "1", "gamma"))),
            [("Warning", "ResolutionFailed")],
            id="another Operator has the package",
        ),
        pytest.param(
            world(claims=(CLAIM, PackageClaim(True, True, "1", "beta"))),
            world(claims=(CLAIM, PackageClaim(False, False, "1", "beta"))),
            [],
            id="the same Operator has it, in other words",
        ),
        pytest.param(
            stalled("InstallFailed", "Secret s is another's"),
            stalled("InstallFailed", "in other words"),
            [],
            id="rukpak reports the same reasons in other words",
        ),
        pytest.param(
            stalled("InstallFailed", "Secret s is another's"),
            stalled("UnpackFailed", "no such image"),
            [("Warning", "InstallationFailed")],
            id="rukpak reports another reason",
        ),
    ],
)
def test_a_second_outcome_with_the_same_reason(first: World, second: World, expected: list[tuple[str, str]]) -> None:
    def pass_over(seen: World, status: OperatorStatus) -> StatusReport[OperatorStatus]:
        seen = _with(seen, {**seen.raw, "status": status.dump()})
        found = report(seen, decide(seen).evaluation, outcome_of(seen))
        assert found is not None
        return found

    published = PublishedReports(OperatorStatus())
    assert published.events(pass_over(first, published.status))[0][0] == "Warning"
    assert published.events(pass_over(second, published.status)) == expected
    assert published.events(pass_over(second, published.status)) == []


def test_a_running_bundle_without_an_image_is_reported_by_its_name() -> None:
    raw = bundle("1.0.0")
    raw["spec"]["source"] = {"type": "git", "git": {"repository": "https://git.example.com/r", "ref": {"tag": "v1"}}}
    observed = world(runs=raw, bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.0.0"))
    conditions, status = reported(observed)
    assert conditions["Installed"] == ("True", "Success", 'installed from "p.v1.0.0"')
    assert status.installed_bundle_resource is None
