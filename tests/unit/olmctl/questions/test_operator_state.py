"""What a command with --wait reads from the status of an Operator whose version was approved."""

from __future__ import annotations

import pytest

from olmctl.questions.operator_state import Progress, available_text, failure_text, progress, state
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION

HELD = Progress("version 0.15.1 waits for approval (olm approve alpha)", is_held=True)


@pytest.mark.parametrize(
    ("installed", "is_ready", "approved", "wanted", "expected"),
    [
        pytest.param("0.15.0", True, "0.15.0", "0.15.0", (False, True), id="the approved version is installed"),
        pytest.param("0.14.0", False, "0.15.0", "0.15.0", (False, False), id="the approved version is being installed"),
        pytest.param("0.14.0", True, "0.15.0", "0.15.1", (True, False), id="the wanted version waits itself"),
        pytest.param("0.15.0", True, "0.15.0", "", (True, False), id="no version is wanted"),
        pytest.param("0.15.0", True, "0.15.1", "0.15.1", (False, False), id="the status is older than the approval"),
        pytest.param("0.15.0", True, "0.15.1", "", (False, False), id="the same, and no version is wanted"),
    ],
)
def test_a_later_version_that_waits_does_not_hold_the_wanted_one(
    installed: str, is_ready: bool, approved: str, wanted: str, expected: tuple[bool, bool]
) -> None:
    ready = {"type": "Ready", "status": str(is_ready), "reason": "UpgradeAvailable", "message": "m"}
    found = progress(
        {
            "metadata": {"name": "alpha", "generation": 1, "annotations": {APPROVED_VERSION_ANNOTATION: approved}},
            "status": {
                "observedGeneration": 1,
                "conditions": [ready],
                "installed": {"version": installed},
                "available": {"version": "0.15.1", "reason": "ApprovalRequired"},
            },
        },
        wanted,
    )
    assert (found.is_held, found.has_succeeded) == expected
    assert not found.is_held or found == HELD
    assert approved != "0.15.1" or found == Progress("waiting for operator-controller"), (
        "not that it waits for approval"
    )


@pytest.mark.parametrize(
    ("installed", "wanted", "expected"),
    [
        pytest.param("0.14.0", "0.15.0", (True, False), id="the wanted version is held"),
        pytest.param("0.14.0", "", (True, False), id="no version is wanted"),
        pytest.param("0.14.0", "0.14.0", (False, True), id="the wanted version is installed"),
    ],
)
def test_an_operator_condition_holds_a_version(installed: str, wanted: str, expected: tuple[bool, bool]) -> None:
    reason = "OperatorConditionNotUpgradeable"
    status = {
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": reason, "message": "m"}],
        "installed": {"version": installed},
        "available": {"version": "0.15.0", "reason": reason},
    }
    found = progress({"metadata": {"name": "alpha", "generation": 1}, "status": status}, wanted)
    assert (found.is_held, found.has_succeeded) == expected
    text = "version 0.15.0 waits: the OperatorCondition of the installed version permits no upgrade (olm why alpha)"
    assert not found.is_held or found.message == text


def test_a_hold_that_began_after_the_version_was_requested_needs_a_person_too() -> None:
    ready = {"type": "Ready", "status": "False", "reason": "OperatorConditionNotUpgradeable", "message": "1.1.0 waits"}
    reconciling = {**ready, "type": "Reconciling", "status": "True"}
    status = {"observedGeneration": 1, "conditions": [ready, reconciling], "installed": {"version": "1.0.0"}}
    found = progress({"metadata": {"name": "alpha", "generation": 1}, "status": status}, "1.1.0")
    assert (found.is_held, found.message) == (True, "1.1.0 waits (olm why alpha)")


@pytest.mark.parametrize(
    ("stalled", "expected"),
    [pytest.param("True", "Blocked", id="stalled"), pytest.param("False", "Upgrading", id="in progress")],
)
def test_an_upgrade_that_waits_for_a_person_is_blocked(stalled: str, expected: str) -> None:
    conditions = [
        {"type": "Ready", "status": "False", "reason": "Upgrading", "message": "m"},
        {"type": "Stalled", "status": stalled, "reason": "Blocked", "message": "m"},
    ]
    status = {"observedGeneration": 1, "conditions": conditions}
    assert state({"metadata": {"generation": 1}, "status": status}) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("it waits for approval", "0.4.0: it waits for approval", id="the reason is about the version"),
        pytest.param(
            "0.4.0 is available too, but b", "0.4.0 is available too, but b", id="the reason names the version"
        ),
        pytest.param("0.4.01 conflicts", "0.4.0: 0.4.01 conflicts", id="the reason names another one"),
        pytest.param("", "0.4.0", id="no reason"),
    ],
)
def test_a_version_that_waits_is_named_once(message: str, expected: str) -> None:
    assert available_text({"status": {"available": {"version": "0.4.0", "message": message}}}) == expected
    assert available_text({"status": {}}) == ""


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        pytest.param(None, "", id="nothing has failed"),
        pytest.param({"reason": "PackageNotFound", "package": "p"}, "PackageNotFound", id="the reason"),
        pytest.param(
            {"reason": "AmbiguousCatalogs", "catalogs": ["a", "b"]}, "AmbiguousCatalogs (catalogs a, b)", id="catalogs"
        ),
        pytest.param(
            {"reason": "InvalidConfiguration", "installModes": ["OwnNamespace"]},
            "InvalidConfiguration (install modes OwnNamespace)",
            id="install modes",
        ),
        pytest.param("odd", "", id="of a CRD that is newer than the program"),
    ],
)
def test_a_failure_is_one_word_with_what_it_names(failure: object, expected: str) -> None:
    assert failure_text({"status": {"failure": failure}}) == expected
